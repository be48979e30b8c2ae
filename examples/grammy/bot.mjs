// A webhook bot on grammY. It answers an update with 200 only when the update is handled to its end.
import { createServer } from "node:http";
import { Bot, InlineKeyboard, webhookCallback } from "grammy";

const { BOT_TOKEN, PORT = "3000", WEBHOOK_SECRET, BOT_API_ROOT = "https://api.telegram.org" } = process.env;
const bot = new Bot(BOT_TOKEN, { client: { apiRoot: BOT_API_ROOT } });
const messages = bot.on("message:text");

messages.command("start", (ctx) =>
  ctx.reply("Hello! Send me a word, or press the button.", {
    reply_markup: new InlineKeyboard().text("Press me", "press"),
  }),
);

messages.use((ctx) => ctx.reply(`You said: ${ctx.message.text}`));

bot.callbackQuery("press", async (ctx) => {
  // Refused once the press was answered, or is long ago. What it asked for is done all the same.
  await ctx.answerCallbackQuery("Thank you").catch(() => {});
  await ctx.reply("You pressed.");
});

// Without the timeout of 10 s: what takes longer is not finished by an early answer.
const webhook = webhookCallback(bot, "http", {
  secretToken: WEBHOOK_SECRET || undefined,
  timeoutMilliseconds: Infinity,
});

// A rejection that nobody catches ends the process; 500 asks for another try.
createServer((request, response) => {
  if (request.method !== "POST") return response.writeHead(405).end();
  webhook(request, response).catch(({ name, error }) => {
    console.error("an update failed:", name, error?.description ?? "");
    response.writeHead(500).end();
  });
}).listen(Number(PORT), "127.0.0.1");
