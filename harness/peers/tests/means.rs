//! The means of a client's user and the ways in which a client finds its agent, each tested once with the reference
//! client: keys on a terminal, another program, and a fixed name on PATH.

use std::time::Duration;

use acp_conformance::case;
use acp_conformance::edition::V1;
use acp_conformance::judge::{judge, judge_case};
use acp_conformance::profile::{Controls, Means};
use acp_conformance::requirement::Party;
use acp_conformance::run::{Subject, run_case};
use acp_conformance::trace::{ProcessEvent, What};
use acp_conformance::verdict::Verdict;
use libtest_mimic::{Failed, Trial};

use crate::reference;

const HANDSHAKE: &str = "v1/client/init/handshake";
const CANCEL: &str = "v1/client/cancel/notification";

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("means/keys-are-typed-on-a-terminal", typed),
        Trial::test("means/a-hook-acts-from-outside", hooked),
        Trial::test("means/a-user-who-is-asked-decides", asked),
        Trial::test("means/a-client-starts-in-the-folder-of-the-case", started_there),
        Trial::test("means/an-agent-with-a-fixed-name-is-on-the-path", named),
        Trial::test("means/what-a-case-leaves-open-is-answered-at-its-end", left_open),
    ]
}

fn typed() -> Result<(), Failed> {
    let mut client = client(&[reference::CLIENT, "--acts", "--cwd", "{cwd}", "--", "{agent}"]);
    let prompt = Means::Keys("{\"act\":\"prompt\",\"text\":{text_json}}\n".to_owned());
    client.controls.acts.insert("prompt".to_owned(), prompt);
    client.controls.terminal = true;
    passes(HANDSHAKE, &client)
}

/// The reference client ignores SIGUSR1, so the hook writes to a pipe that is the client's standard input.
fn hooked() -> Result<(), Failed> {
    let script = r#"mkfifo "$1/acts"; exec "$0" --acts --cwd "$1" --prompt "$2" -- "$3" <> "$1/acts""#;
    let mut client = client(&["sh", "-c", script, reference::CLIENT, "{cwd}", "{prompt}", "{agent}"]);
    let hook = ["sh", "-c", r#"echo '{"act":"cancel"}' > "$0/acts""#, "{cwd}"].map(str::to_owned).to_vec();
    client.controls.acts.insert("cancel".to_owned(), Means::Hook(hook));
    passes(CANCEL, &client)
}

/// The reference client holds each request for permission until its user decides.
fn asked() -> Result<(), Failed> {
    let start = ["--acts", "--permission", "hold", "--cwd", "{cwd}", "--prompt", "{prompt}", "--", "{agent}"];
    let mut client = client(&[&[reference::CLIENT][..], &start].concat());
    let decide = Means::Line(r#"{"act":"decide","optionId":{optionId_json}}"#.to_owned());
    client.controls.acts.insert("decide".to_owned(), decide);
    passes("v1/client/permission/allowed", &client)?;
    passes("v1/client/permission/rejected", &client)
}

fn started_there() -> Result<(), Failed> {
    let client = client(&[reference::CLIENT, "--prompt", "{prompt}", "--", "{agent}"]);
    passes("v1/client/init/minimal", &Subject { cwd: "{cwd}".into(), ..client })
}

fn named() -> Result<(), Failed> {
    let mut client = client(&[reference::CLIENT, "--cwd", "{cwd}", "--prompt", "{prompt}", "--", "some-agent"]);
    client.controls = Controls { agent_name: Some("some-agent".to_owned()), ..client.controls };
    let path = std::env::var("PATH").unwrap_or_default();
    client.env.insert("PATH".to_owned(), format!("{{agent_dir}}:{path}"));
    passes(HANDSHAKE, &client)
}

/// A transcript that stops with an open turn and another open request, which it would have answered.
const BROKEN_OFF: &str = r"
title: t
subject: client
requirements: [init.first]
agent: { session: { modes: { currentModeId: a, availableModes: [{ id: a, name: A }, { id: b, name: B }] } } }
transcript:
  - include: turn
  - user: { act: set-mode, modeId: b }
  - client: { id: mode, method: session/set_mode }
  - client?: { id: other, method: _acp-conformance/never, within: 1ms }
  - agent: { id: other, result: {} }
  - agent: { id: mode, result: {} }
";

fn left_open() -> Result<(), Failed> {
    let case = reference::written("cases/v1/client/t.yaml", BROKEN_OFF);
    let mut client = reference::subject(Party::Client, &[]);
    // Longer than any machine needs: the client exits by itself once it has its answers.
    client.limits.exit = Duration::from_secs(60);
    let trace = run_case(&case, &client);
    let ended = What::Process(ProcessEvent::Exited { code: Some(0), signal: None });
    if trace.events.iter().any(|event| event.what == ended) {
        Ok(())
    } else {
        Err("the client did not end well".into())
    }
}

fn client(command: &[&str]) -> Subject {
    let here = std::env::current_dir().expect("a current directory");
    Subject::client(command.iter().map(|word| (*word).to_owned()).collect(), here)
}

fn passes(id: &str, client: &Subject) -> Result<(), Failed> {
    client.check_client()?;
    let (cases, _) = case::embedded(&V1);
    let case = cases.iter().find(|case| case.id == id).ok_or("the case is embedded")?;
    let trace = run_case(case, client);
    let verdict = judge_case(&trace, &judge(&trace, V1.edition()), V1.catalogue());
    match verdict.verdict {
        Verdict::Pass => Ok(()),
        other => Err(format!("{other}: {}", verdict.reason.unwrap_or_default()).into()),
    }
}
