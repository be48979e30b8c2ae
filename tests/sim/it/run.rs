//! One seed: trouble for a while, then none until the pipeline is at rest, then a person puts right what is left. Every
//! choice is drawn from the seed, and nothing else moves time or a call. Never judges: see `watch` and `promises`.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use fastrand::Rng;
use futures::task::noop_waker_ref;
use penstock_domain::time::Timestamp;
use penstock_testkit::Fault;

use crate::book::{Alive, RunId};
use crate::hub::{ApiFate, Ask, Fate, Sort, WorkerId};
use crate::people::{self, Owed};
use crate::plan::{Trouble, posts};
use crate::promises;
use crate::watch::MOST_APART;
use crate::workers::{Ended, Function, Given, Instance, Invocation, batch, post};
use crate::world::{Name, World};

/// Choices while there is trouble.
const STEPS: u32 = 350;
/// Choices after that, until it must be at rest.
const MOST_STEPS: u32 = 20_000;
/// Instances of each function.
const INSTANCES: [Function; 7] = [
    Function::Processor,
    Function::Processor,
    Function::Processor,
    Function::Sender,
    Function::Sender,
    Function::Sender,
    Function::DeadLetter,
];

/// What became of a seed.
pub(crate) struct Report {
    pub(crate) broken: Vec<String>,
    pub(crate) trace: Vec<String>,
    pub(crate) reached: BTreeSet<&'static str>,
}

struct Simulation {
    world: Arc<World>,
    rng: Rng,
    trouble: Trouble,
    instances: Vec<Instance>,
    running: BTreeMap<RunId, Invocation>,
    to_post: Vec<usize>,
    /// Update ids that Telegram gave lately, and to what.
    given: BTreeMap<i64, usize>,
    owed: Vec<Owed>,
    numbers: u32,
}

/// Runs a seed, in a runtime whose clock is paused.
pub(crate) async fn run(seed: u64, is_traced: bool) -> Report {
    let mut rng = Rng::with_seed(seed);
    let trouble = Trouble::draw(&mut rng);
    let posts = posts(&mut rng, trouble.idles);
    let to_post = (0..posts.len()).collect();
    let world = Arc::new(World::new(posts, trouble.max_receives, rng.fork(), is_traced));
    let mut simulation = Simulation {
        world,
        rng,
        trouble,
        instances: Vec::new(),
        running: BTreeMap::new(),
        to_post,
        given: BTreeMap::new(),
        owed: Vec::new(),
        numbers: 0,
    };
    for function in INSTANCES {
        let instance = simulation.instance(function);
        simulation.instances.push(instance);
    }
    simulation.all().await;
    let book = simulation.world.book();
    Report {
        broken: book.broken.clone(),
        trace: book.lines.clone(),
        reached: book.reached.clone(),
    }
}

impl Simulation {
    async fn all(&mut self) {
        self.world.trace(|| format!("{:?}", self.trouble));
        let posts = self.world.book().posts.clone();
        for (index, plan) in posts.iter().enumerate() {
            self.world
                .trace(|| format!("u{index}: {} {:?}", plan.raw, plan.act));
        }
        for _ in 0..STEPS {
            if self.is_broken() {
                return;
            }
            self.step().await;
        }
        self.trouble = Trouble::NONE;
        self.come_to_rest().await;
        promises::check(&self.world);
        if self.is_broken() || self.rng.bool() {
            return;
        }
        self.world.trace(|| "a person puts everything right".to_owned());
        self.world.book().is_cured = true;
        for wish in people::wishes(&self.world) {
            self.owed.extend(people::grant(&self.world, &wish));
        }
        self.come_to_rest().await;
        promises::check(&self.world);
        promises::check_cured(&self.world);
    }

    fn is_broken(&self) -> bool {
        !self.world.book().broken.is_empty()
    }

    fn number(&mut self) -> u32 {
        self.numbers += 1;
        self.numbers
    }

