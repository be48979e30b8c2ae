//! Filing, by what the body is: a quarantined body, an Update, an intent, or nothing of ours.

use std::time::Duration;

use aws_lambda_events::event::sqs::SqsBatchResponse;
use penstock_batch::{Alone, Record, Time, Verdict, answer, growing_wait, run};
use penstock_domain::failure::{Disposition, Failure};
use penstock_domain::ids::{BotId, LedgerKey, MessageGroupId};
use penstock_domain::intent::{IntentRefusal, IntentState};
use penstock_formats::ReadError;
use penstock_formats::envelope::Envelope;
use penstock_formats::outbound::{Origin, Outbound};
use penstock_formats::quarantine::Quarantined;
use penstock_ports::{
    Clock, Deliveries, Enqueue, Filed, GiveUp, GivenUp, Inbox, IntentSettlement, Outbox, PortError,
    QueueSender, SettleAs, Subject,
};

/// What filing one record may need.
pub const NEEDED: Duration = Duration::from_secs(5);
/// Wait behind an earlier intent of the same chat that has not ended.
const BEHIND_WAIT: Duration = Duration::from_secs(30);
/// What SQS has given up on.
const REDROVE: &str = "too_many_receives";
const REDROVE_WHY: &str = "the queue gave it up after too many receives";

/// What the dead_letter function works with.
pub struct Deps<L, O, C> {
    /// The ledger.
    pub ledger: L,
    /// The outbound queue: a repeat of an Update that is done is dispatched.
    pub outbound: O,
    /// The clock.
    pub clock: C,
}

/// Handles a batch of the dead-letter queue that it came from.
pub async fn handle<L, O, C, Q>(
    deps: &Deps<L, O, C>,
    queue: &Q,
    records: &[Record],
    time: &impl Time,
) -> SqsBatchResponse
where
    L: Inbox + Outbox,
    O: QueueSender,
    C: Clock,
    Q: Deliveries,
{
    let report = run(records, &Records(deps), time, queue).await;
    answer(&report, queue).await
}

struct Records<'a, L, O, C>(&'a Deps<L, O, C>);

impl<L: Inbox + Outbox, O: QueueSender, C: Clock> penstock_batch::Handler for Records<'_, L, O, C> {
    async fn handle(&self, record: &Record, _alone: &Alone) -> Verdict {
        let filed = match Body::of(&record.body) {
            Body::Update(envelope) => self.update(record, &envelope).await,
            Body::Intent(outbound) => self.intent(record, &outbound).await,
            Body::Quarantined(quarantined) => self.quarantined(record, &quarantined).await,
            Body::Foreign(code, why) => self.foreign(record, code, &why).await,
        };
        filed.unwrap_or_else(|error| {
            tracing::warn!(error = %error, receive_count = record.receive_count, "a store is away: the dead letter waits");
            Verdict::ComeBackIn(growing_wait(record.receive_count, 0.5))
        })
    }
}

