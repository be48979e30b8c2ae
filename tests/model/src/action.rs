//! The steps of the whole: of the ingress, the functions, the queues, the clock and the person. Never takes one.

use crate::batch::Net;
use crate::person::Act;
use crate::queue::Pick;
use crate::state::Queue;
use crate::step::{Ending, Reply, Step};
use crate::worker::Function;

/// A step of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// The ingress accepts the next Update.
    Accept,
    /// An Update that was accepted is put in again, after the queue has forgotten its id.
    AcceptAgain(u8),
    /// Five minutes pass: the queues forget every id.
    ForgetIds,
    /// An invocation receives a batch.
    Receive(Function, Queue, Pick),
    /// A lane of an invocation takes a step.
    Lane(u8, u8, Step),
    /// An invocation answers for its batch.
    Answer(u8),
    /// An invocation dies.
    Crash(u8),
    /// A tick passes while nobody runs.
    Tick,
    /// A tick passes while somebody runs: they are late.
    Late,
    /// A message that is in hand becomes visible before its time.
    Reappear(Queue, u8),
    /// The person acts.
    Person(Act),
    /// A record outlives its life and lingers.
    Outlive(u8),
    /// The table cleans it away.
    Vanish(u8),
    /// Its id is used again.
    Reuse(u8),
    /// The release is rolled back.
    RollBack,
    /// It is rolled forward again.
    RollForward,
}

impl Action {
    /// Whether it is an accident, or something that nobody has to do: a run without any must come to rest.
    #[must_use]
    pub fn is_accident(self) -> bool {
        match self {
            Self::Accept | Self::Receive(..) | Self::Answer(_) | Self::Tick | Self::RollForward => false,
            Self::AcceptAgain(_)
            | Self::ForgetIds
            | Self::Crash(_)
            | Self::Late
            | Self::Reappear(..)
            | Self::Outlive(_)
            | Self::Vanish(_)
            | Self::Reuse(_)
            | Self::RollBack => true,
            Self::Person(act) => matches!(act, Act::Redrive(_) | Act::Resend(..) | Act::Dies),
            Self::Lane(_, _, step) => match step {
                Step::Claim(net) | Step::TakeOver(net) | Step::Settle(net) => net != Net::Answered,
                Step::End(ending, net) => {
                    net != Net::Answered || matches!(ending, Ending::Fails | Ending::FailsForGood)
                }
                Step::Dispatch(failing) => failing != 0,
                Step::Call(reply) => reply != Reply::Delivered,
                Step::Start | Step::Explode | Step::TimesOut | Step::GiveBack | Step::FileRaw => false,
            },
        }
    }
}
