//! The processor, case by case.
