//! Looks at what a conversation left behind: the text of a turn, files and processes.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::expect::answers;
use super::script::{Report, Script};
use crate::case::MARKER;
use crate::case::model::{FileLook, FileWant, Presence, ProcessLook, ReplyText};
use crate::case::template::Template;
use crate::peer::folder::read_file;
use crate::peer::process::is_running;
use crate::trace::{Excerpt, Expected, ExpectedText, Observed, Outcome, StepKind};
use crate::wire::push_text;

/// How often a file or a process is looked at that is not yet as it should be.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Compares the text that the agent streamed in a turn.
pub(super) fn reply(script: &mut Script<'_>, look: &ReplyText) -> Report {
    let whole = text_of_turn(script, &look.label);
    let text = without_prompt(script, &look.label, &whole);
    let rendered = |template: &Option<Template>| template.as_ref().map(|template| template.render(&script.bindings));
    let wanted = [
        rendered(&look.contains).map(|t| (text.contains(&t), Expected::Reply(ExpectedText::Contains(Excerpt::of(&t))))),
        rendered(&look.equals).map(|t| (text == t, Expected::Reply(ExpectedText::Equals(Excerpt::of(&t))))),
        rendered(&look.lacks).map(|t| (!text.contains(&t), Expected::Reply(ExpectedText::Lacks(Excerpt::of(&t))))),
        look.empty.map(|empty| (text.is_empty() == empty, Expected::AnyReply(!empty))),
    ];
    let events = script.driver.asked.get(&look.label).map(|asked| asked.n).into_iter().collect();
    match wanted.into_iter().flatten().find(|(good, _)| !good) {
        None => Report { events, ..Report::new(StepKind::Reply, Outcome::Done) },
        Some((_, expected)) => {
            let outcome = if look.presence == Presence::Must { Outcome::Contradicted } else { Outcome::Missed };
            Report {
                events,
                expected: Some(expected),
                observed: Some(Observed::Reply { text: Excerpt::of(&text), repeats_prompt: text != whole }),
                ..Report::new(StepKind::Reply, outcome)
            }
        }
    }
}

/// The text of all `agent_message_chunk`s of the session between a prompt and its answer.
fn text_of_turn(script: &Script<'_>, label: &str) -> String {
    let Some(asked) = script.driver.asked.get(label) else { return String::new() };
    let session = asked.params.get("sessionId");
    let mut text = String::new();
    for seen in script.driver.inbox[asked.from..].iter().take_while(|seen| !answers(&seen.value, &asked.id)) {
        let params = seen.value.get("params");
        let update = params.and_then(|params| params.get("update"));
        let chunk = update.filter(|update| update.get("sessionUpdate") == Some(&Value::from("agent_message_chunk")));
        if params.and_then(|params| params.get("sessionId")) == session
            && let Some(piece) = chunk.and_then(|chunk| chunk.pointer("/content/text")?.as_str())
        {
            push_text(&mut text, piece);
        }
    }
    text
}

/// The text without what repeats the prompt as a whole: the words of an intent show nothing when they only come back.
fn without_prompt(script: &Script<'_>, label: &str, text: &str) -> String {
    let prompt = script.driver.asked.get(label).and_then(|asked| asked.params.get("prompt")?.as_array());
    let blocks = prompt.into_iter().flatten().filter_map(|block| block.get("text")?.as_str());
    let intents = blocks.filter(|block| block.contains(MARKER));
    intents.fold(text.to_owned(), |text, intent| text.replace(intent, ""))
}

/// Compares a file on disk, which may take a while to become as it should be.
pub(super) async fn file(script: &mut Script<'_>, look: &FileLook, within: Option<Duration>) -> Report {
    let deadline = Instant::now() + patience(script, within.unwrap_or_default());
    loop {
        let report = file_now(script, look);
        if report.outcome == Outcome::Done || !again(script, deadline).await {
            return report;
        }
    }
}

