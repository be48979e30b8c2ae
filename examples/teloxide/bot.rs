//! A webhook bot on teloxide. It answers an update with 200 only when the update is handled to its end.

use std::{env, ops::ControlFlow, sync::Arc};

use axum::{Json, Router, extract::State, http::HeaderMap, http::StatusCode, routing::post};
use subtle::ConstantTimeEq as _;
use teloxide::dispatching::UpdateHandler;
use teloxide::prelude::*;
use teloxide::types::{InlineKeyboardButton, InlineKeyboardMarkup, Me};
use teloxide::utils::command::BotCommands;
use teloxide::{RequestError, dptree::deps};

#[derive(BotCommands, Clone)]
#[command(rename_rule = "lowercase")]
enum Command {
    Start,
}

fn handlers() -> UpdateHandler<RequestError> {
    let command = dptree::entry().filter_command::<Command>().endpoint(start);
    let messages = Update::filter_message()
        .branch(command)
        .branch(Message::filter_text().endpoint(echo));
    let is_press = |query: CallbackQuery| query.data.as_deref() == Some("press");
    dptree::entry()
        .branch(messages)
        .branch(Update::filter_callback_query().filter(is_press).endpoint(press))
}

async fn start(bot: Bot, message: Message) -> ResponseResult<()> {
    let keyboard = InlineKeyboardMarkup::new([[InlineKeyboardButton::callback("Press me", "press")]]);
    let hello = bot.send_message(message.chat.id, "Hello! Send me a word, or press the button.");
    hello.reply_markup(keyboard).await.map(drop)
}

async fn echo(bot: Bot, message: Message, text: String) -> ResponseResult<()> {
    bot.send_message(message.chat.id, format!("You said: {text}"))
        .await
        .map(drop)
}

async fn press(bot: Bot, query: CallbackQuery) -> ResponseResult<()> {
    bot.answer_callback_query(query.id.clone())
        .text("Thank you")
        .await
        // Refused once the press was answered, or is long ago. What it asked for is done all the same.
        .ok();
    if let Some(message) = query.message {
        bot.send_message(message.chat().id, "You pressed.").await?;
    }
    Ok(())
}

struct App {
    bot: Bot,
    me: Me,
    secret: String,
    handlers: UpdateHandler<RequestError>,
}

/// Runs the handlers and waits for them. `webhooks::axum` would put the update into a channel and answer at once.
async fn webhook(State(app): State<Arc<App>>, headers: HeaderMap, Json(update): Json<Update>) -> StatusCode {
    let given = headers
        .get("x-telegram-bot-api-secret-token")
        .map_or(&b""[..], |value| value.as_bytes());
    if !bool::from(given.ct_eq(app.secret.as_bytes())) && !app.secret.is_empty() {
        return StatusCode::UNAUTHORIZED;
    }
    match app
        .handlers
        .dispatch(deps![update, app.bot.clone(), app.me.clone()])
        .await
    {
        ControlFlow::Break(Err(error)) => {
            eprintln!("an update failed: {error}");
            StatusCode::INTERNAL_SERVER_ERROR
        }
        ControlFlow::Break(Ok(())) | ControlFlow::Continue(_) => StatusCode::OK,
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let or = |name, default: &str| env::var(name).unwrap_or_else(|_| default.to_owned());
    let bot =
        Bot::new(env::var("BOT_TOKEN")?).set_api_url(or("BOT_API_ROOT", "https://api.telegram.org").parse()?);
    let me = bot.get_me().await?;
    let app = App {
        bot,
        me,
        secret: or("WEBHOOK_SECRET", ""),
        handlers: handlers(),
    };
    let server = tokio::net::TcpListener::bind(("127.0.0.1", or("PORT", "3000").parse()?)).await?;
    Ok(axum::serve(
        server,
        Router::new().route("/", post(webhook)).with_state(Arc::new(app)),
    )
    .await?)
}
