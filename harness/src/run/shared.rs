//! Runs several cases in one conversation: one process and one `initialize`, and a separate session for each case. A
//! case may start the agent again; the next ones then go on with that process.
//!
//! Cases of an agent that list sessions, or cancel a turn that may write, have separate workspaces; the others share
//! one, which is empty when a case begins. Each case of a client has a workspace of its own, in which the client's user
//! opens a new session.
//!
//! The trace covers the whole conversation. A failure that a case shows only here does not count by itself: the caller
//! runs the case again alone.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::time::Instant;

use super::case::RunningCase;
use super::channel::Channel;
use super::conversation::Conversation;
use super::environment::{CaseEnv, Sandbox, Subject, bindings, open_services, refuses_initialize, services};
use super::interrupt::{listen, stopped};
use super::single::{Ending, ReadyCase, conversation_header, finish, last_fence, run_transcript, start};
use super::timing::LAST_ANSWERS;
use crate::case::model::{Action, Body, Case, Outgoing, TesterSetup};
use crate::case::own_sessions::with_own_sessions;
use crate::case::template::Bindings;
use crate::model::ASKED_FILE;
use crate::profile::places;
use crate::requirement::Party;
use crate::trace::{CaseInfo, CaseMark, Event, INVENTED, Trace, What};
use crate::wire::{Content, Envelope, RpcId, read_line};

/// Follows a conversation while it runs.
pub(super) trait Follower {
    /// The case at this position begins.
    fn started(&self, _case: usize) {}

    /// The case at this position is over, and another one follows. These events came since the one before was over.
    fn over(&self, _case: usize, _events: &[Event]) {}

    /// Whether the case at this position may begin, which is the number of those that are over.
    fn goes_on(&self, _case: usize) -> bool {
        true
    }

    /// Only the exit of the process is still to come.
    fn ending(&self) {}
}

/// Runs cases in one conversation until all are done or the process cannot continue, and returns the trace with the
/// number of cases that it holds.
///
/// # Panics
///
/// If the operating system refuses an event loop.
pub(super) fn run_conversation(
    cases: &[&Case],
    number: usize,
    subject: &Subject,
    follower: &impl Follower,
) -> (Trace, usize) {
    listen();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("an event loop");
    let (events, done) = run_cases(&runtime, cases, subject, follower);
    // Tasks that still hold a pipe of a process that left its group must not keep the program waiting.
    runtime.shutdown_background();
    (Trace { header: conversation_header(cases[0], number, subject), events }, done)
}

fn run_cases(runtime: &Runtime, cases: &[&Case], subject: &Subject, follower: &impl Follower) -> (Vec<Event>, usize) {
    follower.started(0);
    let ReadyCase { mut env, mut bindings, mut conversation } =
        match runtime.block_on(start(cases[0], subject, Some(begins(cases[0])))) {
            Ok(ready) => ready,
            Err(recorder) => return (recorder.finish(), 1),
        };
    let (mut done, mut current, mut shown) = (0, Cow::Borrowed(cases[0]), 0);
    loop {
        let mut running = RunningCase::new(&current, subject, &env, &mut conversation, bindings.clone());
        let end = runtime.block_on(run_transcript(&mut running));
        done += 1;
        let next = cases.get(done).filter(|_| end == Ending::Over && stopped().is_none() && follower.goes_on(done));
        let can_go_on = next.is_some() && runtime.block_on(leave(&mut running));
        let closing = running.close();
        runtime.block_on(conversation.end_services());
        conversation.take_in_model();
        env.sandbox.clear_workspace(named_files(cases[done - 1], &bindings).iter().map(PathBuf::as_path));
        let next = next.map(|next| for_place(next, done));
        let ready = next.filter(|_| can_go_on).and_then(|next| {
            prepare(&mut env, &mut conversation, (done, &next), subject).ok()?;
            bindings = self::bindings(&next, subject, &env.sandbox);
            let servers = runtime.block_on(open_services(&next, &env.sandbox, &mut bindings)).ok()?;
            Some((next, servers))
        });
        let Some((next, servers)) = ready else {
            follower.ending();
            return (runtime.block_on(finish(conversation, &env, closing)), done);
        };
        let setup = next.tester.filled(&bindings);
        let services = |setup: &TesterSetup| services(next.edition.adapter, setup, subject, &env.sandbox);
        conversation = conversation.go_on(services, servers, setup, begins(&next));
        // With the mark of the next case, since it decides what the end of this one decides.
        let events = conversation.state.recorder.events();
        follower.over(done - 1, &events[shown..]);
        shown = events.len();
        follower.started(done);
        current = next;
    }
}

/// Returns the case for its place in the conversation. A client remembers the ids of the sessions that the cases before
/// named.
fn for_place(case: &Case, number: usize) -> Cow<'_, Case> {
    match case.subject {
        Party::Agent => Cow::Borrowed(case),
        Party::Client => Cow::Owned(with_own_sessions(case, number)),
    }
}

