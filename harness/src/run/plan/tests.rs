//! Checks which made-up cases share a conversation, and which built-in ones do.

use std::collections::HashSet;

use super::{
    BROKEN, WORTH_A_START, conversations, mistakes_known, opening, quick_cases, quick_cases_of_client, repeated,
};
use crate::case::model::{Action, Case};
use crate::case::{embedded, embedded_for, load_text};
use crate::edition::{V1, V2};
use crate::requirement::{Party, Transport};

/// Builds a case of an agent with these lines above its transcript, and these steps.
fn case(above: &str, steps: &[&str]) -> Case {
    case_of("agent", above, steps)
}

fn case_of(party: &str, above: &str, steps: &[&str]) -> Case {
    let steps: String = steps.iter().map(|step| format!("  - {step}\n")).collect();
    let text = format!("title: A case\nsubject: {party}\n{above}\ntranscript:\n{steps}");
    let path = format!("cases/v1/{party}/x.yaml");
    let (mut cases, problems) = load_text(&path, &text, &V1);
    cases.pop().unwrap_or_else(|| panic!("{text}\n{problems:?}"))
}

const USUAL: &str = "requirements: [prompt.text]";
const RAW: &str = "raw: { text: x }";

#[test]
fn case_within_its_sessions_shares() {
    for step in [
        "client: { id: x, method: session/list, params: {} }",
        "client: { id: x, method: session/close, params: { sessionId: <session> } }",
        "client: { id: x, wire-id: 7, method: session/close, params: { sessionId: <session> } }",
        "fence: {}",
        "never: { method: session/update }",
        "file: { path: <cwd>/x, absent: true }",
        RAW,
    ] {
        assert!(opening(&case(USUAL, &["include: session", step])).is_some(), "{step}");
    }
}

#[test]
fn case_about_the_start_of_the_process_is_alone() {
    let own = "client: { id: i, method: initialize, params: { protocolVersion: 1 } }";
    let decided = "agent: { id: i, result: { protocolVersion: 1 }, decides: prompt.text }";
    assert!(opening(&case(USUAL, &[own, decided])).is_none(), "its answer to initialize decides");
    let late = "client: { id: s, method: session/new, params: { cwd: <cwd>, mcpServers: [] } }";
    assert!(opening(&case(USUAL, &[late])).is_none(), "it does not begin with initialize");
}

#[test]
fn case_with_a_long_command_comes_after_quick_ones() {
    let runs = |requirement: &str, command: &str| {
        let prompt = format!("sessionId: <session>, prompt: {{ intent: run-command, command: {command} }}");
        let turn = format!("client: {{ id: turn, method: session/prompt, params: {{ {prompt} }} }}");
        case(&format!("requirements: [{requirement}]"), &["include: session", &turn])
    };
    let quick = || runs("prompt.stop-reason", "echo");
    let cases = [runs("terminal.capability", "sleep"), quick(), quick()];
    assert_eq!(conversations(&cases, 1, |_| false), [[1, 0, 2]], "the last case is for no further MUST");
}

#[test]
fn cases_that_change_the_process_come_last() {
    let with = |step: &str| case(USUAL, &["include: session", step]);
    let cases = [
        with("close: stdin"),
        with("client: { id: x, method: logout, params: {} }"),
        with("client: { id: x, method: initialize, params: { protocolVersion: 1 } }"),
        with("client: { id: x, method: authenticate, params: { methodId: m } }"),
        with("restart: {}"),
        with(RAW),
        with("fence: {}"),
    ];
    assert_eq!(conversations(&cases, 1, |_| false), [vec![6, 5, 4, 3, 2, 1, 0]]);
}

#[test]
fn cases_share_only_with_the_same_initialize() {
    let usual = || case(USUAL, &["include: session"]);
    let poor = case(&format!("{USUAL}\nclient: {{ capabilities: {{}} }}"), &["include: session"]);
    let cases = [poor, usual(), usual()];
    assert_eq!(conversations(&cases, 4, |_| false), [vec![1, 2], vec![0]]);
    assert_eq!(conversations(&cases, 4, |case| std::ptr::eq(case, &raw const cases[1])), [vec![0], vec![2], vec![1]]);
}

