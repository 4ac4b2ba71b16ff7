//! The contracts: the committed JSON Schemas of traces and reports are generated from the types, and the real output of
//! the program fits them. `diagnostics` checks those of the files that people write.

use std::time::Duration;

use acp_conformance::case::embedded;
use acp_conformance::compare;
use acp_conformance::edition::V1;
use acp_conformance::expected::{Comparison, Date, Expectation};
use acp_conformance::registry;
use acp_conformance::report::events;
use acp_conformance::requirement::Party;
use acp_conformance::results::{self, Collector};
use acp_conformance::run::{Subject, run_case};
use acp_conformance::trace::{self, Trace};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use super::root;
use crate::kept::kept;

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    trials![
        "tidy/schemas":
        the_committed_schemas_are_those_of_the_types,
        what_is_really_written_fits_the_schemas,
        a_comparison_fits_its_schema,
        the_schemas_refuse_what_is_something_else,
    ]
}

fn the_committed_schemas_are_those_of_the_types() {
    let schemas = [
        ("diff", compare::schema()),
        ("events", events::schema()),
        ("registry", registry::schema()),
        ("registry-lock", registry::lock_schema()),
        ("report", results::schema()),
        ("trace", trace::file_schema()),
    ];
    for (name, schema) in schemas {
        let path = root().join(format!("schemas/{name}.schema.json"));
        let wanted = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
        kept(&path, &wanted).unwrap_or_else(|problem| panic!("{problem}"));
    }
}

fn what_is_really_written_fits_the_schemas() {
    let trace = play();
    let mut file = Vec::new();
    trace.write(&mut file).expect("a trace can be written");
    let text = String::from_utf8(file).expect("a trace is UTF-8");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    for kind in ["format", "line", "base64", "end", "stderr", "process", "step"] {
        assert!(lines.iter().any(|line| line.get(kind).is_some()), "the trace has no `{kind}`:\n{text}");
    }
    lines.iter().for_each(|line| fits("trace", line));

    let mut collector = Collector::new(V1.edition(), Party::Agent, trace.header.command.clone());
    collector.add(&trace, Some("handshake.jsonl"));
    let mut report = collector.finish(Duration::from_millis(4), true);
    let expected = ["jsonrpc.version-member.agent", "cancel.stop-reason"].map(|id| Expectation::new(id, "known"));
    let comparison =
        Comparison { report: &report, whole: false, today: Date::constant(1970, 1, 1), catalogue: V1.catalogue() };
    report.expected = Some(comparison.apply(&expected));
    let report = serde_json::to_value(report).expect("a report is JSON");
    assert!(report["expected"]["new"].as_array().is_some_and(|new| !new.is_empty()));
    assert_eq!(report["verdict"], "not-conformant");
    assert!(report["requirements"].as_array().is_some_and(|all| all.iter().any(|one| one["findings"] != json!([]))));
    fits("report", &report);
}

fn a_comparison_fits_its_schema() {
    let said = super::read("snapshots/regressions/json.snap");
    let json = said.find('{').map_or("", |at| &said[at..]);
    let report: Value = serde_json::from_str(json).expect("a comparison is JSON");
    for part in ["requirements", "cases", "capabilities", "messages"] {
        assert!(report[part].as_array().is_some_and(|list| !list.is_empty()), "nothing is said of {part}");
    }
    fits("diff", &report);
}

fn the_schemas_refuse_what_is_something_else() {
    for (name, wrong) in
        [("trace", json!({ "n": 0 })), ("trace", json!({ "n": 0, "us": 1, "from": "server" })), ("report", json!({}))]
    {
        assert!(!validator(name).is_valid(&wrong), "{name}: {wrong}");
    }
}

/// Runs a handshake with an agent that makes many mistakes, so that the trace contains as many kinds of events as
/// possible.
fn play() -> Trace {
    let agent = r#"read hello; echo 'starting' >&2; printf '\377\n'
        printf '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"shell"}}}\r\n'
        read fence; printf '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}\n'
        read end; printf 'bye'; exit 3"#;
    let (cases, _) = embedded(&V1);
    let case = cases.iter().find(|case| case.id == "v1/agent/init/handshake").expect("the case is embedded");
    let here = std::env::current_dir().expect("a current directory");
    run_case(case, &Subject::agent(["sh", "-c", agent].map(str::to_owned).to_vec(), here))
}

fn validator(name: &str) -> jsonschema::Validator {
    let text = super::read(&format!("schemas/{name}.schema.json"));
    let schema: Value = serde_json::from_str(&text).expect("a schema is JSON");
    jsonschema::validator_for(&schema).expect("a sound schema")
}

fn fits(name: &str, value: &Value) {
    let problems: Vec<_> =
        validator(name).iter_errors(value).map(|problem| format!("{}: {problem}", problem.instance_path())).collect();
    assert!(problems.is_empty(), "{value}\n{problems:#?}");
}
