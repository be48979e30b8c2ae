//! Counts as a table. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::aws::{CallCount, CallKey};

/// What this program itself does to look at its stack is no cost of an Update.
const NOT_COUNTED: &str = "tools";

/// A measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    /// Updates one by one.
    pub singles: Part,
    /// Updates in full batches.
    pub batches: Part,
    /// Receives in all that brought nothing. They are paid by the time that passes, not by Updates, so they are in
    /// neither part.
    pub idle_receives: u64,
}

/// Updates that came in batches of one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Messages in each batch.
    pub batch: u32,
    /// Updates.
    pub updates: u32,
    /// Calls of all of them, by who makes them.
    pub rows: Vec<CallRow>,
    /// All rows together.
    pub total: CallCount,
}

/// Calls of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRow {
    /// Who calls what.
    #[serde(flatten)]
    pub key: CallKey,
    /// How often, and for how much.
    #[serde(flatten)]
    pub count: CallCount,
}

pub(super) fn idle_receives(counted: &BTreeMap<CallKey, CallCount>) -> u64 {
    counted.values().map(|count| count.empty).sum()
}

impl Part {
    pub(super) fn new(batch: u32, updates: u32, counted: BTreeMap<CallKey, CallCount>) -> Self {
        let rows: Vec<CallRow> = counted
            .into_iter()
            .filter(|(key, _)| key.caller != NOT_COUNTED)
            .map(|(key, count)| CallRow {
                key,
                count: CallCount {
                    calls: count.calls - count.empty,
                    paid: count.paid - count.empty,
                    empty: 0,
                    ..count
                },
            })
            .filter(|row| row.count.calls > 0)
            .collect();
        let mut total = CallCount::default();
        rows.iter().for_each(|row| total.add(&row.count));
        Self {
            batch,
            updates,
            rows,
            total,
        }
    }

    /// A figure of the part for each Update.
    #[must_use]
    pub fn each(&self, figure: f64) -> f64 {
        figure / f64::from(self.updates.max(1))
    }

    /// As lines for people: every row and the total, per Update.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let line = |caller: &str, operation: &str, queue: &str, count: &CallCount| {
            let each = |figure: u64| self.each(f64::from(u32::try_from(figure).unwrap_or(u32::MAX)));
            format!(
                "{caller:<12}{operation:<30}{queue:<26}{:>7.2}{:>7.2}{:>7.2}{:>7.2}",
                each(count.calls),
                each(count.paid),
                self.each(count.write_units),
                self.each(count.read_units)
            )
        };
        let mut lines = vec![
            format!(
                "batches of {}, {} updates; each update costs",
                self.batch, self.updates
            ),
            format!(
                "{:<12}{:<30}{:<26}{:>7}{:>7}{:>7}{:>7}",
                "caller", "operation", "queue", "calls", "paid", "WRU", "RRU"
            ),
        ];
        lines.extend(
            self.rows
                .iter()
                .map(|row| line(&row.key.caller, &row.key.operation, &row.key.queue, &row.count)),
        );
        lines.push(line("total", "", "", &self.total));
        lines
    }
}

impl Calls {
    /// As lines for people.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.singles.lines();
        lines.push(String::new());
        lines.extend(self.batches.lines());
        lines.push(String::new());
        lines.push(format!(
            "{} receives brought nothing: paid by the time that passes, not by updates",
            self.idle_receives
        ));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted() -> BTreeMap<CallKey, CallCount> {
        let entry = |caller: &str, operation: &str, calls, empty, write_units| {
            let key = CallKey {
                caller: caller.to_owned(),
                operation: operation.to_owned(),
                queue: String::new(),
            };
            let count = CallCount {
                calls,
                paid: calls,
                empty,
                write_units,
                read_units: 0.0,
            };
            (key, count)
        };
        BTreeMap::from([
            entry("mapping", "ReceiveMessage", 7, 3, 0.0),
            entry("processor", "UpdateItem", 4, 0, 6.0),
            entry("mapping", "DeleteMessageBatch", 2, 2, 0.0),
            entry("tools", "GetItem", 9, 0, 0.0),
        ])
    }

    #[test]
    fn idle_polling_and_looking_are_no_cost_of_an_update() {
        let part = Part::new(1, 4, counted());
        let told: Vec<_> = part
            .rows
            .iter()
            .map(|row| (row.key.operation.as_str(), row.count.calls))
            .collect();
        assert_eq!(told, [("ReceiveMessage", 4), ("UpdateItem", 4)]);
        assert_eq!((part.total.calls, part.total.write_units), (8, 6.0));
        assert_eq!(idle_receives(&counted()), 5);
        let last = part.lines().pop().unwrap();
        assert!(
            last.starts_with("total") && last.contains("2.00   2.00   1.50"),
            "{last}"
        );
    }

    #[test]
    fn a_measurement_can_be_written_and_read_back() {
        let part = Part::new(1, 4, counted());
        let calls = Calls {
            singles: part.clone(),
            batches: part,
            idle_receives: 5,
        };
        let text = serde_json::to_string(&calls).unwrap();
        assert_eq!(serde_json::from_str::<Calls>(&text).unwrap(), calls);
    }
}
