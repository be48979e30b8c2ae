//! Sample Updates as the Bot API 10.3 sends them, what is expected of each, and the HTTP and SQS events around them.
//!
//! The people in them are made up. Everything here is a pure function of the catalogue; only the program
//! `penstock-events` touches files, and nothing ever talks to AWS or Telegram.

mod catalogue;
mod files;
mod http;
mod made;
mod sample;
mod sqs;

pub use catalogue::{find, samples};
pub use files::{EventFile, FilesError, files};
pub use http::{HttpWrap, http_event};
pub use made::LARGEST_UPDATE_BYTES;
pub use sample::{
    Body, Expect, Outcome, SAMPLE_BOT_ID, SAMPLE_PATH_KEY, SAMPLE_SECRET, Sample, Secret, Sends,
    with_update_id,
};
pub use sqs::{Queued, SqsWrap, quarantined, queued, sqs_event};
