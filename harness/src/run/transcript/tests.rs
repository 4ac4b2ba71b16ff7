//! Cases that run against a list of messages instead of a process.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::run;
use crate::case::load_text;
use crate::case::model::{Case, WireSetup};
use crate::edition::V1;
use crate::requirement::Party;
use crate::run::Subject;
use crate::run::case::RunningCase;
use crate::run::channel::{Channel, ConnectionState, Message, Order, State};
use crate::run::environment::{CaseEnv, Sandbox, Start, bindings};
use crate::run::recorder::Recorder;
use crate::run::step::act::end_with_fence;
use crate::run::tester::Writing;
use crate::run::timing::AT_REST;
use crate::trace::{Difference, Exit, Observed, Outcome, StepEvent, SubjectEnd, What};
use crate::wire::LineEnd;

/// The behaviour after the last line of the list.
enum Then {
    /// The agent sends nothing more.
    Silence,
    /// It exits with this code.
    Exit(i32),
}

/// An agent that answers the first lines with these messages, each with the id of its line.
struct Scripted {
    state: State,
    writing: Writing,
    answers: VecDeque<Value>,
    then: Then,
    coming: Vec<Message>,
    /// The longest time that the case would have waited without success.
    waited: Duration,
}

impl Scripted {
    fn new(answers: &[Value], then: Then) -> Self {
        let mut state = State::new(Party::Agent, Recorder::start());
        state.connections.push(ConnectionState::default());
        let writing = Writing::new(V1.edition(), Party::Client, WireSetup::default());
        Self {
            state,
            writing,
            answers: answers.iter().cloned().collect(),
            then,
            coming: Vec::new(),
            waited: Duration::ZERO,
        }
    }
}

impl Channel for Scripted {
    fn send(&mut self, order: Order) -> Option<Vec<usize>> {
        let lines = match order {
            Order::Lines { lines, .. } => lines,
            Order::Fence { line, .. } => vec![line],
            _ => return None,
        };
        let mut events = Vec::new();
        for line in lines {
            let sent: Value = serde_json::from_slice(&line.bytes).expect("the case sends JSON");
            let line =
                What::Line { from: Party::Client, bytes: line.bytes, end: LineEnd::Lf, deliberate: line.deliberate };
            events.push(self.record(line));
            if let Some(mut value) = self.answers.pop_front() {
                // A request of the agent keeps its own id.
                if value.get("method").is_none() {
                    value["id"] = sent["id"].clone();
                }
                let bytes = value.to_string().into_bytes();
                let n = self.record(What::Line { from: Party::Agent, bytes, end: LineEnd::Lf, deliberate: false });
                self.coming.push(Message { n, connection: 0, value });
            }
        }
        Some(events)
    }

    async fn next(&mut self, deadline: Instant) -> Option<Vec<Message>> {
        if self.coming.is_empty() {
            self.waited = self.waited.max(deadline.saturating_duration_since(Instant::now()));
        }
        if self.coming.is_empty()
            && let Then::Exit(code) = self.then
        {
            (self.state.over, self.state.exit) = (true, Some(Exit::Code(code)));
            self.state.connections[0].ended = true;
        }
        (!self.coming.is_empty()).then(|| std::mem::take(&mut self.coming))
    }

