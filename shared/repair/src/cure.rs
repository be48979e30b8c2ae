//! What to do about a dead letter, by the code that it died with. Never does it.

/// What a person does next about a letter that died with that code.
#[must_use]
pub fn cure(code: &str) -> &'static str {
    match code {
        "handler_panicked" => {
            "the handler panicked at the place that the failure names: mend the bot, deploy it, then redrive"
        }
        "handler_timeout" => "the handler did not end in time: see what it waits for, then redrive",
        "handler_error" => "the handler failed: see the message, mend what it names, then redrive",
        "invalid_calls" => {
            "the bot asked for calls that cannot be made (too many, no JSON object, too long): mend the bot, then redrive"
        }
        "worker_died" => {
            "every worker that had it died: look at the function's memory and log at these times, then redrive"
        }
        "too_many_receives" => {
            "the queue handed it out a thousand times: see what held its chat up (a paused or failing function), then redrive"
        }
        "too_old" => {
            "its backend was away for too long: start the backend, see with `penstock status` that it is given updates, then redrive"
        }
        "state_conflict" => "the chat's state changed under every try: redrive when the chat is quiet",
        "store_away" => "the table or a queue did not answer: redrive when it does",
        "expired" => {
            "its answer would have come too late: nothing to do; discard it, or let it end by itself"
        }
        "unparseable" | "bad_update_id" | "malformed_body" => {
            "it is no update: whoever knows the webhook's secret posted it; save its body (`dead show KEY --raw`), put it right and post it anew if it matters, then discard it"
        }
        "too_large" | "refused_by_queue" => {
            "the queue would not take it: save its body (`dead show KEY --raw`), handle it by hand, then discard it"
        }
        "newer_schema" => {
            "a newer release wrote it: deploy that release again, post what its body holds anew, then discard it"
        }
        "no_intent" => "a send that no ledger knows: look whether the message arrived, then discard it",
        _ => {
            "a failure of the bot's own: mend what its code and message name, then redrive; if it cannot be mended, edit or discard it"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_cure_and_none_of_a_body_that_is_no_update_says_redrive() {
        for code in [
            "unparseable",
            "bad_update_id",
            "malformed_body",
            "too_large",
            "refused_by_queue",
            "newer_schema",
            "no_intent",
            "expired",
        ] {
            assert!(!cure(code).contains("redrive"), "{code}");
        }
        for code in ["handler_panicked", "too_many_receives", "out_of_stock"] {
            assert!(cure(code).contains("redrive"), "{code}");
        }
    }
}
