//! The front and the console on one listener.

use axum::Router;

use crate::aws::Clients;
use crate::stack::View;

/// Everything that a browser and Telegram reach.
pub(crate) fn router(view: &View, _clients: &Clients) -> Router {
    view.front().map_or_else(Router::new, |front| front.router())
}
