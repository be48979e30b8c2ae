//! The instances of the functions, and their invocations: the real handlers over the ports of the simulation. An
//! invocation moves only when it is polled. Never decides what happens to one.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use aws_lambda_events::event::sqs::SqsBatchResponse;
use futures::FutureExt as _;
use lambda_http::http::Method;
use lambda_http::{Body, Request, RequestExt as _};
use penstock_batch::{Deadline, PATIENCE, Record};
use penstock_domain::time::Timestamp;
use penstock_ports::Clock as _;
use penstock_testkit::Handed;

use crate::book::RunId;
use crate::bot::SimulatedBot;
use crate::hub::WorkerId;
use crate::plan::BOT;
use crate::ports::{Ports, QueuePort};
use crate::world::{Name, PATH_KEY, WEBHOOK_SECRET, World};

/// How long an invocation may take (template: 20 s).
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// What an instance runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Processor,
    Sender,
    DeadLetter,
}

impl Function {
    /// The queues that it is given batches of.
    pub(crate) fn serves(self, queue: Name) -> bool {
        match self {
            Self::Processor => queue == Name::Updates,
            Self::Sender => queue == Name::Outbound,
            Self::DeadLetter => matches!(queue, Name::UpdatesDead | Name::OutboundDead),
        }
    }
}

type Processor = processor::Deps<Ports, QueuePort, QueuePort, SimulatedBot, Ports, Ports>;
type Sender = sender::Deps<Ports, Ports, Ports, Ports, Ports>;
type DeadLetter = dead_letter::Deps<Ports, QueuePort, Ports>;

/// What lives as long as an instance.
#[derive(Clone)]
enum Memory {
    Processor(Arc<Processor>),
    Sender(Arc<Sender>),
    DeadLetter(Arc<DeadLetter>),
}

/// An instance: it handles one batch at a time.
pub(crate) struct Instance {
    pub(crate) id: WorkerId,
    pub(crate) function: Function,
    pub(crate) ports: Ports,
    memory: Memory,
}

impl Instance {
    pub(crate) fn new(world: &Arc<World>, id: WorkerId, function: Function, ahead_ms: i64) -> Self {
        let ports = Ports {
            world: Arc::clone(world),
            worker: id,
            ahead: Arc::new(AtomicI64::new(ahead_ms)),
        };
        let queue = |name| QueuePort {
            ports: ports.clone(),
            name,
        };
        let memory = match function {
            Function::Processor => Memory::Processor(Arc::new(processor::Deps {
                inbox: ports.clone(),
                updates: queue(Name::Updates),
                outbound: queue(Name::Outbound),
                bot: SimulatedBot(ports.clone()),
                clock: ports.clone(),
                draw: ports.clone(),
                states: processor::StateCache::default(),
            })),
            Function::Sender => Memory::Sender(Arc::new(sender::Deps {
                ledger: ports.clone(),
                api: ports.clone(),
                secrets: ports.clone(),
                clock: ports.clone(),
                draw: ports.clone(),
                throttles: sender::Throttles::default(),
            })),
            Function::DeadLetter => Memory::DeadLetter(Arc::new(dead_letter::Deps {
                ledger: ports.clone(),
                outbound: queue(Name::Outbound),
                clock: ports.clone(),
            })),
        };
        Self {
            id,
            function,
            ports,
            memory,
        }
    }
}

/// How an invocation ended.
pub(crate) enum Ended {
    Batch(SqsBatchResponse),
    Status(u16),
}

/// What an invocation was given.
pub(crate) enum Given {
    Batch(Name, Vec<Handed>),
    Post(usize),
}

pub(crate) struct Invocation {
    pub(crate) run: RunId,
    pub(crate) worker: WorkerId,
    pub(crate) given: Given,
    pub(crate) ends_at: Timestamp,
    pub(crate) is_frozen: bool,
    pub(crate) future: Pin<Box<dyn Future<Output = Ended>>>,
}

/// A batch for an instance.
pub(crate) fn batch(instance: &Instance, run: RunId, name: Name, handed: Vec<Handed>) -> Invocation {
    let record = |handed: &Handed| Record {
        id: handed.id.clone(),
        receipt: handed.receipt.clone(),
        group: handed.group.0.clone(),
        receive_count: handed.receive_count,
        sent_at_ms: handed.sent_at.as_millis(),
        body: handed.body.clone(),
    };
    let records: Vec<_> = handed.iter().map(record).collect();
    let ports = instance.ports.clone();
    let ends_at = ports.world.now() + TIMEOUT;
    let deadline = |needed| {
        let ports = ports.clone();
        let now_ms = move || ports.now().as_millis();
        Deadline::new(
            u64::try_from(ends_at.as_millis()).unwrap(),
            now_ms,
            needed,
            PATIENCE,
        )
    };
    let queue = QueuePort {
        ports: ports.clone(),
        name,
    };
    let future = match instance.memory.clone() {
        Memory::Processor(deps) => {
            let deadline = deadline(processor::NEEDED);
            async move { processor::handle(&deps, &records, &deadline).await }.boxed_local()
        }
        Memory::Sender(deps) => {
            let deadline = deadline(sender::NEEDED);
            async move { sender::handle(&deps, &queue, records, &deadline).await }.boxed_local()
        }
        Memory::DeadLetter(deps) => {
            let deadline = deadline(dead_letter::NEEDED);
            async move { dead_letter::handle(&deps, &queue, &records, &deadline).await }.boxed_local()
        }
    };
    Invocation {
        run,
        worker: instance.id,
        given: Given::Batch(name, handed),
        ends_at,
        is_frozen: false,
        // Timers count what a task does since it was woken; here the schedule wakes it.
        future: Box::pin(tokio::task::unconstrained(future.map(Ended::Batch))),
    }
}

/// A post for the ingress, each in an instance of its own.
pub(crate) fn post(world: &Arc<World>, worker: WorkerId, run: RunId, post: usize) -> Invocation {
    let ports = Ports {
        world: Arc::clone(world),
        worker,
        ahead: Arc::default(),
    };
    let queue = |name| QueuePort {
        ports: ports.clone(),
        name,
    };
    let deps = ingress::Deps {
        secrets: ports.clone(),
        updates: queue(Name::Updates),
        quarantine: queue(Name::UpdatesDead),
        clock: ports.clone(),
    };
    let mut request = Request::new(Body::from(world.book().posts[post].raw.clone()));
    *request.method_mut() = Method::POST;
    let secret = WEBHOOK_SECRET.parse().unwrap();
    request
        .headers_mut()
        .insert("x-telegram-bot-api-secret-token", secret);
    let request = request.with_raw_http_path(format!("/telegram/{BOT}/{PATH_KEY}"));
    let future = async move { Ended::Status(ingress::handle(&deps, request).await.status().as_u16()) };
    Invocation {
        run,
        worker,
        given: Given::Post(post),
        ends_at: world.now() + TIMEOUT,
        is_frozen: false,
        future: Box::pin(tokio::task::unconstrained(future)),
    }
}