    fn instance(&mut self, function: Function) -> Instance {
        let ahead = if self.trouble.clocks > 0.0 {
            self.clock_error()
        } else {
            0
        };
        let id = self.number();
        Instance::new(&self.world, id, function, ahead)
    }

    fn clock_error(&mut self) -> i64 {
        self.rng.i64(-MOST_APART / 2..=MOST_APART / 2)
    }

    fn chance(&mut self, share: f64) -> bool {
        share > 0.0 && self.rng.f64() < share
    }

    /// The calls that wait, but for those of what stands still.
    fn asks(&self) -> Vec<Ask> {
        let frozen: Vec<WorkerId> = self
            .running
            .values()
            .filter(|invocation| invocation.is_frozen)
            .map(|invocation| invocation.worker)
            .collect();
        let mut asks = self.world.hub.asks();
        asks.retain(|ask| !frozen.contains(&ask.worker));
        asks
    }

    async fn step(&mut self) {
        self.mischief();
        let asks = self.asks();
        match self.rng.u8(0..100) {
            0..62 if !asks.is_empty() => self.decide_one(&asks),
            0..70 if self.post() => {}
            0..90 if self.poll_queue() => {}
            90.. if asks.is_empty() || self.rng.u8(0..3) == 0 => {
                let wait = self.wait(asks.is_empty());
                self.pass(wait).await;
            }
            _ if !asks.is_empty() => self.decide_one(&asks),
            _ => {
                let wait = self.wait(true);
                self.pass(wait).await;
            }
        }
    }

    /// What else goes wrong or is done by others.
    fn mischief(&mut self) {
        let runs: Vec<RunId> = self.running.keys().copied().collect();
        if let Some(run) = self.rng.choice(&runs).copied() {
            if self.chance(self.trouble.crashes) {
                self.crash(run, "crashes");
            } else if self.chance(self.trouble.freezes) {
                self.freeze(run);
            } else if self.running.get(&run).is_some_and(|run| run.is_frozen) && self.rng.u8(0..24) == 0 {
                self.thaw(run);
            }
        }
        if self.chance(self.trouble.duplicates) {
            self.show_again();
        }
        if self.chance(self.trouble.clocks) {
            let (ahead, index) = (self.clock_error(), self.rng.usize(0..self.instances.len()));
            self.instances[index].ports.ahead.store(ahead, Ordering::Relaxed);
        }
        if self.chance(self.trouble.people) {
            let wishes = people::wishes(&self.world);
            if let Some(wish) = self.rng.choice(&wishes) {
                self.owed.extend(people::grant(&self.world, wish));
            }
        }
        if !self.owed.is_empty() && self.rng.u8(0..6) == 0 {
            people::pay(&self.world, self.owed.remove(0));
        }
        if self.chance(self.trouble.conflicts) {
            let number = self.number();
            people::conflict(&self.world, &mut self.rng, number);
        }
        let late = self.world.late_writes();
        if late > 0 && self.rng.u8(0..12) == 0 {
            self.world.arrive(self.rng.usize(0..late));
        }
    }

    fn freeze(&mut self, run: RunId) {
        if let Some(invocation) = self.running.get_mut(&run) {
            invocation.is_frozen = true;
            self.world.trace(|| format!("{} stands still", invocation.worker));
        }
    }

    fn thaw(&mut self, run: RunId) {
        if let Some(invocation) = self.running.get_mut(&run) {
            invocation.is_frozen = false;
            self.world.trace(|| format!("{} goes on", invocation.worker));
        }
        self.poll(run);
    }

    fn show_again(&mut self) {
        let now = self.world.now();
        let name = *self.rng.choice(&Name::ALL).unwrap();
        let hidden = self.world.queue(name, |queue| queue.hidden(now));
        if let Some(id) = self.rng.choice(&hidden) {
            self.world.queue(name, |queue| queue.show(id, now));
            self.world.book().reached("a delivery was handed out twice");
            self.world
                .trace(|| format!("the queue shows {id} before its time"));
        }
    }

