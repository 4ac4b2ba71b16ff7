//! Agents that treat their MCP servers badly, or end badly: each case ends in bounded time, and nothing of it is left.

mod left;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use acp_conformance::case::{Vocabulary, embedded};
use acp_conformance::judge::{Judgement, judge};
use acp_conformance::peer::relay;
use acp_conformance::protocol::Edition;
use acp_conformance::run::{Limits, Subject, run_case};
use acp_conformance::trace::{McpEvent, McpWhat, Trace, What};
use acp_conformance::verdict::Verdict;
use libtest_mimic::{Arguments, Failed, Trial};

/// The case in which the agents are met; its requests have the ids 0, 1 and 2.
const CASE: &str = "v1/agent/mcp/stdio";

/// Long enough for any machine; no agent here makes anybody wait.
const PATIENT: Duration = Duration::from_secs(30);

/// Answers initialize, and finds the program of the server in the next request.
const GREET: &str = r#"
    answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
    read -r line; answer 0 '{"protocolVersion":1}'
    read -r line; server=$(printf '%s' "$line" | sed 's/.*"command":"\([^"]*\)".*/\1/')
    hello='{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}'
"#;

/// Answers initialize.
const GREET_ALONE: &str = r#"read -r line; printf '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}\n'"#;

/// Plays the rest of the case, and ends with its input.
const PLAY: &str = r#"
    answer 1 '{"sessionId":"s"}'
    read -r line; answer 2 '{"stopReason":"end_turn"}'
    while read -r line; do :; done
"#;

fn main() -> ExitCode {
    // The agents start this program in place of their server.
    if let Some(code) = relay::run_if_asked() {
        return code;
    }
    let trials = vec![
        Trial::test("one_whose_server_got_away", server_got_away),
        Trial::test("one_that_floods_its_server", floods_its_server),
        Trial::test("one_that_finds_out_late_that_it_died", finds_out_late),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn server_got_away() -> Result<(), Failed> {
    let start = r#"{ echo "$hello"; exec sleep 1000; } | env -i setsid "$server" --mode plain >/dev/null &"#;
    let judgement = meet(&[GREET, start, PLAY]);
    decided(&judgement, "mcp.stdio.supported", Verdict::Pass)?;
    decided(&judgement, "mcp.stdio.args-env", Verdict::Fail)
}

fn floods_its_server() -> Result<(), Failed> {
    let start =
        r#"{ echo "$hello"; exec yes "$hello"; } | ACP_CONFORMANCE_ONE=one "$server" --mode plain >/dev/null &"#;
    let judgement = meet(&[GREET, start, PLAY]);
    decided(&judgement, "mcp.stdio.args-env", Verdict::Pass)
}

/// Some programs that cannot go on end only when their blocked read returns.
fn finds_out_late() -> Result<(), Failed> {
    let fence = r#"read -r line; printf '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}\n'"#;
    let blocked = "read -r bad; read -r fence; read -r again; exit 1";
    let limits = Limits { answer: Duration::from_secs(3), ..Limits::default() };
    let trace = play("v1/agent/jsonrpc/survives@text-params", &[GREET_ALONE, fence, blocked], limits);
    decided(&judge(&trace, Edition::v1()), "jsonrpc.survives-bad-input.agent", Verdict::Fail)
}

/// Plays a case with an agent that is this script.
fn play(case: &str, script: &[&str], limits: Limits) -> Trace {
    let (cases, _) = embedded(&Vocabulary::v1());
    let case = cases.iter().find(|known| known.id == case).expect("the case");
    let here = std::env::current_dir().expect("a current directory");
    let command = ["sh", "-c", &script.join("\n")].map(str::to_owned);
    let mut subject = Subject::agent(command.to_vec(), here);
    subject.limits = limits;
    let started = Instant::now();
    let trace = run_case(case, &subject);
    // Generous: the bound that matters is that there is one.
    assert!(started.elapsed() < 3 * PATIENT, "{script:?} took {:?}", started.elapsed());
    trace
}

/// Runs the case with an agent that is this script, and judges it.
fn meet(script: &[&str]) -> Judgement {
    let limits = Limits { start: PATIENT, answer: PATIENT, turn: PATIENT, ..Limits::default() };
    let trace = play(CASE, script, limits);
    let command = trace.events.iter().find_map(|event| match &event.what {
        What::Mcp(McpEvent { what: McpWhat::Started { command, .. }, .. }) => Some(command.clone()),
        _ => None,
    });
    let sandbox = Path::new(&command.expect("the server is started")).ancestors().nth(3).map(Path::to_owned);
    left::nothing(&sandbox.expect("it lies in the folder of the case"));
    judge(&trace, Edition::v1())
}

fn decided(judgement: &Judgement, requirement: &str, wanted: Verdict) -> Result<(), Failed> {
    let found = judgement.verdict(requirement);
    if found == wanted { Ok(()) } else { Err(format!("{requirement}: wanted {wanted}, found {found}").into()) }
}
