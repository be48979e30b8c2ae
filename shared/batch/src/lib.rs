//! penstock-batch