    fn decide_one(&mut self, asks: &[Ask]) {
        if let Some(ask) = self.rng.choice(asks).copied() {
            self.decide(ask);
        }
    }

    fn decide(&mut self, ask: Ask) {
        let run = self.world.book().run_of(ask.worker);
        if ask.sort == Sort::Poison {
            return self.crash(run, "is killed by its update");
        }
        let fate = self.fate(ask.sort);
        let holds_answer = !ask.is_applied && self.chance(self.trouble.held_answers);
        self.world.hub.decide(ask.id, fate, holds_answer);
        self.poll(run);
    }

    fn fate(&mut self, sort: Sort) -> Fate {
        match sort {
            Sort::Bot | Sort::Poison => Fate::Pass,
            Sort::Api if self.chance(self.trouble.api) => {
                let secs = *self.rng.choice(&[1, 5, 40, 400]).unwrap();
                Fate::Api(
                    *self
                        .rng
                        .choice(&[
                            ApiFate::Throttled(secs),
                            ApiFate::Throttled(secs),
                            ApiFate::BadRequest,
                            ApiFate::Forbidden,
                            ApiFate::TokenRefused,
                            ApiFate::NotSent,
                            ApiFate::NotSent,
                            ApiFate::LostAnswer,
                            ApiFate::LostAnswer,
                            ApiFate::LostRequest,
                        ])
                        .unwrap(),
                )
            }
            Sort::Api => Fate::Api(ApiFate::Sent),
            Sort::Table | Sort::Queue | Sort::Secret if self.chance(self.trouble.stores) => {
                if sort != Sort::Secret && self.chance(self.trouble.late) {
                    return Fate::Late;
                }
                if sort == Sort::Queue && self.rng.u8(0..3) == 0 {
                    self.world.book().cuts = true;
                    return Fate::Pass;
                }
                match self.rng.u8(0..16) {
                    0..5 => Fate::Fault(Fault::Unavailable),
                    5..8 => Fate::Fault(Fault::NeverArrived),
                    8..12 => Fate::Fault(Fault::AnswerLost),
                    12 => Fate::Fault(Fault::Rejected),
                    _ => Fate::Twice,
                }
            }
            Sort::Table | Sort::Queue | Sort::Secret => Fate::Pass,
        }
    }

    /// Telegram posts something; `false` if there is nothing.
    fn post(&mut self) -> bool {
        let next = self.to_post.iter().position(|post| self.may_post(*post));
        let Some(next) = next else { return false };
        let index = self.to_post.remove(next);
        if let Some(update) = &self.world.book().posts[index].update {
            self.given.insert(update.id, index);
        }
        let (worker, run) = (self.number(), self.number());
        let invocation = post(&self.world, worker, run, index);
        self.world.trace(|| format!("{worker} ingress is given u{index}"));
        self.begin(invocation);
        true
    }

    /// An id is only given anew after idle weeks.
    fn may_post(&self, post: usize) -> bool {
        let book = self.world.book();
        let update = book.posts[post].update.as_ref();
        let holder = update.and_then(|update| self.given.get(&update.id));
        holder.is_none_or(|holder| *holder == post)
    }

    fn begin(&mut self, invocation: Invocation) {
        let run = invocation.run;
        let alive = Alive {
            worker: invocation.worker,
            is_overdue: false,
        };
        self.world.book().alive.insert(run, alive);
        self.running.insert(run, invocation);
        self.poll(run);
    }