    fn record(&mut self, what: What) -> usize {
        self.state.recorder.record(what)
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn writing(&mut self) -> &mut Writing {
        &mut self.writing
    }
}

const INITIALIZE: &str =
    "client: { id: init, method: initialize, params: { protocolVersion: 1, clientCapabilities: {} } }";

/// Builds a case with these lines above its transcript, and these steps.
fn case(above: &str, steps: &[&str]) -> Case {
    let steps: String = steps.iter().map(|step| format!("  - {step}\n")).collect();
    let text = format!("title: A case\nsubject: agent\nrequirements: [init.respond]\n{above}\ntranscript:\n{steps}");
    let (mut cases, problems) = load_text("cases/v1/agent/x.yaml", &text, &V1);
    cases.pop().unwrap_or_else(|| panic!("{problems:?}"))
}

/// Plays a case with an answer to `initialize` and a fence, and returns the recorded steps.
async fn steps(agent: Scripted) -> Vec<StepEvent> {
    let answer = "agent: { id: init, result: { protocolVersion: 1 }, decides: init.respond }";
    steps_of(&case("", &[INITIALIZE, answer, "fence: {}"]), agent).await
}

async fn steps_of(case: &Case, mut agent: Scripted) -> Vec<StepEvent> {
    play(case, &mut agent).await;
    let events = agent.state.recorder.finish().into_iter();
    events.filter_map(|event| if let What::Step(step) = event.what { Some(step) } else { None }).collect()
}

async fn play(case: &Case, agent: &mut Scripted) {
    let subject = Subject::agent(vec!["agent".to_owned()], ".".into());
    let sandbox = Sandbox::make().expect("folders");
    let names = bindings(case, &subject, &sandbox);
    let places = subject.places(case, &sandbox, None, None).expect("no folder to make");
    let launch = subject.launch(case, &sandbox, &places, &names).expect("an agent needs no settings");
    let start = Start::new(launch, &subject, &places).expect("no address");
    let env = CaseEnv { sandbox, places, start };
    run(&mut RunningCase::new(case, &subject, &env, agent, names)).await;
}

fn initialized(version: u64) -> Value {
    json!({ "jsonrpc": "2.0", "result": { "protocolVersion": version, "agentCapabilities": {} } })
}

#[tokio::test]
async fn expected_answers_are_done() {
    let refused = json!({ "jsonrpc": "2.0", "error": { "code": -32601, "message": "unknown" } });
    let steps = steps(Scripted::new(&[initialized(1), refused], Then::Silence)).await;
    let [answer, fence] = steps.as_slice() else { panic!("{steps:?}") };
    assert_eq!((answer.outcome, answer.events.as_slice()), (Outcome::Done, &[1, 0][..]));
    assert_eq!(answer.decides, ["init.respond"]);
    assert_eq!((fence.outcome, &fence.observed), (Outcome::Done, &None));
}

#[tokio::test]
async fn different_answer_is_recorded_with_the_place_of_the_difference() {
    let steps = steps(Scripted::new(&[initialized(7)], Then::Silence)).await;
    let [answer] = steps.as_slice() else { panic!("{steps:?}") };
    let (pointer, expected, actual) = ("/protocolVersion".to_owned(), "1".to_owned(), "7".to_owned());
    assert_eq!(answer.outcome, Outcome::Contradicted);
    assert_eq!(answer.observed, Some(Observed::Mismatch(Difference { pointer, expected, actual })));
}

#[tokio::test]
async fn silence_is_recorded_with_the_limit() {
    let steps = steps(Scripted::new(&[], Then::Silence)).await;
    let [answer] = steps.as_slice() else { panic!("{steps:?}") };
    assert_eq!(answer.outcome, Outcome::TimedOut);
    let start = Subject::agent(Vec::new(), ".".into()).limits.start;
    let after_ms = u64::try_from(start.as_millis()).expect("a short time");
    assert_eq!(
        answer.observed,
        Some(Observed::TimedOut { after_ms, connected: true, by_person: false, differing: None })
    );
}

#[tokio::test]
async fn an_exit_is_recorded_with_its_code_and_blames_no_party() {
    let steps = steps(Scripted::new(&[], Then::Exit(3))).await;
    let [answer] = steps.as_slice() else { panic!("{steps:?}") };
    assert_eq!(answer.outcome, Outcome::Ended);
    let end = SubjectEnd { exit: Some(Exit::Code(3)), connected: true, ..SubjectEnd::default() };
    assert_eq!(answer.observed, Some(Observed::Ended(end)));
}

#[tokio::test]
async fn wrong_value_of_the_agent_in_a_line_of_the_tester_is_no_fault_of_the_harness() {
    let repeats = [
        "client: { id: open, method: session/new, params: { cwd: /tmp, mcpServers: [] } }",
        "agent: { id: open, result: { sessionId: <session> } }",
        "client: { method: session/cancel, params: { sessionId: <session> } }",
    ];
    let opened = json!({ "jsonrpc": "2.0", "result": { "sessionId": 5 } });
    let steps = steps_of(&case("", &repeats), Scripted::new(&[opened], Then::Silence)).await;
    let last = steps.last().expect("a step");
    assert_eq!(last.outcome, Outcome::Missed, "{last:?}");
    assert!(
        matches!(&last.observed, Some(Observed::Problem(text)) if text.contains("a value of the agent")),
        "{last:?}"
    );
}

const OPENS: [&str; 5] = [
    INITIALIZE,
    "agent: { id: init, result: { protocolVersion: 1 } }",
    "together:
      - { id: one, method: session/new, params: { cwd: /tmp, mcpServers: [] } }
      - { id: two, method: session/new, params: { cwd: /tmp, mcpServers: [] } }",
    "agent: { id: one, result: { sessionId: <session> } }",
    "agent: { id: two, result: { sessionId: <second> } }",
];

/// Returns the outcome of the last step, with the methods that the tester sent.
async fn opened(capabilities: Value, kind: &str, after: &[Value]) -> (Outcome, Vec<String>) {
    let login = json!({ "id": "own", "name": "Own", "type": kind });
    let init = json!({ "result": { "protocolVersion": 1, "agentCapabilities": capabilities, "authMethods": [login] } });
    let refused = json!({ "error": { "code": -32000, "message": "login" } });
    let mut agent = Scripted::new(&[&[init, refused.clone(), refused], after].concat(), Then::Silence);
    play(&case("", &OPENS), &mut agent).await;
    let events = agent.state.recorder.finish();
    let step = |event: &crate::trace::Event| if let What::Step(step) = &event.what { Some(step.outcome) } else { None };
    let method = |event: &crate::trace::Event| match &event.what {
        What::Line { from: Party::Client, bytes, .. } => {
            let message: Value = serde_json::from_slice(bytes).expect("JSON");
            Some(message["method"].as_str().expect("a method").to_owned())
        }
        _ => None,
    };
    let last = events.iter().rev().find_map(step).expect("a step");
    (last, events.iter().filter_map(method).skip(3).collect())
}

#[tokio::test]
async fn harness_logs_in_once_by_a_method_that_needs_no_person_if_the_agent_permits_it() {
    let permits = json!({ "_meta": { "acp-conformance": { "login": true } } });
    let done = |id: &str| json!({ "result": { "sessionId": id } });
    let refused = || json!({ "error": { "code": -32000, "message": "login" } });
    let logged_in = [json!({ "result": {} }), done("a"), done("b")];
    let all = ["authenticate", "session/new", "session/new"].map(str::to_owned).to_vec();
    assert_eq!(opened(permits.clone(), "agent", &logged_in).await, (Outcome::Done, all.clone()));
    assert_eq!(opened(json!({}), "agent", &[]).await, (Outcome::LoginNeeded, Vec::new()), "not permitted");
    assert_eq!(opened(permits.clone(), "terminal", &[]).await, (Outcome::LoginNeeded, Vec::new()));
    let fails = [json!({ "error": { "code": -32603, "message": "no" } })];
    assert_eq!(opened(permits.clone(), "agent", &fails).await, (Outcome::LoginNeeded, all[..1].to_vec()));
    let without_effect = [json!({ "result": {} }), refused()];
    assert_eq!(opened(permits, "agent", &without_effect).await, (Outcome::LoginNeeded, all[..2].to_vec()));
}

#[tokio::test]
async fn a_line_that_may_come_is_awaited_within_its_limit_and_never_missed() {
    let may_come = "agent*: { method: session/update, params: { sessionId: s }, within: 700ms }";
    let may_come = case("", &[INITIALIZE, may_come]);
    let update = json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s" } });
    let mut sends = Scripted::new(&[update], Then::Silence);
    play(&may_come, &mut sends).await;
    assert_eq!(sends.waited, Duration::ZERO);
    let mut is_silent = Scripted::new(&[], Then::Silence);
    play(&may_come, &mut is_silent).await;
    assert!(is_silent.waited > Duration::from_millis(600), "{:?}", is_silent.waited);
    let events = is_silent.state.recorder.finish();
    assert!(!events.iter().any(|event| matches!(event.what, What::Step(_))), "{events:?}");
}

#[tokio::test]
async fn an_optional_line_is_not_awaited_long_once_the_agent_waits_for_a_later_one() {
    let call = "agent?: { method: session/update, params: { update: { sessionUpdate: tool_call } } }";
    let asked = "agent?: { id: ask, method: session/request_permission }";
    let held = case("client: { permission: hold }", &[INITIALIZE, call, asked]);
    let ask = json!({ "jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": {} });
    let mut asks = Scripted::new(&[ask], Then::Silence);
    play(&held, &mut asks).await;
    let mut is_silent = Scripted::new(&[], Then::Silence);
    play(&held, &mut is_silent).await;
    let whole = Subject::agent(Vec::new(), ".".into()).limits.turn;
    assert!(is_silent.waited > whole - AT_REST, "{:?}", is_silent.waited);
    assert!(asks.waited <= AT_REST, "{:?}", asks.waited);
}

#[test]
fn act_right_after_a_message_is_not_fenced() {
    let answer = "agent: { id: init, result: { protocolVersion: 1 }, decides: init.respond }";
    let ends = |steps: &[&str]| end_with_fence(&case("", steps).steps);
    assert!(ends(&[INITIALIZE, answer, "fence: {}"]));
    assert!(ends(&[INITIALIZE, answer, "fence: {}", "file: { path: <cwd>/a, absent: true }"]));
    assert!(!ends(&[
        INITIALIZE,
        answer,
        "fence: {}",
        "client: { method: $/cancel_request, params: { requestId: 9 } }"
    ]));
    assert!(!ends(&[INITIALIZE, answer]));
}
