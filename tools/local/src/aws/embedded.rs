//! The embedded services: queues by our own engine, tables and secrets by libraries.
//!
//! Queues and tables are files in the state directory. Secrets live in memory only and are put there
//! anew at each start.

use std::sync::Arc;

use dynoxide::Database;
use fifo_queue::Engine;

use super::meter::Meter;
use super::opening::{engine_told, table_cure};
use super::serve::{Server, loopback};
use super::switch::Switch;
use super::{AwsError, Endpoints};
use crate::adapters::QueueClock;
use crate::state::StateDir;

/// Running embedded services.
#[derive(Debug)]
pub struct Embedded {
    endpoints: Endpoints,
    engine: Engine,
    meter: Option<Meter>,
    switch: Server,
    tables: Server,
}

impl Embedded {
    /// Opens the files and serves them on loopback ports.
    ///
    /// # Errors
    /// When a file cannot be opened or there is no port.
    pub async fn start(
        state: &StateDir,
        region: &str,
        account_id: &str,
        synchronous_full: bool,
        count_calls: bool,
    ) -> Result<Self, AwsError> {
        let meter = count_calls.then(Meter::default);
        let (tables_listener, tables_address) = loopback("dynamodb").await?;
        let (listener, address) = loopback("sqs and secrets manager").await?;
        let tables_url = format!("http://{tables_address}");
        let all = format!("http://{address}");
        let endpoints = Endpoints {
            // Nothing stands before the tables' own port that could count.
            dynamodb: if count_calls {
                all.clone()
            } else {
                tables_url.clone()
            },
            all,
        };
        let engine = open_queues(state, synchronous_full)?;
        let database = open_tables(state, synchronous_full)?;
        // The library serves a listener of its own: no guard can stand before its port.
        let tables = Server::start(|stopped| async move {
            let until = async move {
                stopped.await.ok();
            };
            if let Err(error) = dynoxide::server::serve_with_shutdown(tables_listener, database, until).await
            {
                tracing::error!(error, "dynamodb ended");
            }
        });
        let config = fifo_queue::http::HttpConfig {
            region: region.to_owned(),
            account_id: account_id.to_owned(),
            base_url: endpoints.all.clone(),
        };
        let queues = fifo_queue::http::router(engine.clone(), config);
        let router = Switch::new(region, account_id, tables_url).around(queues, meter.clone());
        let switch = Server::router("sqs and secrets manager", listener, router);
        Ok(Self {
            endpoints,
            engine,
            meter,
            switch,
            tables,
        })
    }

    /// Where they are.
    #[must_use]
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// The queue engine, for looking at.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The counts, if calls are counted.
    #[must_use]
    pub fn meter(&self) -> Option<&Meter> {
        self.meter.as_ref()
    }

    /// Stops them.
    pub async fn shutdown(self) {
        self.switch.shutdown().await;
        self.tables.shutdown().await;
    }
}

fn open_queues(state: &StateDir, synchronous_full: bool) -> Result<Engine, AwsError> {
    let path = state.queues_file();
    let options = fifo_queue::Options { synchronous_full };
    Engine::open(Some(&path), options, Arc::new(QueueClock(state.clock()))).map_err(|source| {
        AwsError::Queues {
            path: path.display().to_string(),
            told: engine_told(&source),
            source,
        }
    })
}

fn open_tables(state: &StateDir, synchronous_full: bool) -> Result<Database, AwsError> {
    let path = state.tables_file().display().to_string();
    let open = || {
        let database = Database::new(&path)?;
        if !synchronous_full {
            // Its way to `synchronous = NORMAL`: survives a killed process, not always a power cut.
            database.disable_bulk_loading()?;
        }
        Ok(database)
    };
    open().map_err(|source| AwsError::Tables {
        path: path.clone(),
        cure: table_cure(&source),
        source,
    })
}
