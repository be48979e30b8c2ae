//! One binary for all tests of the whole: repository rules, the template, and the pipeline on the embedded stack.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

mod calls;
mod dead;
mod documents;
mod hooks;
mod pipeline;
mod protocol;
mod reports;
mod repository;
mod requirements;
mod stack;
mod template;
