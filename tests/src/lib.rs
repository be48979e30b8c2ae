//! Tests of the whole: see `it/main.rs`.
