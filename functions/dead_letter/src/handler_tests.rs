//! The dead_letter function, case by case.
