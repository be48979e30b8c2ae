//! The template, as far as the pipeline's promises rest on it.

use std::collections::BTreeMap;

use penstock_local::template::{Account, Template};
use serde_yaml_ng::Value;

use crate::repository::root;

fn resources() -> BTreeMap<String, Value> {
    let text = std::fs::read_to_string(root().join("template.yaml")).unwrap();
    let template: Value = serde_yaml_ng::from_str(&text).unwrap();
    let resources = template.get("Resources").unwrap().as_mapping().unwrap();
    resources
        .iter()
        .map(|(name, resource)| (name.as_str().unwrap().to_owned(), resource.clone()))
        .collect()
}

fn of_type(kind: &str) -> Vec<(String, Value)> {
    let found: Vec<_> = resources()
        .into_iter()
        .filter(|(_, resource)| resource.get("Type").and_then(Value::as_str) == Some(kind))
        .map(|(name, resource)| (name, resource.get("Properties").cloned().unwrap()))
        .collect();
    assert!(!found.is_empty(), "there is no {kind}");
    found
}

fn account() -> Account {
    Account::local("penstock", "http://127.0.0.1:1")
}

/// Without it Lambda ignores the partial response and deletes what failed.
#[test]
fn every_queue_source_reports_batch_item_failures() {
    let mut sources = 0;
    for (function, properties) in of_type("AWS::Serverless::Function") {
        for (name, event) in properties.get("Events").unwrap().as_mapping().unwrap() {
            if event.get("Type").and_then(Value::as_str) != Some("SQS") {
                continue;
            }
            sources += 1;
            let properties = event.get("Properties").unwrap();
            let types = properties.get("FunctionResponseTypes").unwrap();
            assert_eq!(
                types[0].as_str(),
                Some("ReportBatchItemFailures"),
                "{function} {name:?}"
            );
            assert_eq!(
                properties.get("BatchSize").and_then(Value::as_u64),
                Some(10),
                "{function} {name:?}"
            );
        }
    }
    assert_eq!(sources, 6);
}

#[test]
fn a_queue_hides_a_message_six_times_as_long_as_its_function_may_run_and_gives_it_up_late() {
    let template = Template::embedded()
        .unwrap()
        .resolve(&account(), &BTreeMap::new())
        .unwrap();
    let longest = template
        .functions
        .iter()
        .map(|function| function.timeout.as_secs())
        .max()
        .unwrap();
    for (name, queue) in of_type("AWS::SQS::Queue") {
        assert_eq!(
            queue.get("FifoQueue").and_then(Value::as_bool),
            Some(true),
            "{name}"
        );
        assert_eq!(
            queue.get("DeduplicationScope").and_then(Value::as_str),
            Some("messageGroup"),
            "{name}"
        );
        let hidden = queue.get("VisibilityTimeout").and_then(Value::as_u64).unwrap();
        assert!(
            hidden >= 6 * longest,
            "{name} hides for {hidden} s, a function runs {longest} s"
        );
        assert_eq!(
            queue.get("MessageRetentionPeriod").and_then(Value::as_u64),
            Some(14 * 86_400),
            "{name}"
        );
        if name.contains("DeadLetter") {
            continue;
        }
        let receives = queue
            .get("RedrivePolicy")
            .and_then(|policy| policy.get("maxReceiveCount"));
        assert_eq!(
            receives.and_then(Value::as_u64),
            Some(1000),
            "{name}: waits by visibility are receives too"
        );
    }
}

#[test]
fn no_role_may_do_everything_to_anything() {
    for (name, properties) in of_type("AWS::IAM::Role") {
        for policy in properties.get("Policies").and_then(Value::as_sequence).unwrap() {
            for statement in policy
                .get("PolicyDocument")
                .unwrap()
                .get("Statement")
                .unwrap()
                .as_sequence()
                .unwrap()
            {
                let text = serde_yaml_ng::to_string(statement.get("Action").unwrap()).unwrap();
                assert!(!text.contains('*'), "{name} allows {text}");
                let resource = statement.get("Resource").unwrap();
                assert_ne!(
                    resource.as_str(),
                    Some("*"),
                    "{name} may act on everything: {text}"
                );
            }
        }
    }
}

#[test]
fn only_ingress_and_sender_may_read_the_bots_secrets() {
    for (name, properties) in of_type("AWS::IAM::Role") {
        let text = serde_yaml_ng::to_string(&properties).unwrap();
        let reads = text.contains("secretsmanager:GetSecretValue");
        assert_eq!(
            reads,
            name.starts_with("Ingress") || name.starts_with("Sender"),
            "{name}"
        );
    }
}

/// What the local stack makes of the template is what stands in it.
#[test]
fn the_local_stack_reads_the_whole_template() {
    let read = Template::embedded()
        .unwrap()
        .resolve(&account(), &BTreeMap::new())
        .unwrap();
    assert_eq!(
        (read.queues.len(), read.tables.len(), read.functions.len()),
        (6, 1, 4)
    );
    let sources: usize = read
        .functions
        .iter()
        .map(|function| function.queue_sources.len())
        .sum();
    assert_eq!(sources, 6);
}

/// No table, no other queue's messages: whatever an ingress does, it can do no more than enqueue.
#[test]
fn the_ingress_may_only_read_secrets_and_send() {
    let roles = of_type("AWS::IAM::Role");
    let (_, role) = roles
        .iter()
        .find(|(name, _)| name.starts_with("Ingress"))
        .unwrap();
    let text = serde_yaml_ng::to_string(role.get("Policies").unwrap()).unwrap();
    let words = text
        .split_whitespace()
        .map(|word| word.trim_matches(['[', ']', ',', '"', '\'', '-']));
    let services = ["sqs:", "dynamodb:", "secretsmanager:", "lambda:", "s3:", "kms:"];
    let mut allowed: Vec<_> = words
        .filter(|word| services.iter().any(|service| word.starts_with(service)))
        .collect();
    allowed.sort_unstable();
    allowed.dedup();
    assert_eq!(allowed, ["secretsmanager:GetSecretValue", "sqs:SendMessage"]);
}

/// A value that the template lets through must not stop every function from starting.
#[test]
fn what_the_template_allows_the_functions_accept() {
    let text = std::fs::read_to_string(root().join("template.yaml")).unwrap();
    let template: Value = serde_yaml_ng::from_str(&text).unwrap();
    for (parameter, variable) in [
        ("DedupWindowDays", "DEDUP_WINDOW_DAYS"),
        ("DeadRetentionDays", "DEAD_RETENTION_DAYS"),
    ] {
        let parameter = template.get("Parameters").unwrap().get(parameter).unwrap();
        for bound in ["MinValue", "MaxValue"] {
            let days = parameter.get(bound).and_then(Value::as_u64).unwrap();
            let lookup = |name: &str| (name == variable).then(|| days.to_string());
            let mut settings = penstock_aws::Settings::new(&lookup);
            settings.retention();
            assert_eq!(settings.finish(()), Ok(()), "{variable} = {days}");
        }
    }
}
