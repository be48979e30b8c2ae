//! Tests of the template reader on a small template with every supported construct.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Account, Resources, Template, TemplateError};

const SMALL: &str = r#"
Transform: AWS::Serverless-2016-10-31
Parameters:
  Limit: {Type: Number, Default: 5, MinValue: 2}
  Mode: {Type: String, Default: plain, AllowedValues: [plain, fancy]}
Conditions:
  Fancy: !Equals [!Ref Mode, fancy]
Mappings:
  Sizes: {plain: {Memory: 256}, fancy: {Memory: 512}}
Globals:
  Function:
    Timeout: 20
    MemorySize: !FindInMap [Sizes, !Ref Mode, Memory]
    Environment: {Variables: {STACK: !Ref AWS::StackName}}
Resources:
  Work:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: !Sub '${AWS::StackName}-work.fifo'
      FifoQueue: true
      VisibilityTimeout: 120
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 1000}
      KmsMasterKeyId: !If [Fancy, alias/x, !Ref AWS::NoValue]
  Dead:
    Type: AWS::SQS::Queue
    Properties: {QueueName: !Join ['-', [!Ref AWS::StackName, dead.fifo]], FifoQueue: true}
  Items:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Ref AWS::StackName
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}]
      TimeToLiveSpecification: {AttributeName: expires_at, Enabled: true}
  Extra:
    Type: AWS::SQS::Queue
    Condition: Fancy
  Role:
    Type: AWS::IAM::Role
    Properties: {Anything: !ImportValue somewhere}
  Worker:
    Type: AWS::Serverless::Function
    Metadata: {BuildMethod: rust-cargolambda, BuildProperties: {Binary: worker}}
    Properties:
      FunctionName: !Sub '${AWS::StackName}-worker'
      Role: !GetAtt Role.Arn
      Environment: {Variables: {QUEUE_URL: !Ref Work, TABLE: !Ref Items, LIMIT: !Ref Limit}}
      Events:
        Work:
          Type: SQS
          Properties:
            Queue: !GetAtt Work.Arn
            BatchSize: 10
            FunctionResponseTypes: [ReportBatchItemFailures]
            ScalingConfig: {MaximumConcurrency: !Ref Limit}
        Web: {Type: HttpApi, Properties: {Path: '/{proxy+}', Method: any}}
"#;

fn resolve(text: &str, parameters: &[(&str, &str)]) -> Result<Resources, TemplateError> {
    let parameters: BTreeMap<String, String> = parameters
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Template::parse(text)?.resolve(&Account::local("drill", "http://127.0.0.1:9"), &parameters)
}

#[test]
fn queues_carry_every_attribute_and_dead_letter_queues_come_first() {
    let resources = resolve(SMALL, &[]).unwrap();
    let names: Vec<&str> = resources.queues.iter().map(|queue| queue.name.as_str()).collect();
    assert_eq!(names, ["drill-dead.fifo", "drill-work.fifo"]);
    let work = &resources.queues[1].attributes;
    assert_eq!(work["VisibilityTimeout"], "120");
    assert_eq!(work["FifoQueue"], "true");
    let redrive: serde_json::Value = serde_json::from_str(&work["RedrivePolicy"]).unwrap();
    assert_eq!(
        redrive["deadLetterTargetArn"],
        "arn:aws:sqs:us-east-1:000000000000:drill-dead.fifo"
    );
    assert_eq!(redrive["maxReceiveCount"], 1000);
    assert!(!work.contains_key("KmsMasterKeyId"));
}

#[test]
fn functions_take_globals_environment_and_events() {
    let resources = resolve(SMALL, &[("Limit", "7")]).unwrap();
    let worker = &resources.functions[0];
    assert_eq!(
        (worker.name.as_str(), worker.binary.as_str()),
        ("drill-worker", "worker")
    );
    assert_eq!((worker.timeout, worker.memory_mb), (Duration::from_secs(20), 256));
    assert_eq!(
        worker.environment["QUEUE_URL"],
        "http://127.0.0.1:9/000000000000/drill-work.fifo"
    );
    assert_eq!(worker.environment["STACK"], "drill");
    assert_eq!(worker.environment["LIMIT"], "7");
    let source = &worker.queue_sources[0];
    assert_eq!((source.batch_size, source.max_concurrency), (10, Some(7)));
    assert!(source.report_batch_item_failures && source.enabled);
    assert_eq!(source.queue_name(), "drill-work.fifo");
    assert_eq!(worker.routes[0].method, "ANY");
}

#[test]
fn conditions_and_mappings_follow_parameters() {
    let resources = resolve(SMALL, &[("Mode", "fancy")]).unwrap();
    assert_eq!(resources.queues.len(), 3);
    assert_eq!(resources.functions[0].memory_mb, 512);
    let work = resources
        .queues
        .iter()
        .find(|queue| queue.logical_id == "Work")
        .unwrap();
    assert_eq!(work.attributes["KmsMasterKeyId"], "alias/x");
}