/// What a dead letter is.
enum Body<'a> {
    Update(Envelope<'a>),
    Intent(Box<Outbound>),
    Quarantined(Quarantined),
    /// None of ours, or of a newer release: kept raw.
    Foreign(&'static str, String),
}

impl<'a> Body<'a> {
    fn of(body: &'a str) -> Self {
        let why = match Envelope::read(body) {
            Ok(envelope) => return Self::Update(envelope),
            Err(error @ ReadError::Newer(_)) => return Self::Foreign("newer_schema", error.to_string()),
            Err(error @ ReadError::Malformed(_)) => error.to_string(),
        };
        match (Outbound::read(body), Quarantined::read(body)) {
            (Ok(outbound), _) => Self::Intent(Box::new(outbound)),
            (_, Ok(quarantined)) => Self::Quarantined(quarantined),
            (Err(_), Err(_)) => Self::Foreign("malformed_body", why),
        }
    }
}

impl<L: Inbox + Outbox, O: QueueSender, C: Clock> Records<'_, L, O, C> {
    async fn file(
        &self,
        subject: &Subject,
        redrive: u32,
        raw: &str,
        code: &str,
        message: &str,
    ) -> Result<Filed, PortError> {
        let now = self.0.clock.now();
        let failure = Failure::new(code, message, Disposition::Permanent, 1, now);
        let filed = self
            .0
            .ledger
            .file_dead(subject, redrive, raw, &failure, now)
            .await?;
        if filed == Filed::Dead {
            tracing::error!(trace_id = subject.trace_id, key = %subject.key, code, "dead letter");
        }
        Ok(filed)
    }

    /// The key under which an Update is filed. Telegram draws ids anew after idle weeks: a record of another Update must
    /// neither swallow this one nor be overwritten by it.
    async fn key_of(&self, envelope: &Envelope<'_>) -> Result<LedgerKey, PortError> {
        let key = envelope.ledger_key();
        if envelope.redrive > 0 {
            return Ok(key);
        }
        let now = self.0.clock.now();
        let existing = self.0.ledger.read(&key).await?;
        let is_anothers = existing.is_some_and(|record| {
            let lives = record.expires_at >= now.as_millis().div_euclid(1000);
            lives && record.digest.is_some_and(|digest| digest != envelope.digest)
        });
        let Envelope {
            bot_id,
            update_id,
            digest,
            ..
        } = envelope;
        Ok(if is_anothers {
            LedgerKey::reused(*bot_id, *update_id, *digest)
        } else {
            key
        })
    }

    async fn update(&self, record: &Record, envelope: &Envelope<'_>) -> Result<Verdict, PortError> {
        let subject = Subject {
            key: self.key_of(envelope).await?,
            bot_id: envelope.bot_id,
            update_id: envelope.update_id.0,
            kind: envelope.kind,
            group: MessageGroupId(record.group.clone()),
            received_at: envelope.received_at,
            trace_id: envelope.trace_id.to_owned(),
            digest: Some(envelope.digest),
        };
        let done = match self
            .file(&subject, envelope.redrive, envelope.update, REDROVE, REDROVE_WHY)
            .await?
        {
            Filed::Dead | Filed::Already => return Ok(Verdict::Done),
            Filed::HeldUntil(until) => return Ok(Verdict::held(until.since(self.0.clock.now()))),
            Filed::Done(done) => done,
        };
        let origin = Origin {
            bot_id: subject.bot_id,
            update_id: envelope.update_id,
            key: subject.key,
            redrive: envelope.redrive,
            received_at: subject.received_at,
            trace_id: subject.trace_id,
        };
        let of = u8::try_from(done.intents.len()).unwrap_or(u8::MAX);
        let intended = done
            .intents
            .iter()
            .filter(|stored| stored.state == IntentState::Intended);
        let unreadable = PortError::Unreadable {
            operation: "dead_letter.dispatch",
            what: "intent",
        };
        let messages: Result<Vec<_>, _> = intended
            .map(|stored| {
                let body = Outbound::new(&origin, &stored.intent, stored.resend, of).write()?;
                let deduplication = origin.key.intent_deduplication_id(stored.intent.n, stored.resend);
                Ok::<_, serde_json::Error>(Enqueue {
                    group: stored.intent.group.clone(),
                    deduplication,
                    body,
                })
            })
            .collect();
        let messages = messages.map_err(|_| unreadable)?;
        if !messages.is_empty() {
            self.0.outbound.enqueue_all(messages).await?;
        }
        Ok(Verdict::Done)
    }

    /// An intent that nobody could send is given up; one that may be on its way is unknown.
    async fn intent(&self, record: &Record, outbound: &Outbound) -> Result<Verdict, PortError> {
        let now = self.0.clock.now();
        let failure = |disposition| Failure::new(REDROVE, REDROVE_WHY, disposition, 1, now);
        let give_up = GiveUp {
            key: outbound.key.clone(),
            n: outbound.n,
            of: outbound.of,
            redrive: outbound.redrive,
            resend: outbound.resend,
            previous: outbound.previous,
            failure: failure(Disposition::Permanent),
            now,
        };
        let state = match self.0.ledger.give_up(&give_up).await? {
            GivenUp::Failed => IntentState::Failed,
            GivenUp::Unknown => IntentState::Unknown,
            GivenUp::Refused(refusal) => match refusal {
                IntentRefusal::Settled => return Ok(Verdict::Done),
                IntentRefusal::BehindPrevious => return Ok(Verdict::ComeBackIn(BEHIND_WAIT)),
                IntentRefusal::HeldUntil(until) => return Ok(Verdict::held(until.since(now))),
                // No claim is made here, so none can be ours.
                IntentRefusal::Mine { .. } => return Ok(Verdict::ComeBackIn(BEHIND_WAIT)),
                IntentRefusal::Lost => {
                    let settlement = IntentSettlement {
                        key: outbound.key.clone(),
                        n: outbound.n,
                        of: outbound.of,
                        owner: None,
                        settle: SettleAs::Unknown {
                            failure: failure(Disposition::Ambiguous),
                        },
                        now,
                    };
                    if !Outbox::settle(&self.0.ledger, &settlement).await? {
                        return Ok(Verdict::ComeBackIn(BEHIND_WAIT));
                    }
                    IntentState::Unknown
                }
                IntentRefusal::Absent => {
                    return self
                        .foreign(record, "no_intent", "there is no such intent in the ledger")
                        .await;
                }
            },
        };
        tracing::error!(
            trace_id = outbound.trace_id,
            intent.n = outbound.n,
            state = state.name(),
            "an intent reached the dead-letter queue"
        );
        Ok(Verdict::Done)
    }

    async fn quarantined(&self, record: &Record, quarantined: &Quarantined) -> Result<Verdict, PortError> {
        let subject = self.stranger(record, quarantined.bot_id, quarantined.key.clone());
        // The body as it travelled: base64 inside JSON, so that any bytes are kept.
        let code = quarantined.reason.code();
        let filed = self
            .file(
                &subject,
                0,
                &record.body,
                code,
                "the ingress could not take it for an update",
            )
            .await?;
        Ok(self.verdict_of(filed))
    }

    async fn foreign(&self, record: &Record, code: &str, why: &str) -> Result<Verdict, PortError> {
        let bot_id = BotId::of_name(&record.group);
        let subject = self.stranger(
            record,
            bot_id,
            LedgerKey::quarantined(bot_id, record.body.as_bytes()),
        );
        let filed = self.file(&subject, 0, &record.body, code, why).await?;
        Ok(self.verdict_of(filed))
    }

    fn stranger(&self, record: &Record, bot_id: BotId, key: LedgerKey) -> Subject {
        Subject::stranger(key, bot_id, &record.group, self.0.clock.now())
    }

    fn verdict_of(&self, filed: Filed) -> Verdict {
        match filed {
            Filed::Dead | Filed::Already | Filed::Done(_) => Verdict::Done,
            Filed::HeldUntil(until) => Verdict::held(until.since(self.0.clock.now())),
        }
    }
}

#[cfg(test)]
#[path = "handler_tests.rs"]
mod tests;
