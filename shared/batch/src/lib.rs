//! Handling a batch of an SQS FIFO queue in Lambda: groups concurrent, a group in order, failures reported one by one,
//! and the visibility of what failed set so that its group comes back when it should. Knows nothing of what is in the
//! messages.

mod alone;
mod answer;
mod record;
mod run;
mod time;

pub use alone::{Alone, NotAlone};
pub use answer::answer;
pub use record::{BadBatch, Record, records, response};
pub use run::{Handler, Hide, Report, Time, Verdict, run};
pub use time::{Deadline, PATIENCE, growing_wait};
