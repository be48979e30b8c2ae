//! What a person does about dead letters and unknown sends, over the ports: read, decide, write, send the copy.
//! Never talks to a person, and never decides by itself what is repaired.

mod bulk;
mod cure;
mod diff;
mod edit;
mod error;
mod find;
mod redrive;
mod resend;

pub use bulk::{Bulk, oldest_first, redrive_all};
pub use cure::cure;
pub use diff::{Change, changes};
pub use edit::{Editable, discard, edit, editable};
pub use error::RepairError;
pub use find::{Filter, Found, find};
pub use redrive::{Planned, Redriven, carry_out, plan};
pub use resend::{Resent, resend, settle_unknown};

#[cfg(test)]
mod tests;
