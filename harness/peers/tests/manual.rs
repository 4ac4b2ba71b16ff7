//! A run in which a person operates the client. The person is a script that starts the reference client with the
//! lasting path of the agent, like a user of an editor.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use acp_conformance::case::Case;
use acp_conformance::edition::V1;
use acp_conformance::judge::{judge, judge_case};
use acp_conformance::manual::{AgentFolder, Key, Keys, Person, order_for_a_person};
use acp_conformance::profile::Means;
use acp_conformance::run::{Subject, run_by_hand, run_case};
use acp_conformance::trace::Trace;
use acp_conformance::transport::relay;
use acp_conformance::verdict::Verdict;
use libtest_mimic::{Failed, Trial};
use tempfile::TempDir;

use crate::reference;

/// Longer than any machine needs, so that only a key of the person ends a wait.
const PATIENCE: Duration = Duration::from_secs(600);

const HANDSHAKE: (&str, &str) =
    ("v1/client/init/handshake", include_str!("../../../cases/v1/client/init/handshake.yaml"));

/// A mode is chosen, and the turn stopped; both by the names that people see.
const ACTS: (&str, &str) = (
    "v1/client/made-up/acts",
    "title: A person chooses a mode and stops the turn
subject: client
requirements: [cancel.notification]
workspace: { notes.txt: x }
agent:
  session: { modes: { currentModeId: ask, availableModes: [{ id: ask, name: Ask }, { id: code, name: Write code }] } }
transcript:
  - include: turn
  - file: { path: <cwd>/notes.txt, content: x }
  - user: { act: set-mode, modeId: code }
  - client?: { id: mode, method: session/set_mode, params: { modeId: code } }
  - user: { act: cancel }
  - client?: { method: session/cancel, params: { sessionId: <session> } }
",
);

/// The agent crashes, so this comes last.
const CRASH: (&str, &str) = (
    "v1/client/made-up/a-crash",
    "title: The agent ends
subject: client
requirements: [init.first]
transcript:
  - include: turn
  - agent-process: { exit: 3 }
",
);

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("manual/a-case-is-repeated-one-is-done-and-one-is-skipped", three_cases),
        Trial::test("manual/the-person-ends-the-run", ended_early),
        Trial::test("manual/an-agent-without-a-run-says-so", alone),
        Trial::test("manual/enter-shows-again-what-to-do", shown_again),
        Trial::test("manual/a-profile-may-ask-a-person-for-an-act", profile_asks_person),
    ]
}

/// The person's reaction to an instruction.
type Reaction = dyn Fn(&mut Hands, &str) + Send + Sync;

/// The person's means to act.
struct Hands {
    keys: Option<Keys>,
    shown: Vec<String>,
    editor: Option<Child>,
    agent: PathBuf,
    home: PathBuf,
}

impl Hands {
    fn press(&self, key: Key) {
        self.keys.as_ref().expect("the run has begun").press(key);
    }

    /// Starts the reference client in the project, like an editor.
    fn open_editor(&mut self, text: &str) {
        self.close_editor();
        let project = self.agent.with_file_name("project");
        let mut command = Command::new(env!("CARGO_BIN_EXE_acp-reference-client"));
        command.args(["--acts", "--prompt", text, "--cwd"]).arg(project).arg("--").arg(&self.agent);
        let client = command.env("HOME", &self.home).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        self.editor = Some(client.spawn().expect("the reference client starts"));
    }

    fn act(&mut self, act: &str) {
        let input = self.editor.as_mut().and_then(|editor| editor.stdin.as_mut());
        writeln!(input.expect("the editor runs"), "{act}").expect("the editor takes it");
    }

    fn close_editor(&mut self) {
        if let Some(mut editor) = self.editor.take() {
            drop(editor.stdin.take());
            // It has lost its agent, or soon will, since the agent ends with the case.
            let _ = editor.wait();
        }
    }

