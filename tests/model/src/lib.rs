//! The delivery protocol as an exhaustive model: every order of every step, crash, repeat, late worker and lost answer
//! within the bounds of a scenario is tried, and no promise may break in any.
//!
//! The decisions are the real ones of `penstock_domain`: what a refused claim means, which transitions exist, when a
//! lease is a dead worker's, whether a failure is tried again, the breaker, the gate. Stated anew, and so to be compared
//! when they change, are the conditional writes (`table.rs` and `sends.rs` after
//! `shared/aws/src/table`), the order of calls of the
//! functions (`processor.rs`, `sender.rs`, `dead_letter.rs`), the batch (`batch.rs`) and SQS's FIFO queues (`queue.rs`).
//!
//! # Reading a counterexample
//!
//! `cargo test -p penstock-model -- --nocapture` prints the steps that lead to a broken promise. `Lane(1, 0, Claim(Repeated))`
//! is: of the living invocations the second, in its first group, makes its claim; the write lands and the SDK makes it
//! again. Invocations are numbered anew after each step, sorted by what they are, so a number is a place, not a name.
//! `Late` is a tick (10 s) while somebody runs, `Tick` one while nobody does, `Reappear` a message that becomes visible
//! while it is still in hand. The last step breaks the promise, or leads to a state from which a run without further
//! accidents never settles ("chats go on").
//!
//! [`fault::Fault`] lists the rules. With any one of them off the checker must find a counterexample; one that needs none
//! would be no rule.
//!
//! # What is not modelled
//!
//! * Bodies, chat state and its version conflicts, handler conditions, digests and ids drawn anew within a record's life,
//!   pieces of big bodies, expiry of queries, the counter `open`.
//! * Records that outlive their 90 days while something of them is open.
//! * Sends that may be repeated when nobody knows (reads, `resend_once`): all sends here are visible and held.
//! * Deferral by the breaker inside the pipeline: the breaker has a model of its own ([`door`]), the gate too ([`gate`]).
//! * Early deletion for slow chats; deletion of a part of a batch; a batch that is cut short for its deadline.
//! * The exact margin of a lease: a tick is longer than it. The domain's own tests hold it to the millisecond.
//! * A repeat of a person's transaction: its request token makes that one write. Edits of a body, discards, and a
//!   person's word that an unknown send arrived.
//! * Quarantine, broadcast, the gateway and its replay.
//!
//! # Bounds
//!
//! Each [`scenario::Scenario`] has few Updates and a [`scenario::Budget`] of accidents. Time is unbounded: waits are
//! counted from now, so that states that differ only in when they happened are one. Whatever happens only with more
//! accidents than a budget has is not seen.

pub mod action;
pub mod batch;
pub mod check;
mod dead_letter;
mod domain;
pub mod door;
pub mod doors;
pub mod fault;
pub mod gate;
pub mod judge;
pub mod person;
pub mod pipeline;
mod processor;
pub mod promise;
pub mod queue;
pub mod scenario;
pub mod scenarios;
mod sender;
mod sends;
pub mod state;
pub mod step;
mod table;
pub mod worker;
