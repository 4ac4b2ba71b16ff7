//! Programs that are unusual but conforming: no case may fail for them.

use std::time::Duration;

use crate::reference;
use acp_conformance::case::{self, Case};
use acp_conformance::edition::V1;
use acp_conformance::judge::{CaseVerdict, judge, judge_case};
use acp_conformance::requirement::Party;
use acp_conformance::run::{Jobs, Next, Progress, RunMode, Subject, run_all};
use acp_conformance::verdict::Verdict;
use libtest_mimic::{Failed, Trial};
use reference::Mutant;

/// A client that offers version 2, in the formats of both versions.
const OFFERS_2: &str = "\
title: The client offers version 2
kills: init.version-present
case: v1/client/init/handshake
match: { method: initialize }
do: { set: { /params/protocolVersion: 2, /params/info: { name: c, version: '1' }, /params/capabilities: {} } }
";

/// A client that exits after any answer of its agent.
const LEAVES: &str = r#"{ printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":2,"info":{"name":"c","version":"1"},"capabilities":{}}}'; sleep 1; } | "$0" | head -n 1 >/dev/null"#;

/// An agent that answers each prompt with its first text, and knows no other method.
const ECHOES: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([^,]*\),"method".*/\1/p')
    case "$line" in
        *'"method":"initialize"'*)
            say '"id":'"$id"',"result":{"protocolVersion":1,"agentInfo":{"name":"echo","version":"1"}}';;
        *'"method":"session/new"'*) say '"id":'"$id"',"result":{"sessionId":"s'"$id"'"}';;
        *'"method":"session/prompt"'*)
            text=$(printf '%s' "$line" | sed -n 's/.*"prompt":\[{"type":"text","text":\("\([^"\\]\|\\.\)*"\).*/\1/p')
            session=$(printf '%s' "$line" | sed -n 's/.*"params":{"sessionId":\("[^"]*"\).*/\1/p')
            say '"method":"session/update","params":{"sessionId":'"$session"',"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":'"$text"'}}}'
            say '"id":'"$id"',"result":{"stopReason":"end_turn"}';;
        *) if [ -n "$id" ]; then say '"id":'"$id"',"error":{"code":-32601,"message":"Method not found"}'; fi;;
    esac
done"#;

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("unusual/echoes_the_prompt_and_reports_its_output", echoes),
        Trial::test("unusual/keeps_writes_unsaved_and_passes", keeps_writes_unsaved),
        Trial::test("unusual/offers_version_2_and_goes_on_with_1", offers_version_2),
        Trial::test("unusual/speaks_version_2_alone_and_is_not_covered", speaks_version_2_alone),
    ]
}

/// Returns the cases of either party whose ids are wanted.
fn cases(wanted: impl Fn(&str) -> bool) -> Vec<Case> {
    let (cases, _) = case::embedded(&V1);
    cases.into_iter().filter(|case| wanted(&case.id)).collect()
}

fn echoes() -> Result<(), Failed> {
    let subject = Subject::agent(["sh", "-c", ECHOES].map(str::to_owned).to_vec(), std::env::temp_dir());
    let verdicts = verdicts(&subject, &cases(|id| id == "v1/agent/prompt/output-reported"))?;
    match &verdicts[..] {
        [(_, verdict)] if verdict.verdict == Verdict::Pass => Ok(()),
        other => Err(format!("an echo is output: {other:?}").into()),
    }
}

/// Returns the verdict on each case; an error if a requirement of the client fails.
fn verdicts(subject: &Subject, cases: &[Case]) -> Result<Vec<(String, CaseVerdict)>, Failed> {
    let mut verdicts = Vec::new();
    let mut failed = String::new();
    // Most of the time, the programs wait.
    let jobs = Jobs::exactly(8);
    run_all(
        cases,
        subject,
        jobs,
        |_| RunMode::Alone,
        |event| {
            if let Progress::Ended { trace, .. } = event {
                let id = trace.header.case.clone().expect("a case");
                let judgement = judge(&trace, V1.edition());
                for (broken, tally) in judgement.tallies.iter().filter(|(_, tally)| tally.verdict() == Verdict::Fail) {
                    failed += &format!("\n{broken} in {id}: {}", tally.findings[0].text());
                }
                verdicts.push((id, judge_case(&trace, &judgement, V1.catalogue())));
            }
            Next::Continue
        },
    );
    if cases.is_empty() || !failed.is_empty() { Err(format!("failed:{failed}").into()) } else { Ok(verdicts) }
}

fn keeps_writes_unsaved() -> Result<(), Failed> {
    let subject = reference::subject(Party::Client, &["--unsaved".to_owned()]);
    let files =
        |id: &str| id.starts_with("v1/client/fs/write") || id.starts_with("v1/client/transport/split-multibyte-file");
    // The largest text takes a second to write and proves nothing more.
    let cases = cases(|id| files(id) && !id.ends_with("@1-mb"));
    let verdicts = verdicts(&subject, &cases)?;
    let read_back = verdicts.iter().find(|(id, _)| id == "v1/client/fs/write-then-read");
    match read_back {
        Some((_, verdict)) if verdict.verdict == Verdict::Pass => Ok(()),
        other => Err(format!("what was written is not read back: {other:?}").into()),
    }
}

fn offers_version_2() -> Result<(), Failed> {
    let ids = ["init/handshake", "init/minimal", "fs/read", "prompt/two-sessions", "jsonrpc/envelope"];
    let mut cases = cases(|id| ids.iter().any(|known| id.strip_prefix("v1/client/") == Some(known)));
    cases.iter_mut().for_each(|case| case.limits.start = Some(Duration::from_secs(20)));
    let mutant = Mutant::of(Party::Client, OFFERS_2);
    for (id, verdict) in verdicts(&mutant.subject(), &cases)? {
        if verdict.verdict != Verdict::Pass {
            return Err(format!("{id}: {verdict:?}").into());
        }
    }
    Ok(())
}

fn speaks_version_2_alone() -> Result<(), Failed> {
    let mut subject = reference::subject(Party::Client, &[]);
    subject.command = ["sh", "-c", LEAVES, "{agent}"].map(str::to_owned).to_vec();
    let reason = "the client asked for protocol version 2, and left when the agent answered with an older one";
    for (id, verdict) in verdicts(&subject, &cases(|id| id == "v1/client/jsonrpc/envelope"))? {
        if verdict.verdict != Verdict::NotApplicable || verdict.reason.as_deref() != Some(reason) {
            return Err(format!("{id}: {verdict:?}").into());
        }
    }
    Ok(())
}