    /// Follows the instruction like any person.
    fn obey(&mut self, text: &str) {
        let text = text.trim_start();
        if let Some(prompt) = text.strip_prefix(r#"Open a new thread with the agent "acp-conformance" and send:  "#) {
            self.open_editor(prompt);
        } else if text == r#"Switch the mode to "Write code"."# {
            self.act(r#"{"act":"set-mode","modeId":"code"}"#);
        } else if text == "Stop the running turn." {
            self.act(r#"{"act":"cancel"}"#);
        }
    }
}

/// A HOME with a client and a person.
struct Room {
    _home: TempDir,
    hands: Arc<Mutex<Hands>>,
    subject: Subject,
}

impl Room {
    fn with(reaction: Box<Reaction>) -> Self {
        let home = tempfile::Builder::new().prefix("acp-").tempdir_in(relay::short_temp_dir()).expect("a folder");
        let desk = AgentFolder::take(&home.path().join("desk")).expect("a free desk");
        let hands =
            Hands { keys: None, shown: Vec::new(), editor: None, agent: desk.agent(), home: home.path().to_owned() };
        let hands = Arc::new(Mutex::new(hands));
        let mine = Arc::clone(&hands);
        let (person, keys) = Person::new(PATIENCE, move |text| {
            let mut hands = lock(&mine);
            hands.shown.push(text.to_owned());
            reaction(&mut hands, text);
        });
        lock(&hands).keys = Some(keys);
        let mut subject = Subject::client(Vec::new(), desk.project());
        subject.person = Some(person);
        subject.agent_folder = Some(Arc::new(desk));
        Self { _home: home, hands, subject }
    }

    /// Runs the cases in the order for a person, and returns the result of each.
    fn run(&self, files: &[(&str, &str)]) -> Vec<(String, Verdict, Option<String>)> {
        let mut cases: Vec<Case> = files.iter().map(|(id, text)| case(id, text)).collect();
        order_for_a_person(&mut cases, HANDSHAKE.0);
        let mut results = Vec::new();
        run_by_hand(&cases, &self.subject, |trace| {
            results.push(verdict(trace));
            true
        });
        lock(&self.hands).close_editor();
        results
    }

    fn shown(&self) -> Vec<String> {
        lock(&self.hands).shown.clone()
    }
}

fn lock(hands: &Mutex<Hands>) -> MutexGuard<'_, Hands> {
    hands.lock().unwrap_or_else(PoisonError::into_inner)
}

fn case(id: &str, text: &str) -> Case {
    reference::written(&format!("{id}.yaml"), text)
}

fn verdict(trace: &Trace) -> (String, Verdict, Option<String>) {
    let verdict = judge_case(trace, &judge(trace, V1.edition()), V1.catalogue());
    (trace.header.case.clone().unwrap_or_default(), verdict.verdict, verdict.reason)
}

fn three_cases() -> Result<(), Failed> {
    let room = Room::with(Box::new(|hands, text| {
        let begun = hands.shown.iter().filter(|shown| shown.starts_with("  Open a new thread")).count();
        match begun {
            1 if text.starts_with("  Open") => hands.press(Key::Repeat),
            4 => hands.press(Key::Skip),
            _ => hands.obey(text),
        }
    }));
    let results = room.run(&[CRASH, ACTS, HANDSHAKE]);
    let wanted = [
        (HANDSHAKE.0, Verdict::Pass, None),
        (ACTS.0, Verdict::Pass, None),
        (CRASH.0, Verdict::Inconclusive, Some("skipped by the person")),
    ];
    let wanted = wanted.map(|(id, verdict, reason)| (id.to_owned(), verdict, reason.map(str::to_owned)));
    let shown = room.shown();
    equal(&results, &wanted.to_vec(), &shown)?;
    let open = r#"  Open a new thread with the agent "acp-conformance" and send:  Hello, please answer in one word."#;
    let titles = [
        "The client starts its agent, negotiates version 1, opens a session and prompts",
        "A person chooses a mode and stops the turn",
        "The agent ends",
    ];
    let wanted = [
        &format!("\n1 of 3  {}", titles[0]),
        open,
        open,
        &format!("\n2 of 3  {}", titles[1]),
        open,
        r#"  Switch the mode to "Write code"."#,
        "  Stop the running turn.",
        &format!("\n3 of 3  {}", titles[2]),
        open,
    ];
    equal(&shown, &wanted.map(str::to_owned).to_vec(), &[])
}

