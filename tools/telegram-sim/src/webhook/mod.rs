//! Delivering updates: what waits (`lanes`), when the next try is (`policy`), how many connections there may
//! be (`connections`), and the one file that talks HTTP (`pusher`). The first three are pure.

pub(crate) mod connections;
pub(crate) mod lanes;
pub(crate) mod policy;
pub(crate) mod pusher;
