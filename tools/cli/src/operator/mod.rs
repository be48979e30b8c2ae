//! What the commands of an operator share: which stack, who answers for a change, how old something is.

pub(crate) mod account;
pub(crate) mod age;
pub(crate) mod place;
