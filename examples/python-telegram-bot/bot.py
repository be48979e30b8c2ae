"""A webhook bot on python-telegram-bot. It answers an update with 200 only when the update is handled to its end."""

import contextlib
import hmac
import os

import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from telegram import InlineKeyboardButton, InlineKeyboardMarkup, Update
from telegram.error import BadRequest
from telegram.ext import Application, CallbackQueryHandler, CommandHandler, MessageHandler, filters

SECRET = os.environ.get("WEBHOOK_SECRET", "")
API_ROOT = os.environ.get("BOT_API_ROOT", "https://api.telegram.org")
MESSAGE = filters.UpdateType.MESSAGE


class RaisingApplication(Application):
    """Left alone, an Application logs what a handler raises and goes on. Here it ends in the answer, as a 500."""

    async def process_error(self, update, error, job=None, coroutine=None):
        raise error


async def start(update, context):
    button = InlineKeyboardButton("Press me", callback_data="press")
    await update.message.reply_text(
        "Hello! Send me a word, or press the button.", reply_markup=InlineKeyboardMarkup([[button]])
    )


async def echo(update, context):
    await update.message.reply_text(f"You said: {update.message.text}")


async def press(update, context):
    # Refused once the press was answered, or is long ago. What it asked for is done all the same.
    with contextlib.suppress(BadRequest):
        await update.callback_query.answer("Thank you")
    await update.effective_chat.send_message("You pressed.")


bot = Application.builder().application_class(RaisingApplication).updater(None)
bot = bot.token(os.environ["BOT_TOKEN"]).base_url(f"{API_ROOT}/bot").build()
bot.add_handler(CommandHandler("start", start, MESSAGE))
bot.add_handler(MessageHandler(MESSAGE & filters.TEXT, echo))
bot.add_handler(CallbackQueryHandler(press, "^press$"))


async def webhook(request):
    given = request.headers.get("X-Telegram-Bot-Api-Secret-Token", "")
    if SECRET and not hmac.compare_digest(given.encode(), SECRET.encode()):
        return Response(status_code=401)
    await bot.process_update(Update.de_json(await request.json(), bot.bot))
    return Response()


@contextlib.asynccontextmanager
async def lifespan(_):
    async with bot:
        yield


app = Starlette(routes=[Route("/", webhook, methods=["POST"])], lifespan=lifespan)
uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "3000")), log_level="warning")
