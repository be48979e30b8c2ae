//! The ingress, case by case.