/// How long a look may take. Behind something that was hoped for in vain it decides nothing, and is not worth a wait.
fn patience(script: &Script<'_>, limit: Duration) -> Duration {
    if script.missed.is_some() { Duration::ZERO } else { script.after_an_act(limit) }
}

/// Takes in what comes until it is time to look again; false when there is no time left.
async fn again(script: &mut Script<'_>, deadline: Instant) -> bool {
    let now = Instant::now();
    script.driver.until((now + LOOK_AGAIN).min(deadline), |_| false).await;
    tokio::time::sleep_until((now + LOOK_AGAIN).min(deadline)).await;
    now < deadline
}

/// Looks whether a process runs, which may take a while to become as it should be.
pub(super) async fn process(script: &mut Script<'_>, look: &ProcessLook, within: Option<Duration>) -> Report {
    let deadline = Instant::now() + patience(script, within.unwrap_or(script.limits.answer));
    loop {
        let report = process_now(script, look);
        if report.outcome == Outcome::Done || !again(script, deadline).await {
            return report;
        }
    }
}

fn process_now(script: &Script<'_>, look: &ProcessLook) -> Report {
    let path = look.pid_file.render(&script.bindings);
    let text = read_file(Path::new(&path)).unwrap_or_default();
    let Ok(pid) = String::from_utf8_lossy(&text).trim().parse::<u32>() else {
        let observed = Some(Observed::NoProcessId { path });
        return Report { observed, ..Report::new(StepKind::Process, Outcome::Missed) };
    };
    let runs = is_running(pid);
    if runs == look.running {
        return Report::new(StepKind::Process, Outcome::Done);
    }
    Report {
        expected: Some(Expected::Process { pid, running: look.running }),
        observed: Some(Observed::Process { running: runs }),
        ..Report::new(StepKind::Process, Outcome::Contradicted)
    }
}

fn is_absent(path: &Path) -> bool {
    let gone = |error: io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    path.symlink_metadata().is_err_and(gone)
}

/// Looks whether any request for the page of the case has come so far.
pub(super) async fn page(script: &mut Script<'_>, visited: bool) -> Report {
    script.driver.take_in_visits().await;
    let events = script.driver.visits.clone();
    if events.is_empty() != visited {
        return Report::new(StepKind::Page, Outcome::Done);
    }
    Report {
        events,
        expected: Some(Expected::PageVisit(visited)),
        observed: Some(Observed::PageVisit(!visited)),
        ..Report::new(StepKind::Page, Outcome::Contradicted)
    }
}

fn file_now(script: &Script<'_>, look: &FileLook) -> Report {
    let path = look.path.render(&script.bindings);
    let found = read_file(Path::new(&path));
    let bindings = &script.bindings;
    let (good, expected) = match &look.want {
        FileWant::Absent => (is_absent(Path::new(&path)), Expected::NoFile(path)),
        FileWant::Content(text) => {
            let text = text.render(bindings);
            let good = found.as_ref().is_ok_and(|bytes| bytes == text.as_bytes());
            (good, Expected::File { path, content: ExpectedText::Equals(Excerpt::of(&text)) })
        }
        FileWant::Contains(text) => {
            let text = text.render(bindings);
            let good = found.as_ref().is_ok_and(|bytes| String::from_utf8_lossy(bytes).contains(&text));
            (good, Expected::File { path, content: ExpectedText::Contains(Excerpt::of(&text)) })
        }
    };
    if good {
        return Report::new(StepKind::File, Outcome::Done);
    }
    let observed = match found {
        Ok(bytes) => Observed::File(Excerpt::of(&String::from_utf8_lossy(&bytes))),
        Err(error) => Observed::FileUnreadable(error.to_string()),
    };
    let (expected, observed) = (Some(expected), Some(observed));
    Report { expected, observed, ..Report::new(StepKind::File, Outcome::Contradicted) }
}
