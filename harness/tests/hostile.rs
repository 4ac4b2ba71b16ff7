//! Subjects that hang, flood, lie and leave children behind: each ends in bounded time, and nothing of it is left.

use std::time::{Duration, Instant};

use acp_conformance::case::{Vocabulary, embedded};
use acp_conformance::judge::judge;
use acp_conformance::protocol::Edition;
use acp_conformance::report::diagnose;
use acp_conformance::run::{Subject, run_case};
use acp_conformance::trace::{ProcessEvent, Trace, What};
use acp_conformance::verdict::Verdict;

/// An answer to the handshake, whatever was asked; the id of its initialize is 0.
const ANSWER: &str = r#"printf '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}\n'"#;

/// What follows the answer to the handshake goes to its fence, so that nothing here depends on how fast a machine is.
const FENCE_ANSWER: &str = r#"printf '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown"}}\n'"#;

/// Long enough for any machine; every subject here ends the wait by itself.
const PATIENT: Duration = Duration::from_secs(30);

fn meet(script: &str) -> Trace {
    meet_for(script, PATIENT)
}

fn meet_for(script: &str, limit: Duration) -> Trace {
    let (cases, _) = embedded(&Vocabulary::v1());
    let handshake = cases.iter().find(|case| case.id == "v1/agent/init/handshake").expect("the handshake");
    let here = std::env::current_dir().expect("a current directory");
    let mut subject = Subject::agent(vec!["sh".to_owned(), "-c".to_owned(), script.to_owned()], here);
    subject.limits.start = limit;
    subject.limits.answer = limit;
    let started = Instant::now();
    let trace = run_case(handshake, &subject);
    // Generous: the bound that matters is that there is one.
    assert!(started.elapsed() < Duration::from_secs(60), "{script} took {:?}", started.elapsed());
    let Some(What::Process(ProcessEvent::Spawned { pid })) = trace.events.first().map(|event| &event.what) else {
        panic!("{script} was not started");
    };
    // A killed process needs a moment to go.
    let deadline = Instant::now() + Duration::from_secs(5);
    while !survivors(*pid).is_empty() && Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert_eq!(survivors(*pid), Vec::<String>::new(), "{script} left processes in its group");
    trace
}

/// The processes of a group that still run; ended ones that nobody has waited for yet do not count.
fn survivors(group: u32) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let of_group = |stat: &String| {
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let (state, found) = (fields.next(), fields.nth(1));
        state != Some("Z") && found == Some(&group.to_string())
    };
    stats.filter(of_group).collect()
}

fn said(trace: &Trace) -> String {
    diagnose(trace).unwrap_or_else(|| "it answered".to_owned())
}

fn verdict(trace: &Trace, requirement: &str) -> Verdict {
    judge(trace, Edition::v1()).verdict(requirement)
}

#[test]
fn silence_is_not_a_crash() {
    assert!(
        said(&meet_for("sleep 1000", Duration::from_millis(300))).starts_with("The program runs, and wrote nothing")
    );
    assert!(said(&meet("exit 3")).starts_with("The program ended (exit code 3)"));
    assert!(said(&meet("kill -9 $$")).starts_with("The program ended (signal SIGKILL)"));
    assert!(said(&meet("cat")).starts_with("The program sends back what it is sent"));
}

#[test]
fn signals_that_are_ignored_and_children_that_hold_the_pipes_do_not_keep_us() {
    let trace = meet(&format!("trap '' TERM; {ANSWER}; {FENCE_ANSWER}; while :; do sleep 0.1; done"));
    assert!(trace.events.iter().any(|e| e.what == What::Process(ProcessEvent::Signalled("SIGKILL".to_owned()))));
    meet("sleep 1000 & exit 0");
    meet("setsid sleep 1000 & exit 0");
}

#[test]
fn a_flood_is_stopped() {
    let trace = meet("yes '{}'");
    assert!(trace.events.iter().any(|event| event.what == What::Process(ProcessEvent::Flooded)));
    assert_eq!(verdict(&trace, "jsonrpc.version-member.agent"), Verdict::Fail);
}

#[test]
fn a_line_of_64_mib_is_kept_whole() {
    let trace = meet(&format!(
        "{ANSWER}; printf '\"'; head -c 67108864 /dev/zero | tr '\\0' x; printf '\"\\n'; {FENCE_ANSWER}; sleep 1000"
    ));
    let longest = trace.events.iter().filter_map(|event| match &event.what {
        What::Line { bytes, .. } => Some(bytes.len()),
        _ => None,
    });
    assert_eq!(longest.max(), Some((64 << 20) + 2));
    assert_eq!(verdict(&trace, "transport.stdout-only-messages"), Verdict::Fail);
}

#[test]
fn bytes_that_are_no_text_and_depth_that_is_no_json_of_ours_are_recorded() {
    let trace = meet(&format!("{ANSWER}; printf '{{\"a\":\"\\377\"}}\\n'"));
    assert_eq!(verdict(&trace, "transport.utf8.agent"), Verdict::Fail);
    let deep = meet(&format!(
        "{ANSWER}; head -c 10000 /dev/zero | tr '\\0' '['; head -c 10000 /dev/zero | tr '\\0' ']'; echo"
    ));
    let judgement = judge(&deep, Edition::v1());
    let accused: Vec<_> = judgement.tallies.iter().filter(|(_, tally)| tally.verdict() == Verdict::Fail).collect();
    assert!(accused.iter().all(|(id, _)| !id.starts_with("transport.")), "deep nesting is legal: {accused:?}");
}
