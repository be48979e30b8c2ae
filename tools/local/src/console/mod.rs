//! The stack as the console sees it, and the routes of both on one listener.
//!
//! Never changes anything: the console acts only through the simulated chat.

mod backend;
mod line;
mod updates;

use std::sync::Arc;

use axum::Router;
use penstock_console::{
    BackendState, BotMode, BotView, FunctionView, LogLine, QueueView, Snapshot, Source, Stage,
};
use telegram_sim::Sim;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::task::JoinSet;

use crate::ledger::LedgerReader;
use crate::logs;
use crate::stack::View;
use backend::Backend;
use updates::Updates;

/// Lines that an open page may be behind before it loses some.
const PAGE_LAG: usize = 1_024;

/// The routes, and what must go for open pages to end.
pub(crate) struct Web {
    pub(crate) router: Router,
    /// Passes log lines on; pages end when it is dropped.
    pub(crate) passing: JoinSet<()>,
}

/// Everything that a browser and Telegram reach.
pub(crate) fn web(view: &View, ledger: Option<LedgerReader>) -> Web {
    let (sender, lines) = broadcast::channel(PAGE_LAG);
    let mut passing = JoinSet::new();
    let stack = view.facts().stack_name.clone();
    passing.spawn(pass_lines(view.logs().subscribe(), sender, stack));
    let source = Arc::new(ConsoleSource {
        view: view.clone(),
        updates: Updates::new(ledger),
        backend: Backend::default(),
        lines,
    });
    let mut router = penstock_console::router(source);
    if let Some(front) = view.front() {
        router = router.merge(front.router());
    }
    Web { router, passing }
}

struct ConsoleSource {
    view: View,
    updates: Updates,
    backend: Backend,
    /// Kept only to be subscribed again: the sender belongs to the task that passes lines on.
    lines: broadcast::Receiver<LogLine>,
}

impl Source for ConsoleSource {
    async fn snapshot(&self) -> Snapshot {
        let facts = self.view.facts();
        let now_ms = self.view.clock().now_ms();
        let accepted = self.view.recent_updates();
        let received = self.view.accepted();
        let (mut updates, totals) = self
            .updates
            .tell(&accepted, received, now_ms, &facts.program)
            .await;
        let queues = self.view.queues().await.unwrap_or_default();
        let backend = self.backend.tell(&self.view).await;
        if backend
            .as_ref()
            .is_some_and(|backend| backend.state == BackendState::Away)
        {
            // What waits for the backend has no record, like what waits for its turn.
            let waiting = updates.iter_mut().filter(|update| update.stage == Stage::Queued);
            waiting.for_each(|update| update.stage = Stage::Deferred);
        }
        Snapshot {
            stack: facts.stack_name.clone(),
            bot: BotView {
                username: facts.username.clone(),
                mode: if facts.real_bot {
                    BotMode::Real
                } else {
                    BotMode::Simulated
                },
            },
            webhook_url_masked: format!("{}/telegram/{}/…", facts.front_url, facts.bot_id),
            started_at_ms: facts.started_at_ms,
            is_resumed: facts.is_resumed,
            program: facts.program.clone(),
            uptime_ms: u64::try_from(now_ms - facts.started_at_ms).unwrap_or(0),
            backend,
            queues: queues.into_iter().map(queue_view).collect(),
            functions: self.view.functions().into_iter().map(function_view).collect(),
            updates,
            totals,
        }
    }

    fn logs(&self) -> broadcast::Receiver<LogLine> {
        self.lines.resubscribe()
    }

    fn recent_logs(&self) -> Vec<LogLine> {
        let stack = &self.view.facts().stack_name;
        let recent = self.view.logs().recent();
        recent.iter().map(|line| console_line(line, stack)).collect()
    }

    fn chat(&self) -> Option<Sim> {
        self.view.sim().cloned()
    }
}

fn queue_view(depth: crate::stack::QueueDepth) -> QueueView {
    QueueView {
        name: depth.name,
        visible: depth.visible + depth.delayed,
        in_flight: depth.in_flight,
        oldest_age_ms: depth.oldest_age_ms,
    }
}

fn function_view(stats: crate::lambda::FunctionStats) -> FunctionView {
    let count = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    FunctionView {
        name: stats.name,
        instances: count(stats.instances),
        busy: count(stats.busy),
        cold_starts: stats.cold_starts,
        invocations: stats.invocations,
        errors: stats.errors,
        last_error: stats.last_error,
    }
}

async fn pass_lines(
    mut from: broadcast::Receiver<logs::LogLine>,
    to: broadcast::Sender<LogLine>,
    stack: String,
) {
    loop {
        match from.recv().await {
            // Nobody looking is fine.
            Ok(line) => drop(to.send(console_line(&line, &stack))),
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

fn console_line(line: &logs::LogLine, stack: &str) -> LogLine {
    let short = line
        .source
        .strip_prefix(stack)
        .and_then(|rest| rest.strip_prefix('-'));
    let (level, text) = line::readable(&line.text);
    LogLine {
        at_ms: line.at_ms,
        source: short.unwrap_or(&line.source).to_owned(),
        level,
        text,
    }
}