fn ended_early() -> Result<(), Failed> {
    let room = Room::with(Box::new(|hands, text| {
        if text.starts_with("  Open") {
            hands.press(Key::Quit);
        }
    }));
    let results = room.run(&[HANDSHAKE, ACTS]);
    let wanted = (HANDSHAKE.0.to_owned(), Verdict::Inconclusive, Some("the person ended the run".to_owned()));
    equal(&results, &vec![wanted], &room.shown())
}

fn shown_again() -> Result<(), Failed> {
    let room = Room::with(Box::new(|hands, text| match hands.shown.len() {
        // The title and the instruction come first, then the instruction again.
        2 => hands.press(Key::Again),
        3 => hands.obey(text),
        _ => {}
    }));
    let results = room.run(&[HANDSHAKE]);
    let shown = room.shown();
    equal(&results, &vec![(HANDSHAKE.0.to_owned(), Verdict::Pass, None)], &shown)?;
    equal(&shown[1], &shown[2], &shown)
}

/// A client that a program starts, and that waits for a person to make it send a prompt.
fn profile_asks_person() -> Result<(), Failed> {
    let wait = r#"until [ -e "$0" ]; do sleep 0.01; done; exec "$@""#;
    let client = env!("CARGO_BIN_EXE_acp-reference-client");
    let command = ["sh", "-c", wait, "{cwd}/go", client, "--prompt", "Hi.", "--cwd", "{cwd}", "--", "{agent}"];
    let mut subject = Subject::client(command.map(str::to_owned).to_vec(), std::env::temp_dir());
    subject.controls.acts.insert("prompt".to_owned(), Means::Person("Write {text_json} into {cwd}/go".to_owned()));
    let handshake = case(HANDSHAKE.0, HANDSHAKE.1);
    let (_, without_person, reason) = verdict(&run_case(&handshake, &subject));
    equal(
        &(without_person, reason.as_deref()),
        &(Verdict::Inconclusive, Some("no person is at the terminal to do it")),
        &[],
    )?;

    let (person, _keys) = Person::new(PATIENCE, |text| {
        if let Some((_, file)) = text.split_once(" into ") {
            std::fs::write(file, "").expect("the folder of the case is there");
        }
    });
    subject.person = Some(person);
    equal(&verdict(&run_case(&handshake, &subject)).1, &Verdict::Pass, &[])
}

fn alone() -> Result<(), Failed> {
    let room = Room::with(Box::new(|_, _| {}));
    let agent = lock(&room.hands).agent.clone();
    let Room { _home: home, subject, .. } = room;
    drop(subject);
    let output = output_of(&agent)?;
    equal(&output.status.code(), &Some(70), &[])?;
    let said = String::from_utf8(output.stderr)?;
    equal(&said.lines().count(), &1, &[])?;
    if !said.contains("start one with `acp-conformance client --manual`") {
        return Err(said.into());
    }
    // The next run can use the folder as it is.
    AgentFolder::take(agent.parent().unwrap_or(Path::new("/")))?;
    drop(home);
    Ok(())
}

/// Runs the agent. A program that another test starts while the file is written holds it open until its own start.
fn output_of(agent: &Path) -> io::Result<Output> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        match Command::new(agent).stdin(Stdio::null()).output() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && Instant::now() < deadline => yield_now(),
            result => return result,
        }
    }
}

fn equal<T: PartialEq + std::fmt::Debug>(found: &T, wanted: &T, shown: &[String]) -> Result<(), Failed> {
    if found == wanted { Ok(()) } else { Err(format!("found {found:#?}\nwanted {wanted:#?}\ntold {shown:#?}").into()) }
}
