//! Makes simulated Telegram know what a sample speaks of: the query that is answered, the message whose button was
//! pressed. Real Telegram knows them, since it made them. Nothing reaches the bot from here: a second bot of the
//! simulation, which nobody listens to, is told instead.

use anyhow::anyhow;
use serde_json::{Value, json};
use telegram_sim::Sim;

use super::case::Case;

/// The second bot. Its id is above that of the simulated bot, which stays the first.
const STAND_IN: &str = "999999:PENSTOCK-stands-in-for-nobody-0000000";

/// The stage of a feeding; does nothing for a real Telegram.
pub(crate) struct Stage {
    sim: Option<Sim>,
}

impl Stage {
    pub(crate) fn new(sim: Option<&Sim>) -> Self {
        let stand_in = |sim: &Sim| {
            let id = sim.add_bot(STAND_IN, "penstock_stand_in_bot").ok()?;
            Some(sim.as_bot(id))
        };
        Self {
            sim: sim.and_then(stand_in),
        }
    }

    /// Sets the stage for one case.
    pub(crate) async fn set(&mut self, case: &Case) -> Result<(), anyhow::Error> {
        let Some(sim) = &self.sim else { return Ok(()) };
        let Some(query) = query(case) else { return Ok(()) };
        let shown = query
            .get("message")
            .filter(|message| message.get("from").is_some());
        let told = [
            shown.and_then(|message| sim.user_update("message", message)),
            sim.user_update(&case.kind, &query),
        ];
        // The stand-in confirms at once what it was told, so that nothing waits for it.
        if let Some(last) = told.into_iter().flatten().max() {
            let seen = sim
                .call("getUpdates", json!({ "offset": last + 1, "timeout": 0 }))
                .await;
            seen.map_err(|error| {
                anyhow!(
                    "simulated telegram cannot be told of sample {}: {error}",
                    case.name
                )
            })?;
        }
        Ok(())
    }
}

/// The query of a case that is one.
fn query(case: &Case) -> Option<Value> {
    if !case.kind.ends_with("_query") {
        return None;
    }
    let mut update: Value = serde_json::from_slice(&case.body).ok()?;
    update.get_mut(&case.kind).map(Value::take)
}

#[cfg(test)]
mod tests {
    use penstock_local::SIMULATED_TOKEN;
    use telegram_sim::SimOptions;

    use super::super::case::Source;
    use super::*;

    fn case(name: &str) -> Case {
        Case::all_of(&Source::BuiltIn)
            .unwrap()
            .into_iter()
            .find(|case| case.name == name)
            .unwrap()
    }

    #[tokio::test]
    async fn a_staged_query_can_be_answered_and_its_message_edited() {
        let sim = Sim::new(SimOptions::default());
        sim.add_bot(SIMULATED_TOKEN, "bot").unwrap();
        let mut stage = Stage::new(Some(&sim));
        for name in ["callback", "pre_checkout_query", "text"] {
            stage.set(&case(name)).await.unwrap();
        }
        assert_eq!(sim.pending_updates(), 0);
        let id = query(&case("pre_checkout_query")).unwrap()["id"].clone();
        let answer = json!({ "pre_checkout_query_id": id, "ok": true });
        assert_eq!(sim.call("answerPreCheckoutQuery", answer).await.unwrap(), true);
        let message = query(&case("callback")).unwrap()["message"].clone();
        let edit = json!({ "chat_id": message["chat"]["id"], "message_id": message["message_id"], "text": "pressed" });
        sim.call("editMessageText", edit).await.unwrap();
    }

    #[tokio::test]
    async fn without_a_simulation_there_is_nothing_to_set() {
        Stage::new(None).set(&case("callback")).await.unwrap();
    }
}