#[test]
fn tables_carry_keys_and_time_to_live() {
    let resources = resolve(SMALL, &[]).unwrap();
    let table = &resources.tables[0];
    assert_eq!((table.name.as_str(), table.key.hash.as_str()), ("drill", "pk"));
    assert_eq!(table.ttl_attribute.as_deref(), Some("expires_at"));
}

#[track_caller]
fn refused(text: &str, parameters: &[(&str, &str)], needle: &str) {
    let message = resolve(text, parameters).unwrap_err().to_string();
    assert!(
        message.contains(needle),
        "{message:?} does not contain {needle:?}"
    );
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    refused(SMALL, &[("Mode", "odd")], "plain, fancy");
    refused(SMALL, &[("Limit", "1")], "below MinValue");
    refused(SMALL, &[("Limti", "3")], "no such parameter; it has Limit, Mode");
    refused(&SMALL.replace("!Ref Items", "!Ref Itmes"), &[], "Itmes");
    refused(
        &SMALL.replace("!Ref Items", "!ImportValue x"),
        &[],
        "function ImportValue",
    );
    refused(
        &SMALL.replace("TABLE: !Ref Items", "TABLE: !GetAtt Role.Arn"),
        &[],
        "Role.Arn (AWS::IAM::Role)",
    );
    refused(
        &SMALL.replace("VisibilityTimeout", "VisibilityTimeuot"),
        &[],
        "queue property VisibilityTimeuot",
    );
    refused(
        &SMALL.replace("Type: SQS", "Type: Kinesis"),
        &[],
        "event type \"Kinesis\"",
    );
    refused(
        &SMALL.replace("BatchSize: 10", "BatchSize: 11"),
        &[],
        "BatchSize of 1 to 10",
    );
}

#[test]
fn a_circle_of_references_is_an_error_not_a_hang() {
    let text = "
Resources:
  A: {Type: AWS::SQS::Queue, Properties: {QueueName: !GetAtt B.QueueName}}
  B: {Type: AWS::SQS::Queue, Properties: {QueueName: !GetAtt A.QueueName}}
";
    refused(text, &[], "circle");
}

#[test]
fn substitution_knows_its_own_variables_attributes_and_literals() {
    let text = "
Resources:
  A:
    Type: AWS::SQS::Queue
    Properties: {QueueName: !Sub ['${Own}-${AWS::Region}-${!raw}-${B.QueueName}', {Own: mine}]}
  B: {Type: AWS::SQS::Queue, Properties: {QueueName: b}}
";
    let resources = resolve(text, &[]).unwrap();
    assert_eq!(resources.queues[0].name, "mine-us-east-1-${raw}-b");
}

#[test]
fn the_template_of_this_project_has_the_pipeline_and_its_settings() {
    let account = Account::local("penstock", "http://127.0.0.1:9");
    let resources = Template::embedded()
        .unwrap()
        .resolve(&account, &BTreeMap::new())
        .unwrap();
    let queues: Vec<&str> = resources
        .queues
        .iter()
        .map(|queue| queue.logical_id.as_str())
        .collect();
    for name in ["Updates", "Outbound", "Bulk"] {
        assert!(queues.contains(&format!("{name}Queue").as_str()), "{queues:?}");
        assert!(
            queues.contains(&format!("{name}DeadLetterQueue").as_str()),
            "{queues:?}"
        );
    }
    let functions: BTreeMap<&str, &super::Function> = resources
        .functions
        .iter()
        .map(|function| (function.binary.as_str(), function))
        .collect();
    let has = |binary: &str, variables: &[&str]| {
        for variable in variables {
            assert!(
                functions[binary].environment.contains_key(*variable),
                "{binary} lacks {variable}"
            );
        }
    };
    let all = ["BOT_SECRET_PREFIX", "AWS_LAMBDA_LOG_LEVEL"];
    for binary in ["ingress", "processor", "sender", "dead_letter"] {
        has(binary, &all);
    }
    has("ingress", &["UPDATES_QUEUE_URL", "UPDATES_DLQ_URL"]);
    has(
        "processor",
        &[
            "TABLE_NAME",
            "UPDATES_QUEUE_URL",
            "OUTBOUND_QUEUE_URL",
            "DEDUP_WINDOW_DAYS",
        ],
    );
    has("sender", &["TABLE_NAME", "BULK_QUEUE_URL", "TELEGRAM_API_ROOT"]);
    has(
        "dead_letter",
        &[
            "TABLE_NAME",
            "OUTBOUND_DLQ_URL",
            "BULK_DLQ_URL",
            "DEAD_RETENTION_DAYS",
        ],
    );
    assert_eq!(functions["ingress"].routes.len(), 1);
    assert_eq!(functions["sender"].queue_sources.len(), 2);
    assert_eq!(functions["dead_letter"].queue_sources.len(), 3);
    assert!(
        resources
            .functions
            .iter()
            .flat_map(|function| &function.queue_sources)
            .all(|source| source.report_batch_item_failures && source.max_concurrency == Some(5))
    );
    assert_eq!(resources.tables[0].indexes[0].name, "attn");
}