#[test]
fn cases_of_a_client_share_within_its_sessions() {
    const OF_CLIENT: &str = "requirements: [prompt.params]";
    let opens = |above: &str, step: &str| {
        let above = format!("{OF_CLIENT}\n{above}");
        opening(&case_of("client", &above, &["include: turn", step]))
    };
    let usual = opens("", "fence: {}").expect("a case that shares");
    for step in [
        "user: { act: load, sessionId: old }",
        RAW,
        "user: { act: cancel }",
        "agent: { id: turn, result: { stopReason: refusal } }",
    ] {
        assert_eq!(opens("", step).as_ref(), Some(&usual), "{step}");
    }
    for step in [
        "user: { act: quit }",
        "user: { act: logout }",
        "agent-process: { exit: 1 }",
        "exit: {}",
        "agent: { id: twin, method: _x/y, params: {}, wire-id: <turn-id> }",
    ] {
        assert!(opens("", step).is_none(), "{step}");
    }
    for above in ["user: { permission: reject }", "agent: { capabilities: { loadSession: true } }"] {
        assert!(opens(above, "fence: {}").is_some_and(|other| other != usual), "{above}");
    }
    for above in
        ["user: { directories: [<cwd>/more] }", "user: { mcp-servers: [{ name: a, command: /a, args: [], env: [] }] }"]
    {
        assert!(opens(above, "fence: {}").is_none(), "{above}");
    }
    let start = "client: { id: initialize, method: initialize, params: { protocolVersion: <int> } }";
    let own =
        [start, "agent: { id: initialize, result: { protocolVersion: 1 } }", "client: { id: s, method: session/new }"];
    assert!(opening(&case_of("client", OF_CLIENT, &own)).is_none(), "it answers initialize itself");
    assert!(opening(&case_of("client", OF_CLIENT, &[start])).is_none(), "it opens no session");
    assert!(opening(&case_of("client", "requirements: [terminal.all-methods]", &["include: turn"])).is_none());
}

#[test]
fn quick_cases_cover_the_requirements_of_the_largest_conversation() {
    let about = |requirements: &[&str]| Case {
        requirements: requirements.iter().map(|&id| id.to_owned()).collect(),
        ..case(USUAL, &["include: session"])
    };
    let poor = case(&format!("{USUAL}\nclient: {{ capabilities: {{}} }}"), &["include: session"]);
    let [a, b, c, d] = ["prompt.stop-reason", "cancel.no-reply", "fs.read.params", "load.replay-order"];
    let should = about(&["init.silent-before"]);
    let cases = [poor, should, about(&[a]), about(&[b, c]), about(&[c]), about(&[a, d]), about(&[d])];
    assert_eq!(quick_cases(&cases), [3, 5]);
    let broken = about(&["init.agent-info"]);
    assert_eq!(quick_cases(&[&cases[..], &[broken]].concat()), [3, 5, 7], "real programs break this one");
}

#[test]
fn quick_cases_of_a_client_are_one_of_each_area() {
    let cases = embedded_for(Party::Client, Transport::Stdio, &V1);
    let areas_of = |indices: &[usize]| -> Vec<String> {
        indices.iter().map(|&index| cases[index].id.split('/').nth(2).unwrap_or_default().to_owned()).collect()
    };
    let all: HashSet<String> = areas_of(&(0..cases.len()).collect::<Vec<_>>()).into_iter().collect();
    let quick = quick_cases_of_client(&cases, false, |_| true);
    let areas = areas_of(&quick);
    assert_eq!((areas.len(), areas.into_iter().collect::<HashSet<_>>()), (all.len(), all.clone()));
    // Without acts, only cases without acts are of use.
    let acts = |case: &Case| case.steps.iter().any(|step| matches!(step.action, Action::Act(_)));
    let few = quick_cases_of_client(&cases, false, |case| !acts(case));
    assert!(!few.is_empty() && few.iter().all(|&index| !acts(&cases[index])));
    // One conversation holds many cases for the price of a few.
    let shared = quick_cases_of_client(&cases, true, |_| true);
    assert!(shared.len() > quick.len() && areas_of(&shared).into_iter().collect::<HashSet<_>>() == all);
}

