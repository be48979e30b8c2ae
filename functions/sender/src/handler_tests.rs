//! The sender, case by case.
