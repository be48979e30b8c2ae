//! penstock-testkit
