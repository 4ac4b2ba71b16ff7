//! Clients that never start their agent, crash, flood and leave children behind: each ends in bounded time with an
//! explanation, and nothing of it is left.
//!
//! They are shell scripts: `$0` is the agent, and what is printed first is HOME, by which the folder of the case is known.

mod left;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use acp_conformance::case::{Case, Includes, Vocabulary, embedded, load_text};
use acp_conformance::judge::{judge, judge_case};
use acp_conformance::peer::relay;
use acp_conformance::protocol::Edition;
use acp_conformance::report::diagnose;
use acp_conformance::requirement::Catalogue;
use acp_conformance::run::{Limits, Subject, run_case};
use acp_conformance::trace::{ProcessEvent, Trace, What};
use acp_conformance::verdict::Verdict;
use libtest_mimic::{Arguments, Failed, Trial};

/// Starts the agent, with `say` to write to it and `hear` to read from it.
const START: &str = r#"
    mkfifo "$HOME/in" "$HOME/out"
    "$0" <"$HOME/in" >"$HOME/out" &
    agent=$!
    exec 3>"$HOME/in" 4<"$HOME/out"
    say() { printf '%s\n' "$1" >&3; }
    hear() { read -r line <&4; }
"#;

/// Comes as far as a session.
const OPEN: &str = r#"
    say '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
    hear
    say '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"'"$1"'","mcpServers":[]}}'
    hear
    session=${line##*'"sessionId":"'}
    session=${session%%'"'*}
"#;

/// Comes as far as a turn.
const PROMPT: &str = r#"
    say '{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"'"$session"'","prompt":[{"type":"text","text":"Hi"}]}}'
"#;

/// The agent asks for permission and waits for the answer.
const ASKS: &str = "v1/client/permission/allowed";

const HANDSHAKE: &str = "v1/client/init/handshake";

/// Long enough for any machine; a client that has to be waited for gets a shorter one.
const PATIENT: Limits = Limits {
    start: Duration::from_secs(60),
    answer: Duration::from_secs(60),
    turn: Duration::from_secs(60),
    exit: Duration::from_millis(500),
};

/// Where only the limit can end the wait.
const SHORT: Limits = Limits { answer: Duration::from_secs(2), ..PATIENT };

const TESTS_AT_ONCE: usize = 6;

type Tested = Result<(), Failed>;
type Test = fn() -> Tested;

fn main() -> ExitCode {
    // The clients start this program in place of their agent.
    if let Some(code) = relay::run_if_asked() {
        return code;
    }
    let tests: [(&str, Test); 12] = [
        ("one_that_does_not_start_its_agent", does_not_start_its_agent),
        ("one_that_ends_before_it_starts_its_agent", ends_before_it_starts_its_agent),
        ("one_that_starts_its_agent_twice", starts_its_agent_twice),
        ("one_that_crashes_in_a_turn", crashes_in_a_turn),
        ("one_that_does_not_prompt", does_not_prompt),
        ("one_that_does_not_answer", does_not_answer),
        ("one_that_does_not_read", does_not_read),
        ("one_that_floods_its_agent", floods_its_agent),
        ("one_that_floods_its_terminal", floods_its_terminal),
        ("one_whose_child_holds_the_pipes", child_holds_the_pipes),
        ("one_that_kills_its_agent", kills_its_agent),
        ("one_whose_agent_got_away", agent_got_away),
    ];
    let trials = tests.map(|(name, test)| Trial::test(name, test)).into_iter().collect();
    let mut arguments = Arguments::from_args();
    // They wait more than they work.
    arguments.test_threads.get_or_insert(TESTS_AT_ONCE);
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn does_not_start_its_agent() -> Tested {
    let limits = Limits { start: Duration::from_millis(500), ..PATIENT };
    told(&meet(HANDSHAKE, &["sleep 1000"], limits), "The client runs, and never started its agent.")
}

fn ends_before_it_starts_its_agent() -> Tested {
    let trace = meet(HANDSHAKE, &["echo no agent here >&2; exit 3"], PATIENT);
    told(&trace, "The client ended (exit code 3), and never started its agent.")?;
    told(&trace, "no agent here")
}

fn starts_its_agent_twice() -> Tested {
    let trace = meet(HANDSHAKE, &[r#""$0" </dev/null;"#, START, OPEN, PROMPT, "hear; hear"], PATIENT);
    let starts =
        trace.events.iter().filter(|event| matches!(&event.what, What::Process(ProcessEvent::AgentStarted(_))));
    assert_eq!(starts.count(), 2);
    assert_eq!(diagnose(&trace), None);
    decided(&trace, Verdict::Pass, "")
}

fn crashes_in_a_turn() -> Tested {
    let trace = meet(ASKS, &[START, OPEN, PROMPT, "hear; kill -9 $$"], PATIENT);
    decided(&trace, Verdict::Inconclusive, "the client ended (signal SIGKILL)")
}

fn does_not_prompt() -> Tested {
    let trace = meet(HANDSHAKE, &[START, OPEN, "while hear; do :; done"], SHORT);
    told(&trace, "The client runs; it opened a session, and never sent the prompt.")?;
    let trace = meet(HANDSHAKE, &[START, OPEN], PATIENT);
    told(&trace, "The client ended (exit code 0); it opened a session, and never sent the prompt.")
}

fn does_not_answer() -> Tested {
    let trace = meet(ASKS, &[START, OPEN, PROMPT, "while hear; do :; done"], SHORT);
    decided(&trace, Verdict::Inconclusive, "nothing of the kind came before the time limit")
}

fn does_not_read() -> Tested {
    let case = much_to_read();
    let trace = meet_in(&case, &[START, OPEN, PROMPT, "sleep 1000"], SHORT);
    decided(&trace, Verdict::Inconclusive, "a request that everybody owes an answer to had none")
}

fn floods_its_agent() -> Tested {
    let trace = meet(HANDSHAKE, &[r#"yes '{}' | "$0""#], PATIENT);
    assert!(trace.events.iter().any(|event| event.what == What::Process(ProcessEvent::Flooded)));
    told(&trace, "it started its agent, and never sent initialize.")
}

fn floods_its_terminal() -> Tested {
    let limits = Limits { start: Duration::from_millis(500), ..PATIENT };
    let trace = meet(HANDSHAKE, &["yes & yes >&2"], limits);
    let room = 100_000;
    assert!(trace.events.len() < room, "{} events of a flood were kept", trace.events.len());
    told(&trace, "and never started its agent.")
}

fn child_holds_the_pipes() -> Tested {
    for child in ["sleep 1000 &", "setsid sleep 1000 &"] {
        let trace = meet(ASKS, &[START, OPEN, PROMPT, "hear", child], PATIENT);
        decided(&trace, Verdict::Inconclusive, "the client ended (exit code 0)")?;
    }
    Ok(())
}

fn kills_its_agent() -> Tested {
    let trace = meet(ASKS, &[START, OPEN, PROMPT, "hear; kill -9 $agent"], PATIENT);
    decided(&trace, Verdict::Inconclusive, "the client ended (exit code 0)")?;
    let trace = meet(ASKS, &[START, OPEN, PROMPT, "hear; kill -9 $agent; sleep 1000"], SHORT);
    decided(&trace, Verdict::Inconclusive, "the client")
}

fn agent_got_away() -> Tested {
    let away = START.replace(r#""$0" <"#, r#"setsid env -i PATH="$PATH" "$0" <"#);
    let trace = meet(ASKS, &[&away, OPEN, PROMPT, "sleep 1000"], SHORT);
    decided(&trace, Verdict::Inconclusive, "nothing of the kind came before the time limit")
}

/// A case in which the agent says more than any pipe holds.
fn much_to_read() -> Case {
    let chunk = "x".repeat(1 << 20);
    let text = format!(
        "title: t\nsubject: client\nrequirements: [init.first]\ntranscript:\n  - include: turn\n  - agent: {{ method: session/update, \
         params: {{ sessionId: <session>, update: {{ sessionUpdate: agent_message_chunk, content: {{ type: text, text: {chunk} }} }} }} }}\n  \
         - fence: {{}}\n"
    );
    let (mut cases, problems) = load_text("cases/v1/client/much.yaml", &text, &Vocabulary::v1(), &Includes::embedded());
    cases.pop().unwrap_or_else(|| panic!("{problems:?}"))
}

fn meet(case: &str, script: &[&str], limits: Limits) -> Trace {
    let (cases, _) = embedded(&Vocabulary::v1());
    let case = cases.iter().find(|known| known.id == case).unwrap_or_else(|| panic!("there is no case {case}"));
    meet_in(case, script, limits)
}

fn meet_in(case: &Case, script: &[&str], limits: Limits) -> Trace {
    let script = format!("echo \"$HOME\"\n{}", script.join("\n"));
    let command = ["sh", "-c", &script, "{agent}", "{cwd}", "{prompt}"].map(str::to_owned);
    let mut subject = Subject::client(command.to_vec(), std::env::current_dir().expect("a current directory"));
    subject.limits = limits;
    let started = Instant::now();
    let trace = run_case(case, &subject);
    // Generous: the bound that matters is that there is one.
    assert!(started.elapsed() < Duration::from_secs(50), "{script} took {:?}", started.elapsed());
    let home = trace.events.iter().find_map(|event| match &event.what {
        What::Stdout(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    });
    let home = home.expect("the client prints HOME");
    left::nothing(Path::new(&home).parent().expect("HOME is in a folder"));
    trace
}

/// Makes sure that the user is told this.
fn told(trace: &Trace, wanted: &str) -> Tested {
    let told = diagnose(trace).unwrap_or_default();
    if told.contains(wanted) { Ok(()) } else { Err(format!("{wanted:?} is wanted, and {told:?} is told").into()) }
}

/// Makes sure that the case has this verdict, and a reason with these words.
fn decided(trace: &Trace, verdict: Verdict, wanted: &str) -> Tested {
    let decided = judge_case(trace, &judge(trace, Edition::v1()), Catalogue::v1());
    let reason = decided.reason.unwrap_or_default();
    if decided.verdict == verdict && reason.contains(wanted) {
        Ok(())
    } else {
        Err(format!("{verdict} with {wanted:?} is wanted, and there is {} with {reason:?}", decided.verdict).into())
    }
}