    /// Lambda polls a queue for an idle instance; `false` if there is nothing to do.
    fn poll_queue(&mut self) -> bool {
        let now = self.world.now();
        let busy: Vec<_> = self
            .running
            .values()
            .map(|invocation| invocation.worker)
            .collect();
        let mut ready: Vec<(Name, usize)> = Vec::new();
        for (index, instance) in self.instances.iter().enumerate() {
            let names = Name::ALL
                .into_iter()
                .filter(|name| instance.function.serves(*name));
            for name in names.filter(|_| !busy.contains(&instance.id)) {
                if !self.world.queue(name, |queue| queue.free(now)).is_empty() {
                    ready.push((name, index));
                }
            }
        }
        let Some((name, index)) = self.rng.choice(&ready).copied() else {
            return false;
        };
        let mut free = self.world.queue(name, |queue| queue.free(now));
        self.rng.shuffle(&mut free);
        let most = self.rng.usize(1..=10);
        let mut handed = Vec::new();
        for (group, count) in free {
            let room = most - handed.len();
            if room == 0 {
                break;
            }
            let at_most = self.rng.usize(1..=count.min(room));
            handed.extend(self.world.receive(name, &group, at_most));
        }
        if handed.is_empty() {
            return true;
        }
        let run = self.number();
        let instance = &self.instances[index];
        let invocation = batch(instance, run, name, handed.clone());
        self.world.trace(|| {
            let ids: Vec<_> = handed.iter().map(|handed| handed.receipt.as_str()).collect();
            format!(
                "{} {:?} is given {}",
                instance.id,
                instance.function,
                ids.join(" ")
            )
        });
        self.begin(invocation);
        true
    }

    fn poll(&mut self, run: RunId) {
        let Some(invocation) = self.running.get_mut(&run).filter(|run| !run.is_frozen) else {
            return;
        };
        let mut context = Context::from_waker(noop_waker_ref());
        if let Poll::Ready(ended) = Pin::as_mut(&mut invocation.future).poll(&mut context) {
            self.ended(run, &ended);
        }
    }

    fn ended(&mut self, run: RunId, ended: &Ended) {
        let Some(invocation) = self.running.remove(&run) else {
            return;
        };
        let alive = self.world.book().alive.remove(&run);
        let is_overdue = alive.is_some_and(|alive| alive.is_overdue);
        if is_overdue {
            self.world.book().reached("a worker went on after its time");
        }
        match (&invocation.given, ended) {
            (Given::Batch(name, handed), Ended::Batch(answer)) => {
                let now = self.world.now();
                let failures = answer.batch_item_failures.iter();
                let failed: Vec<_> = failures.map(|failure| failure.item_identifier.as_str()).collect();
                self.world
                    .trace(|| format!("{} ends; comes back: {failed:?}", invocation.worker));
                for handed in handed
                    .iter()
                    .filter(|handed| !failed.contains(&handed.id.as_str()))
                {
                    // Nobody listens to an answer that comes after its time.
                    if is_overdue || self.chance(self.trouble.lost_deletions) {
                        continue;
                    }
                    self.world
                        .queue(*name, |queue| queue.delete(&handed.receipt, now));
                }
            }
            (Given::Post(post), Ended::Status(status)) => {
                self.world
                    .trace(|| format!("{} answers u{post} with {status}", invocation.worker));
                let is_taken = !is_overdue && matches!(status, 200 | 400);
                if is_taken {
                    self.world.book().thanked.insert(*post);
                }
                if !is_taken || self.chance(self.trouble.repeats) {
                    self.to_post.push(*post);
                }
            }
            _ => self.world.broken("an invocation ends as it began", String::new()),
        }
    }

    /// The process of an invocation dies.
    fn crash(&mut self, run: RunId, why: &str) {
        let Some(invocation) = self.running.remove(&run) else {
            return;
        };
        self.world.book().alive.remove(&run);
        self.world.book().reached("a process died");
        self.world.trace(|| format!("{} {why}", invocation.worker));
        if let Given::Post(post) = invocation.given {
            // No answer: Telegram comes again.
            self.to_post.push(post);
        }
        let died = self
            .instances
            .iter()
            .position(|instance| instance.id == invocation.worker);
        if let Some(died) = died {
            self.instances[died] = self.instance(self.instances[died].function);
        }
    }

