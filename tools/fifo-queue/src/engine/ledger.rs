//! The one place that changes messages, groups and counts, so that the three always agree.
//!
//! INVARIANT: `groups.head_seq` is the group's lowest sequence, `groups.ready` says that this message is
//! visible, and a queue's counts are the numbers of its messages by state. They hold after every `flush`;
//! inside a call, group rows lag behind until then.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension as _, params};

/// A message that can be received, as far as its own time is concerned.
pub(super) const VISIBLE: i64 = 0;
/// A message that was received and is hidden until its visibility ends.
pub(super) const IN_FLIGHT: i64 = 1;
/// A message that was never received and is hidden until its delay ends.
pub(super) const DELAYED: i64 = 2;

/// How a message finds its group.
pub(super) enum GroupKey<'a> {
    /// FIFO: all messages of this name are one group.
    Shared(&'a str),
    /// Standard: the message stands alone; the label is only given back.
    Alone(Option<&'a str>),
}

/// Where a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) group_id: i64,
    pub(super) seq: i64,
    pub(super) state: i64,
}

/// Changes to one queue within one transaction.
pub(super) struct Ledger<'c> {
    conn: &'c Connection,
    queue_id: i64,
    /// By state.
    counts: [i64; 3],
    groups_in_flight: i64,
    /// Groups to look at again, with the change of their messages in flight.
    touched: BTreeMap<i64, i64>,
}

impl<'c> Ledger<'c> {
    pub(super) fn new(conn: &'c Connection, queue_id: i64) -> Self {
        Self {
            conn,
            queue_id,
            counts: [0; 3],
            groups_in_flight: 0,
            touched: BTreeMap::new(),
        }
    }

    fn count(&mut self, group_id: i64, state: i64, change: i64) {
        if let Some(count) = usize::try_from(state)
            .ok()
            .and_then(|state| self.counts.get_mut(state))
        {
            *count += change;
        }
        *self.touched.entry(group_id).or_default() += if state == IN_FLIGHT { change } else { 0 };
    }

    /// Puts the stored payload `seq` at the end of its group, visible from `visible_at`.
    pub(super) fn append(
        &mut self,
        key: &GroupKey<'_>,
        seq: i64,
        sent_ms: i64,
        visible_at: i64,
    ) -> rusqlite::Result<()> {
        let state = if visible_at > sent_ms { DELAYED } else { VISIBLE };
        let group_id = match self.find_group(key)? {
            Some(group_id) => group_id,
            None => {
                let (shared, label) = match key {
                    GroupKey::Shared(key) => (Some(*key), None),
                    GroupKey::Alone(label) => (None, *label),
                };
                // The first message's sequence serves as the group's id: never used twice.
                self.conn
                    .prepare_cached(
                        "INSERT INTO groups (id, queue_id, key, label, head_seq, ready)
                         VALUES (?1, ?2, ?3, ?4, ?1, ?5)",
                    )?
                    .execute(params![seq, self.queue_id, shared, label, state == VISIBLE])?;
                seq
            }
        };
        self.conn
            .prepare_cached(
                "INSERT INTO messages (group_id, seq, queue_id, state, visible_at, sent_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![group_id, seq, self.queue_id, state, visible_at, sent_ms])?;
        // The new message is last, so a group that was there stays as it is.
        self.counts[if state == VISIBLE { 0 } else { 2 }] += 1;
        Ok(())
    }

    fn find_group(&self, key: &GroupKey<'_>) -> rusqlite::Result<Option<i64>> {
        match key {
            GroupKey::Alone(_) => Ok(None),
            GroupKey::Shared(key) => self
                .conn
                .prepare_cached("SELECT id FROM groups WHERE queue_id = ?1 AND key = ?2")?
                .query_row(params![self.queue_id, key], |row| row.get(0))
                .optional(),
        }
    }

    /// Records that `place` went over to `state`; the message row itself is written by the caller.
    pub(super) fn restate(&mut self, place: Place, state: i64) {
        self.count(place.group_id, place.state, -1);
        self.count(place.group_id, state, 1);
    }

    /// Takes the message out of the queue; its payload stays.
    pub(super) fn take(&mut self, place: Place) -> rusqlite::Result<()> {
        self.conn
            .prepare_cached("DELETE FROM messages WHERE group_id = ?1 AND seq = ?2")?
            .execute(params![place.group_id, place.seq])?;
        self.count(place.group_id, place.state, -1);
        Ok(())
    }

    /// Deletes the message and its payload.
    pub(super) fn delete(&mut self, place: Place) -> rusqlite::Result<()> {
        self.take(place)?;
        self.conn
            .prepare_cached("DELETE FROM payloads WHERE seq = ?1")?
            .execute([place.seq])?;
        Ok(())
    }

    /// Brings groups and counts up to date. Must be the last thing before the transaction ends.
    pub(super) fn flush(&mut self) -> rusqlite::Result<()> {
        for (group_id, in_flight) in std::mem::take(&mut self.touched) {
            self.refresh(group_id, in_flight)?;
        }
        let [visible, in_flight, delayed] = std::mem::take(&mut self.counts);
        let groups_in_flight = std::mem::take(&mut self.groups_in_flight);
        if [visible, in_flight, delayed, groups_in_flight] == [0; 4] {
            return Ok(());
        }
        self.conn
            .prepare_cached(
                "UPDATE queues SET visible = visible + ?2, in_flight = in_flight + ?3,
                     delayed = delayed + ?4, groups_in_flight = groups_in_flight + ?5 WHERE id = ?1",
            )?
            .execute(params![
                self.queue_id,
                visible,
                in_flight,
                delayed,
                groups_in_flight
            ])?;
        Ok(())
    }

    fn refresh(&mut self, group_id: i64, in_flight_change: i64) -> rusqlite::Result<()> {
        let (old_head, old_ready, old_in_flight): (i64, bool, i64) = self
            .conn
            .prepare_cached("SELECT head_seq, ready, in_flight FROM groups WHERE id = ?1")?
            .query_row([group_id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let in_flight = old_in_flight + in_flight_change;
        self.groups_in_flight += i64::from(in_flight > 0) - i64::from(old_in_flight > 0);
        let first: Option<(i64, i64)> = self
            .conn
            .prepare_cached("SELECT seq, state FROM messages WHERE group_id = ?1 ORDER BY seq LIMIT 1")?
            .query_row([group_id], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((head, state)) = first else {
            self.conn
                .prepare_cached("DELETE FROM groups WHERE id = ?1")?
                .execute([group_id])?;
            return Ok(());
        };
        let ready = state == VISIBLE;
        if (head, ready, in_flight) != (old_head, old_ready, old_in_flight) {
            self.conn
                .prepare_cached("UPDATE groups SET head_seq = ?2, ready = ?3, in_flight = ?4 WHERE id = ?1")?
                .execute(params![group_id, head, ready, in_flight])?;
        }
        Ok(())
    }
}