#[test]
fn quick_cases_cover_what_only_a_start_with_another_initialize_decides() {
    let built_in = embedded_for(Party::Agent, Transport::Stdio, &V1);
    let quick: Vec<&Case> = quick_cases(&built_in).into_iter().map(|index| &built_in[index]).collect();
    for id in ["init.version.fallback", "init.version.no-error"] {
        assert!(quick.iter().any(|case| case.requirements.iter().any(|own| own == id)), "{id}");
    }
    let starts = conversations(&quick.into_iter().cloned().collect::<Vec<_>>(), 1, |_| false).len();
    assert!(starts <= 6, "{starts} starts");
}

#[test]
fn shapes_with_a_start_of_their_own_repeat_a_shared_one() {
    let usual = || case(USUAL, &["include: session"]);
    let poor = |capabilities: &str, id: &str| {
        let poor = case(&format!("{USUAL}\nclient: {{ capabilities: {capabilities} }}"), &["include: session"]);
        Case { id: id.to_owned(), ..poor }
    };
    let shapes = [poor("{}", "v1/x@a"), usual(), poor("{ fs: {} }", "v1/x@b"), poor("{ terminal: true }", "v1/y@a")];
    assert_eq!(repeated(&shapes, true), [2]);
    let with_another = [poor("{}", "v1/x@a"), poor("{ fs: {} }", "v1/x@b"), poor("{ fs: {} }", "v1/z")];
    assert_eq!(repeated(&with_another, true), [0], "the larger conversation runs anyway");
}

#[test]
fn contexts_repeat_the_first_use_of_their_case() {
    let in_context =
        |id: &str| Case { id: id.to_owned(), context: Some("again".to_owned()), ..case(USUAL, &["include: session"]) };
    let first = Case { context: None, ..in_context("v1/x") };
    let shape = Case { context: None, ..in_context("v1/y@a") };
    let cases = [in_context("v1/x@again"), first, shape, in_context("v1/y@a,again"), in_context("v1/z@again")];
    assert_eq!(repeated(&cases, true), [0, 3], "the first use of the last one is not selected");
}

#[test]
fn broken_lines_come_last_and_usual_ids_first() {
    let usual = || case(USUAL, &["include: session"]);
    let raw = case(USUAL, &["include: session", RAW]);
    let text = case(&format!("{USUAL}\nclient: {{ wire: {{ ids: text }} }}"), &["include: session"]);
    assert_eq!(conversations(&[raw, text, usual()], 1, |_| false), [vec![2, 1, 0]]);
}

#[test]
fn jobs_split_only_large_conversations() {
    let cases: Vec<Case> = (0..30).map(|_| case(USUAL, &["include: session"])).collect();
    let sizes = |jobs| conversations(&cases, jobs, |_| false).iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(sizes(1), [30]);
    assert_eq!(sizes(8), [15, 15]);
    assert_eq!(conversations(&cases[..3], 8, |_| false).len(), 1);
    let late = (0..4).map(|_| case(USUAL, &["include: session", RAW]));
    let with_late: Vec<Case> = cases[..26].iter().cloned().chain(late).collect();
    let parts = conversations(&with_late, 8, |_| false);
    assert_eq!((&parts[0][12..], &parts[1][12..]), ([12, 26, 28].as_slice(), [25, 27, 29].as_slice()));
}

#[test]
fn cases_that_cover_most_come_first() {
    let of = |requirements: &str| case(&format!("requirements: [{requirements}]"), &["include: session"]);
    let cases = [of("prompt.text"), of("prompt.text, prompt.stop-reason"), of("init.respond"), of("prompt.text")];
    assert_eq!(conversations(&cases, 1, |_| false), [vec![1, 2, 0, 3]]);
    let text = "requirements: [prompt.text, prompt.stop-reason]\nclient: { wire: { ids: text } }";
    let with_text = [case(text, &["include: session"]), of("prompt.text")];
    assert_eq!(conversations(&with_text, 1, |_| false), [vec![1, 0]], "the first case writes as usual");
}