    fn wait(&mut self, is_idle: bool) -> Duration {
        if is_idle && self.chance(self.trouble.jumps) {
            return Duration::from_secs(self.rng.u64(600..20_000));
        }
        let now = self.world.now();
        if let Some(ends) = self.running.values().map(|invocation| invocation.ends_at).min()
            && self.rng.u8(0..8) == 0
        {
            // Close to where leases end and processes are ended.
            let early = Duration::from_millis(self.rng.u64(1..1_800));
            return (ends - early).since(now).max(Duration::from_millis(1));
        }
        let millis = match self.rng.u8(0..20) {
            0..10 => self.rng.u64(1..60),
            10..15 => self.rng.u64(60..2_000),
            15..18 if is_idle => self.rng.u64(2_000..40_000),
            18.. if is_idle => self.rng.u64(40_000..400_000),
            _ => self.rng.u64(1..400),
        };
        Duration::from_millis(millis)
    }

    /// Time goes on: timers fire, and what is overdue is ended, unless it stands still.
    async fn pass(&mut self, by: Duration) {
        let now = self.world.clock.advance(by);
        tokio::time::advance(by).await;
        let over: Vec<_> = self
            .running
            .values()
            .filter(|invocation| invocation.ends_at <= now)
            .map(|invocation| (invocation.run, invocation.is_frozen))
            .collect();
        for (run, is_frozen) in over {
            let is_overdue = {
                let mut book = self.world.book();
                let alive = book.alive.get_mut(&run);
                alive.is_some_and(|alive| {
                    alive.is_overdue |= is_frozen;
                    alive.is_overdue
                })
            };
            if !is_overdue {
                self.crash(run, "is ended: its time is over");
            }
        }
        let runs: Vec<_> = self.running.keys().copied().collect();
        for run in runs {
            self.poll(run);
        }
    }

    /// Without any more trouble, until nothing moves.
    async fn come_to_rest(&mut self) {
        for _ in 0..MOST_STEPS {
            if self.is_broken() {
                return;
            }
            let frozen = self.running.values().find(|invocation| invocation.is_frozen);
            if let Some(run) = frozen.map(|invocation| invocation.run) {
                self.thaw(run);
                continue;
            }
            let asks = self.asks();
            if !asks.is_empty() {
                self.decide_one(&asks);
            } else if !self.running.is_empty() {
                let wait = Duration::from_millis(self.rng.u64(30..1_000));
                self.pass(wait).await;
            } else if self.world.late_writes() > 0 {
                self.world.arrive(0);
            } else if !self.owed.is_empty() {
                people::pay(&self.world, self.owed.remove(0));
            } else if self.post() || self.poll_queue() {
            } else if let Some(next) = self.next_visible_at() {
                let wait = next.since(self.world.now());
                self.pass(wait).await;
            } else if !self.to_post.is_empty() {
                self.idle_for_weeks().await;
            } else {
                return;
            }
        }
        self.world
            .broken("it comes to rest", format!("not within {MOST_STEPS} steps"));
    }

    fn next_visible_at(&self) -> Option<Timestamp> {
        let now = self.world.now();
        let next = |name| self.world.queue(name, |queue| queue.next_visible_at(now));
        Name::ALL.into_iter().filter_map(next).min()
    }

    /// Nothing happens for so long that Telegram draws ids anew, and repeats nothing of before.
    async fn idle_for_weeks(&mut self) {
        let days = *self.rng.choice(&[3, 8]).unwrap();
        self.world.trace(|| format!("{days} days without an update"));
        self.pass(Duration::from_secs(days * 86_400)).await;
        self.given.clear();
        let accepted = self.world.book().accepted.clone();
        self.to_post.retain(|post| !accepted.contains(post));
        self.world.book().reached("ids were drawn anew");
    }
}