/// Makes the workspace of another case, with its number in the conversation.
fn prepare(
    env: &mut CaseEnv,
    conversation: &mut Conversation,
    (number, case): (usize, &Case),
    subject: &Subject,
) -> io::Result<()> {
    env.sandbox.begin_workspace(number, needs_own_workspace(case))?;
    if case.subject == Party::Client {
        let url = env.places.get(places::URL).cloned();
        env.places = subject.places(case, &env.sandbox, None, url.as_deref())?;
    }
    conversation.turn_model_to(&case.id)?;
    Sandbox::write(env.sandbox.workspace(), case.workspace.iter().map(|(path, file)| (path, file.clone())))
}

/// The intents for which an agent may write a file or start a command, which may outlast a cancelled turn.
const WRITING: [&str; 6] =
    ["ask-and-wait", "ask-permission", "edit-file", "run-command", "run-in-background", "write-file"];

/// Whether the case lists the sessions of a workspace, or cancels a turn that may still write a file after the case.
/// The cases of a client each have their own.
fn needs_own_workspace(case: &Case) -> bool {
    if case.subject == Party::Client {
        return true;
    }
    let calls = |wanted: &str| case.sent().any(|line| line.method() == Some(wanted));
    let writes = || case.sent().filter_map(Outgoing::intent).any(|intent| WRITING.contains(&intent));
    calls("session/list") || (calls("session/cancel") || calls("$/cancel_request")) && writes()
}

/// The files that the case wrote or named to the agent; some of the paths may lie outside of the workspace.
fn named_files(case: &Case, bindings: &Bindings) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = case.workspace.iter().map(|(path, _)| PathBuf::from(path)).collect();
    files.push(ASKED_FILE.into());
    for step in &case.steps {
        match &step.action {
            Action::File(check) => files.push(check.path.render(bindings).into()),
            Action::Process(check) => files.push(check.pid_file.render(bindings).into()),
            Action::Send(lines) => {
                let params = lines.iter().filter_map(|line| match &line.body {
                    Body::Request { params, .. } => params.as_ref(),
                    _ => None,
                });
                params.for_each(|params| add_paths(&bindings.interpolate(params), &mut files));
            }
            _ => {}
        }
    }
    files
}

/// Adds the texts of a value that are absolute paths, and the paths of intents, which may be relative.
fn add_paths(value: &Value, files: &mut Vec<PathBuf>) {
    match value {
        Value::String(text) if text.starts_with('/') => files.push(text.into()),
        Value::Array(items) => items.iter().for_each(|item| add_paths(item, files)),
        Value::Object(members) => {
            files.extend(members.get("path").and_then(Value::as_str).map(PathBuf::from));
            members.values().for_each(|member| add_paths(member, files));
        }
        _ => {}
    }
}

fn begins(case: &Case) -> What {
    What::Case(CaseMark::Begins(CaseInfo {
        id: case.id.clone(),
        title: Some(case.title.clone()),
        file: case.own_file().map(str::to_owned),
        requirements: case.requirements.clone(),
    }))
}

/// Ends a case, and returns whether the process can serve another one: its input is open, it agreed to `initialize`,
/// answers a fence, and every request of the tester has its answer. A client must also keep to one connection.
///
/// An unanswered request may belong to a turn that still runs; its late messages would arrive in the next case.
async fn leave(running: &mut RunningCase<'_, Conversation>) -> bool {
    running.channel.record(What::Case(CaseMark::Ends));
    if running.input_closed {
        return false;
    }
    let is_answered = last_fence(running).await;
    let subject = running.case.subject;
    let is_connected = subject == Party::Agent || running.channel.is_one_connection();
    let recorder = &running.channel.state.recorder;
    // Nothing that follows in this process would be about another case.
    let is_open = subject == Party::Client || !refuses_initialize(recorder.of_case());
    is_answered && is_connected && is_open && has_all_answers(running.channel, subject).await
}

/// Waits for the last answers to requests of the case, and returns whether all came.
async fn has_all_answers(conversation: &mut Conversation, subject: Party) -> bool {
    let is_done = |it: &Conversation| !awaits_answers(subject, it.state.recorder.of_case());
    conversation.until(Instant::now() + LAST_ANSWERS, is_done).await
}

/// Whether the subject has not answered a request of the tester.
fn awaits_answers<'e>(subject: Party, events: impl Iterator<Item = &'e Event>) -> bool {
    let mut open = HashSet::new();
    for event in events {
        let What::Line { from, bytes, deliberate, .. } = &event.what else { continue };
        let Content::One { value, .. } = read_line(bytes) else { continue };
        match Envelope::of(&value) {
            // A subject may ignore a line that breaks the protocol, and some ignore requests that they do not know.
            Envelope::Call(call) if *from != subject && !deliberate && !call.method.starts_with(INVENTED) => {
                open.extend(call.id.map(RpcId::new));
            }
            Envelope::Response { id: Some(id), .. } if *from == subject => {
                open.remove(&RpcId::new(id));
            }
            _ => {}
        }
    }
    !open.is_empty()
}
