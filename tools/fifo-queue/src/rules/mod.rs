//! What SQS allows, as pure functions of values: no storage, no clock.

pub(crate) mod attributes;
pub(crate) mod batch;
pub(crate) mod content;
pub(crate) mod names;
pub(crate) mod redrive;
