//! penstock-telegram
