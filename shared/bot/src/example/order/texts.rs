//! What orders say, and their buttons. Never decides anything.

use super::records::Order;
use super::{CANCEL, ITEMS, Item, ORDER, PAY};
use crate::bot::Context;
use crate::calls::{Button, Keyboard, Request, SendMessage};
use crate::incoming::Incoming;
use crate::outcome::Outcome;

pub(super) const NO_SUCH_ITEM: &str = "That is not on the menu. Try /order.";
pub(super) const ORDERED_BEFORE: &str = "That was ordered already.";
pub(super) const NO_SUCH_ORDER: &str = "I don't know that order. Try /order.";
pub(super) const NOT_YOURS: &str = "That is somebody else's order. Try /order for your own.";

/// /order: what there is.
pub(crate) fn menu(_: &Context, update: &Incoming) -> Outcome {
    let buttons = ITEMS.iter().fold(Keyboard::default(), |keyboard, item| {
        let label = format!("{}: {}", item.label, stars(item.stars));
        keyboard.row([Button::callback(label, format!("{ORDER}{}", item.name))])
    });
    let menu = update.reply("What would you like? You pay with play stars; everybody has 10.");
    Outcome::of("menu_shown").then(menu.map(|menu| menu.buttons(buttons)))
}

pub(super) fn offer(update: &Incoming, item: &Item, id: &str) -> Option<Request<SendMessage>> {
    let buttons = Keyboard::of([
        Button::callback(format!("Pay {}", stars(item.stars)), format!("{PAY}{id}")),
        Button::callback("Cancel", format!("{CANCEL}{id}")),
    ]);
    let offer = update.reply(format!("{} for {}.", item.label, stars(item.stars)))?;
    Some(offer.buttons(buttons))
}

pub(super) fn paid(order: &Order, left: u32) -> String {
    format!(
        "Paid: {} for {}. {}",
        order.label,
        stars(order.stars),
        have_left(left)
    )
}

fn have_left(left: u32) -> String {
    format!("You have {} left.", stars(left))
}

pub(super) fn paid_before(order: &Order) -> String {
    format!("Already paid: {} for {}.", order.label, stars(order.stars))
}

/// The same where the account is known: a second press must not take away what the first one told.
pub(super) fn paid_before_with(order: &Order, left: u32) -> String {
    format!("{} {}", paid_before(order), have_left(left))
}

pub(super) fn cancelled(order: &Order) -> String {
    format!("Cancelled: {}. Nothing was charged.", order.label)
}

pub(super) fn too_little(order: &Order, balance: u32) -> String {
    format!(
        "{} costs {}, and you have {}.",
        order.label,
        stars(order.stars),
        stars(balance)
    )
}

fn stars(number: u32) -> String {
    if number == 1 {
        "1 star".to_owned()
    } else {
        format!("{number} stars")
    }
}
