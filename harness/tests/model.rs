//! A case with an agent that uses the scripted model, and the record of their exchange.

use acp_conformance::case::embedded;
use acp_conformance::edition::V1;
use acp_conformance::judge::judge;
use acp_conformance::run::{Subject, run_case};
use acp_conformance::trace::{ModelEvent, Trace, What};
use acp_conformance::verdict::Verdict;
use libtest_mimic::Trial;
use serde_json::Value;

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    trials![
        "model":
        an_agent_does_what_the_model_says_and_all_of_it_is_kept,
        a_route_that_nobody_knows_is_said,
    ]
}

/// A case that makes the agent say something in its third request.
const CASE: &str = "v1/agent/prompt/output-reported";

/// An agent that passes its prompt to the model, and the model's text to its client.
const AGENT: &str = r#"
    answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
    read -r line; answer 0 '{"protocolVersion":1}'
    read -r line; answer 1 '{"sessionId":"s"}'
    read -r line
    said=$(printf '%s' "$line" | sed 's/.*"text":"\(.*\)"}\].*/\1/')
    body='{"model":"m","messages":[{"role":"user","content":"'$said'"}]}'
    exec 3<>"/dev/tcp/127.0.0.1/${MODEL##*:}"
    printf 'POST /v1/%s HTTP/1.1\r\nHost: model\r\nConnection: close\r\nContent-Length: %s\r\n\r\n%s' "$ROUTE" "${#body}" "$body" >&3
    reply=$(cat <&3)
    text=$(printf '%s' "$reply" | tail -n 1 | sed 's/.*"content":"\([^"]*\)".*/\1/')
    printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$text"
    answer 2 '{"stopReason":"end_turn"}'
    while read -r line; do :; done
"#;

/// Runs the case with that agent, which requests this route, and returns the trace and the exchange that was kept.
fn play(route: &str) -> (Trace, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let (cases, _) = embedded(&V1);
    let case = cases.iter().find(|case| case.id == CASE).expect("the case");
    let here = std::env::current_dir().expect("a current directory");
    let mut subject = Subject::agent(["bash", "-c", AGENT].map(str::to_owned).to_vec(), here);
    let variables = [("MODEL", "{model}"), ("ROUTE", route)];
    subject.env.extend(variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
    subject.exchanges = Some(folder.path().to_owned());
    let trace = run_case(case, &subject);
    let kept = std::fs::read_to_string(folder.path().join("v1-agent-prompt-output-reported.model.ndjson"));
    (trace, serde_json::from_str(&kept.expect("the exchanges")).expect("one line of JSON"))
}

fn asked(trace: &Trace) -> Vec<&ModelEvent> {
    trace
        .events
        .iter()
        .filter_map(|event| if let What::Model(asked) = &event.what { Some(asked) } else { None })
        .collect()
}

fn an_agent_does_what_the_model_says_and_all_of_it_is_kept() {
    let (trace, exchange) = play("chat/completions");
    let events = asked(&trace);
    let [event] = events[..] else { panic!("{events:?}") };
    assert_eq!((event.api.as_deref(), event.did.as_str()), (Some("chat completions"), "say: said"));
    assert!(event.serves_intent());
    let judgement = judge(&trace, V1.edition());
    assert_eq!(judgement.verdict("prompt.output-reported"), Verdict::Pass);
    let said = exchange.pointer("/answer/choices/0/message/content").and_then(Value::as_str).expect("a text");
    let passed_on = trace.events.iter().any(|event| {
        matches!(&event.what, What::Line { bytes, .. } if String::from_utf8_lossy(bytes).contains(&format!(r#""text":"{said}""#)))
    });
    assert!(passed_on, "{said}");
}

fn a_route_that_nobody_knows_is_said() {
    let (trace, exchange) = play("engines/davinci");
    assert_eq!(asked(&trace).iter().map(|asked| asked.did.as_str()).collect::<Vec<_>>(), ["an unknown route"]);
    assert_eq!((&exchange["path"], &exchange["status"]), (&"/v1/engines/davinci".into(), &404.into()));
}