#[test]
fn cases_that_cover_most_are_in_all_parts_but_the_last() {
    let of = |id: &str| case(&format!("requirements: [{id}]"), &["include: session"]);
    let musts = ["prompt.text", "prompt.stop-reason", "init.respond", "cancel.stop-reason"];
    let cases: Vec<Case> = (0..32).map(|_| of("prompt.text")).chain(musts.map(of)).chain([of("tool.kind")]).collect();
    let planned = conversations(&cases, 3, |_| false);
    assert_eq!(planned.iter().map(Vec::len).collect::<Vec<_>>(), [13, 13, 11]);
    assert!(mistakes_known("cancel.stop-reason") > 0, "so its case comes first");
    assert_eq!((&planned[0][..3], &planned[1][..3]), ([35, 33, 36].as_slice(), [0, 34, 11].as_slice()));
    let mut all = planned.concat();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..cases.len()));
}

#[test]
fn what_real_programs_break_comes_first() {
    let cases: HashSet<String> = [&V1, &V2].iter().flat_map(|bundle| embedded(bundle).0).map(|case| case.id).collect();
    let known = |id: &str| cases.contains(id) || [&V1, &V2].iter().any(|bundle| bundle.catalogue().find(id).is_some());
    let ids: Vec<&str> = BROKEN.lines().filter_map(|line| line.split(' ').next()).collect();
    let unknown: Vec<&&str> = ids.iter().filter(|id| !known(id)).collect();
    assert!(ids.len() > 50 && unknown.is_empty(), "run scripts/subjects again: {unknown:?}");
    assert!(ids.iter().any(|id| cases.contains(*id)), "the cases that show mistakes count too");
    let of = |requirement: &str| case(&format!("requirements: [{requirement}]"), &["include: session", "fence: {}"]);
    let cases = [of("prompt.stop-reason"), of("tool.location-absolute")];
    assert!(mistakes_known("tool.location-absolute") > mistakes_known("prompt.stop-reason"));
    assert_eq!(conversations(&cases, 1, |_| false), [[1, 0]]);
}

#[test]
fn some_cases_that_break_the_protocol_come_early() {
    let usual = || case(USUAL, &["include: session", "fence: {}"]);
    let broken = || case("requirements: [jsonrpc.invalid-request.agent]", &["include: session", RAW]);
    let mut cases: Vec<Case> = (0..2 * WORTH_A_START).map(|_| usual()).collect();
    cases.extend([broken(), broken()]);
    let planned = conversations(&cases, 2, |_| false);
    let first = 2 * WORTH_A_START;
    assert_eq!(planned[1], [first], "only what adds something is apart: {planned:?}");
    assert!(planned.iter().any(|conversation| conversation.contains(&(first + 1))), "{planned:?}");
}

#[test]
fn short_conversations_for_further_musts_come_before_long_ones() {
    let usual = || case(USUAL, &["include: session"]);
    let poor = |capability: &str, requirement: &str| {
        let above = format!("requirements: [{requirement}]\nclient: {{ capabilities: {{ {capability} }} }}");
        case(&above, &["include: session"])
    };
    let others = [
        poor("terminal: true", "prompt.text"),
        poor("elicitation: { form: {} }", "elicit.message"),
        poor("terminal: false", "prompt.stop-reason"),
    ];
    let cases: Vec<Case> = (0..30).map(|_| usual()).chain(others).collect();
    let planned = conversations(&cases, 2, |_| false);
    let sizes: Vec<_> = planned.iter().map(Vec::len).collect();
    assert_eq!(sizes, [15, 1, 15, 1, 1]);
    assert_eq!(planned[1], [32], "the agent may not use what only one client offers");
}

/// This number determines the time that every agent takes.
#[test]
fn built_in_cases_need_few_conversations() {
    let cases = embedded_for(Party::Agent, Transport::Stdio, &V1);
    let planned = conversations(&cases, 1, |_| false);
    let mut indices: Vec<usize> = planned.iter().flatten().copied().collect();
    indices.sort_unstable();
    assert!(indices.into_iter().eq(0..cases.len()), "each case is in one conversation");
    assert!(planned.len() <= 32, "{} conversations", planned.len());
}

#[test]
fn built_in_cases_of_clients_need_few_conversations() {
    let cases = embedded_for(Party::Client, Transport::Stdio, &V1);
    let planned = conversations(&cases, 1, |_| false);
    assert!(planned.len() <= 107, "{} conversations", planned.len());
    assert_eq!(conversations(&cases, 1, |_| true).len(), cases.len(), "the client cannot share");
}
