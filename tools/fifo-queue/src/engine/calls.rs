//! How often each operation was called since the engine was opened. Counts requests, not attempts of a long
//! poll, and refused ones too: that is what SQS bills.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Engine;

macro_rules! operations {
    ($($name:ident),+ $(,)?) => {
        /// Operations of the SQS protocol.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Operation {
            $(#[doc = concat!("`", stringify!($name), "`")] $name),+
        }

        impl Operation {
            /// All of them, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The protocol's name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),+ }
            }
        }
    };
}

operations! {
    CancelMessageMoveTask, ChangeMessageVisibility, ChangeMessageVisibilityBatch, CreateQueue, DeleteMessage,
    DeleteMessageBatch, DeleteQueue, GetQueueAttributes, GetQueueUrl, ListDeadLetterSourceQueues,
    ListMessageMoveTasks, ListQueueTags, ListQueues, PurgeQueue, ReceiveMessage, SendMessage,
    SendMessageBatch, SetQueueAttributes, StartMessageMoveTask, TagQueue, UntagQueue,
}

#[derive(Default)]
pub(super) struct Calls([AtomicU64; Operation::ALL.len()]);

impl Calls {
    pub(super) fn count(&self, operation: Operation) {
        self.0[operation as usize].fetch_add(1, Ordering::Relaxed);
    }
}

impl Engine {
    /// Calls since the engine was opened, by operation name; operations never called are absent.
    pub fn calls(&self) -> BTreeMap<&'static str, u64> {
        let counts = Operation::ALL.iter().zip(&self.0.calls.0);
        counts
            .map(|(operation, count)| (operation.name(), count.load(Ordering::Relaxed)))
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}
