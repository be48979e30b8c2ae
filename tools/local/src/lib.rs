//! The whole pipeline on one machine: what `penstock dev` and the tests run.

pub mod clock;
pub mod esm;
pub mod lambda;
pub mod logs;
pub mod template;
