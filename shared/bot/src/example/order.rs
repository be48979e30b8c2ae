//! /order: play money, handled like money. An order's id comes from the Update that made it, so a repeat makes no second
//! one; a charge is a record under the order's id that only the first run can make, together with the order's new state
//! and the account it is taken from. Whoever comes second reads what is stored and says so. Never charges twice, never
//! below zero.

mod records;
mod texts;

use penstock_domain::data::Expect;
use serde_json::json;

use crate::bot::{BotError, Context, Reads};
use crate::incoming::Incoming;
use crate::outcome::Outcome;
use records::{Account, Charge, Order, State, account_key, charge_key, order_key};
pub(super) use texts::menu;

/// Begins the data of a button that orders: then the item's name.
pub(super) const ORDER: &str = "order:";
/// Begins the data of a button that pays: then the order's id.
pub(super) const PAY: &str = "pay:";
/// Begins the data of a button that cancels: then the order's id.
pub(super) const CANCEL: &str = "cancel:";

/// What can be ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) stars: u32,
}

pub(super) const ITEMS: [Item; 3] = [
    Item {
        name: "tea",
        label: "Tea",
        stars: 3,
    },
    Item {
        name: "coffee",
        label: "Coffee",
        stars: 4,
    },
    Item {
        name: "cake",
        label: "Cake",
        stars: 5,
    },
];

/// A press on a button of that prefix: who, and on what.
fn press<'a>(update: &'a Incoming, prefix: &str) -> Option<(i64, &'a str)> {
    let on = update.callback_data()?.strip_prefix(prefix)?;
    Some((update.from_id?, on)).filter(|_| !on.is_empty())
}

/// Makes an order.
pub(super) fn place(context: &Context, update: &Incoming) -> Outcome {
    let Some((owner, name)) = press(update, ORDER) else {
        return Outcome::ignored();
    };
    let Some(item) = ITEMS.iter().find(|item| item.name == name) else {
        return Outcome::of("no_such_item").then(update.reply(texts::NO_SUCH_ITEM));
    };
    // The id is this Update's, so whoever made the order was an earlier run of it: there is nothing left to do.
    if context.conflict {
        return Outcome::of("ordered_before").then(update.reply(texts::ORDERED_BEFORE));
    }
    let order = Order::new(owner, item, context.now);
    let id = context.key.as_str();
    Outcome::of("ordered").then(texts::offer(update, item, id)).put(
        order_key(id),
        Expect::Absent,
        &json!(order),
    )
}

pub(super) fn pay_reads(update: &Incoming) -> Reads {
    press(update, PAY).map_or_else(Reads::nothing, |(who, id)| {
        Reads::nothing()
            .and(order_key(id))
            .and(charge_key(id))
            .and(account_key(who))
    })
}

/// What a press on "Pay" comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Payment<'a> {
    NoSuchOrder,
    NotYours,
    PaidBefore(&'a Order),
    Cancelled(&'a Order),
    TooLittle(&'a Order),
    Pays { order: &'a Order, left: u32 },
}

/// The rule of paying.
fn payment(who: i64, order: Option<&Order>, is_charged: bool, balance: u32) -> Payment<'_> {
    let Some(order) = order else {
        return Payment::NoSuchOrder;
    };
    if order.owner != who {
        return Payment::NotYours;
    }
    match order.state {
        State::Paid => Payment::PaidBefore(order),
        State::Open if is_charged => Payment::PaidBefore(order),
        State::Cancelled => Payment::Cancelled(order),
        State::Open => match balance.checked_sub(order.stars) {
            Some(left) => Payment::Pays { order, left },
            None => Payment::TooLittle(order),
        },
    }
}

/// Charges an order. Two presses at once, or the same one again, charge it once: their charges want the same record
/// absent, and their orders the same version. Who loses runs again with what the other has written.
pub(super) fn pay(context: &Context, update: &Incoming) -> Result<Outcome, BotError> {
    let Some((who, id)) = press(update, PAY) else {
        return Ok(Outcome::ignored());
    };
    let (order_key, charge_key, account_key) = (order_key(id), charge_key(id), account_key(who));
    let order: Option<Order> = context.value(&order_key)?;
    let charge: Option<Charge> = context.value(&charge_key)?;
    let mut account: Account = context.value(&account_key)?.unwrap_or_default();
    Ok(
        match payment(who, order.as_ref(), charge.is_some(), account.stars) {
            Payment::Pays { order, left } => {
                account.stars = left;
                let charge = Charge::new(order, context.now);
                let paid = order.clone().now(State::Paid);
                let order_as_read = context.as_read(&order_key);
                let account_as_read = context.as_read(&account_key);
                Outcome::of("paid")
                    .then(update.edit(texts::paid(order, left)))
                    .put(charge_key, Expect::Absent, &json!(charge))
                    .put(order_key, order_as_read, &json!(paid))
                    .put(account_key, account_as_read, &json!(account))
            }
            Payment::PaidBefore(order) => {
                let told = texts::paid_before_with(order, account.stars);
                Outcome::of("paid_before").then(update.edit(told))
            }
            Payment::Cancelled(order) => {
                Outcome::of("cancelled_before").then(update.edit(texts::cancelled(order)))
            }
            // The buttons stay: with more stars it can be paid.
            Payment::TooLittle(order) => {
                Outcome::of("too_little").then(update.reply(texts::too_little(order, account.stars)))
            }
            Payment::NotYours => Outcome::of("not_yours").then(update.reply(texts::NOT_YOURS)),
            Payment::NoSuchOrder => Outcome::of("no_such_order").then(update.reply(texts::NO_SUCH_ORDER)),
        },
    )
}

pub(super) fn cancel_reads(update: &Incoming) -> Reads {
    press(update, CANCEL).map_or_else(Reads::nothing, |(_, id)| Reads::nothing().and(order_key(id)))
}

/// Cancels an order that is still open. It rests on the version that was read, as paying does: one of the two wins.
pub(super) fn cancel(context: &Context, update: &Incoming) -> Result<Outcome, BotError> {
    let Some((who, id)) = press(update, CANCEL) else {
        return Ok(Outcome::ignored());
    };
    let key = order_key(id);
    let Some(order) = context.value::<Order>(&key)? else {
        return Ok(Outcome::of("no_such_order").then(update.reply(texts::NO_SUCH_ORDER)));
    };
    if order.owner != who {
        return Ok(Outcome::of("not_yours").then(update.reply(texts::NOT_YOURS)));
    }
    Ok(match order.state {
        State::Open => Outcome::of("cancelled")
            .then(update.edit(texts::cancelled(&order)))
            .put(
                key.clone(),
                context.as_read(&key),
                &json!(order.now(State::Cancelled)),
            ),
        State::Cancelled => Outcome::of("cancelled_before").then(update.edit(texts::cancelled(&order))),
        State::Paid => Outcome::of("paid_before").then(update.edit(texts::paid_before(&order))),
    })
}
