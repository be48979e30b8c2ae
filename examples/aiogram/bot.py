"""A webhook bot on aiogram. It answers an update with 200 only when the update is handled to its end."""

import contextlib
import os

from aiogram import Bot, Dispatcher, F
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import TelegramBadRequest
from aiogram.filters import CommandStart
from aiogram.types import CallbackQuery, InlineKeyboardButton, InlineKeyboardMarkup, Message
from aiogram.webhook.aiohttp_server import SimpleRequestHandler, setup_application
from aiohttp import web

API_ROOT = os.environ.get("BOT_API_ROOT", "https://api.telegram.org")

bot = Bot(os.environ["BOT_TOKEN"], session=AiohttpSession(api=TelegramAPIServer.from_base(API_ROOT)))
dispatcher = Dispatcher()


@dispatcher.message(CommandStart())
async def start(message: Message) -> None:
    button = InlineKeyboardButton(text="Press me", callback_data="press")
    await message.answer(
        "Hello! Send me a word, or press the button.", reply_markup=InlineKeyboardMarkup(inline_keyboard=[[button]])
    )


@dispatcher.message(F.text)
async def echo(message: Message) -> None:
    await message.answer(f"You said: {message.text}")


@dispatcher.callback_query(F.data == "press", F.message)
async def press(query: CallbackQuery) -> None:
    # Refused once the press was answered, or is long ago. What it asked for is done all the same.
    with contextlib.suppress(TelegramBadRequest):
        await query.answer("Thank you")
    await query.message.answer("You pressed.")


# By default a handler runs in the background, after the 200.
webhook = SimpleRequestHandler(
    dispatcher, bot, handle_in_background=False, secret_token=os.environ.get("WEBHOOK_SECRET")
)
app = web.Application()
webhook.register(app, path="/")
setup_application(app, dispatcher, bot=bot)
web.run_app(app, host="127.0.0.1", port=int(os.environ.get("PORT", "3000")), print=None)
