// A webhook bot on Telegraf. It answers an update with 200 only when the update is handled to its end.
import { createServer } from "node:http";
import { Markup, Telegraf } from "telegraf";
import { message } from "telegraf/filters";

const { BOT_TOKEN, PORT = "3000", WEBHOOK_SECRET, BOT_API_ROOT = "https://api.telegram.org" } = process.env;

// Left alone, Telegraf puts the first call into the answer, which ends it before the handler does, and answers 200 even
// when the handler has failed. So the update is handled without the answer at hand, and answered after that.
class AnswersLast extends Telegraf {
  async handleUpdate(update, response) {
    await super.handleUpdate(update);
    response.end();
  }
}

const bot = new AnswersLast(BOT_TOKEN, { telegram: { apiRoot: BOT_API_ROOT } });

bot.start((ctx) =>
  ctx.reply(
    "Hello! Send me a word, or press the button.",
    Markup.inlineKeyboard([Markup.button.callback("Press me", "press")]),
  ),
);

bot.on(message("text"), (ctx) => ctx.reply(`You said: ${ctx.message.text}`));

bot.action("press", async (ctx) => {
  // Refused once the press was answered, or is long ago. What it asked for is done all the same.
  await ctx.answerCbQuery("Thank you").catch(() => {});
  await ctx.reply("You pressed.");
});

// Telegraf's own way prints the update, with what a person wrote.
bot.catch((error) => {
  throw error;
});

const webhook = bot.webhookCallback("/", { secretToken: WEBHOOK_SECRET });
bot.botInfo = await bot.telegram.getMe();

// A rejection that nobody catches ends the process; 500 asks for another try.
createServer((request, response) =>
  webhook(request, response).catch((error) => {
    console.error("an update failed:", error.name, error.description ?? "");
    response.writeHead(500).end();
  }),
).listen(Number(PORT), "127.0.0.1");
