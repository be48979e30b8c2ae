//! penstock-bot
