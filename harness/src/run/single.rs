//! Runs one case in a process of its own: prepares its environment, starts the subject, runs the transcript, and cleans
//! up.

use std::io;

use super::case::{Closing, RunningCase, cannot_act, own_fault};
use super::channel::Channel;
use super::conversation::{Conversation, Hosted};
use super::environment::{CaseEnv, CaseModel, Start, Subject, bindings, open_services, prepare_dirs, services};
use super::interrupt::{interruption, listen};
use super::recorder::Recorder;
use super::timing::FENCE_BETWEEN_CASES;
use super::transcript;
use crate::case::Bindings;
use crate::case::model::{Case, TesterSetup};
use crate::manual::Key;
use crate::protocol::Edition;
use crate::requirement::Party;
use crate::trace::{Event, FORMAT, Header, Observed, Outcome, ProcessEvent, StepEvent, Trace, What};
use crate::transport::endpoint::Endpoint;
use crate::transport::link::{Entrance, Link};
use crate::transport::process::{SpawnError, reap_marked};

/// Runs one case against a fresh process of the subject, and returns its trace.
///
/// It ends in bounded time whatever the subject does, and leaves no process or file. A person who operates the subject
/// may restart it.
///
/// # Panics
///
/// If the operating system refuses an event loop.
pub fn run_case(case: &Case, subject: &Subject) -> Trace {
    run_case_until(case, subject, false, &|| ())
}

/// Runs one case like [`run_case`]. After the transcript, `goes_on` as far as in a conversation of several cases.
/// `ending` is called when only the exit of the subject is still to come.
pub(super) fn run_case_until(case: &Case, subject: &Subject, goes_on: bool, ending: &dyn Fn()) -> Trace {
    listen();
    let events = loop {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("an event loop");
        let events = runtime.block_on(run_once(case, subject, goes_on, ending));
        // Tasks that still hold a pipe of a process that left its group must not keep the program waiting.
        runtime.shutdown_background();
        if let Some(events) = events {
            break events;
        }
    };
    Trace { header: header(case, subject), events }
}

/// Returns the header of a trace of the case.
fn header(case: &Case, subject: &Subject) -> Header {
    Header {
        format: FORMAT.to_owned(),
        suite: env!("CARGO_PKG_VERSION").to_owned(),
        edition: case.edition.name.clone(),
        transport: subject.reach.transport,
        bridged: None,
        exact_edition: subject.exact_edition,
        case: Some(case.id.clone()),
        title: Some(case.title.clone()),
        conversation: None,
        walk: case.is_walk(),
        file: case.own_file().map(str::to_owned),
        subject: Some(case.subject),
        command: subject.command_line(),
        requirements: case.requirements.clone(),
        lacks: Vec::new(),
        remarks: Vec::new(),
    }
}

/// Returns the header of the trace of a conversation that holds several cases, the first of which is `case`.
pub(super) fn conversation_header(case: &Case, number: usize, subject: &Subject) -> Header {
    Header {
        case: None,
        title: None,
        conversation: Some(number),
        file: None,
        requirements: Vec::new(),
        ..header(case, subject)
    }
}

/// The reason why a transcript ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Over,
    Interrupted,
    /// The person pressed a key.
    Key(Key),
}

/// A process of the subject that is ready for a case.
pub(super) struct ReadyCase {
    pub(super) env: CaseEnv,
    pub(super) bindings: Bindings,
    pub(super) conversation: Conversation,
}

/// Runs the case once; `None` if the person wants to restart it.
async fn run_once(case: &Case, subject: &Subject, goes_on: bool, ending: &dyn Fn()) -> Option<Vec<Event>> {
    let ReadyCase { env, bindings, mut conversation } = match start(case, subject, None).await {
        Ok(ready) => ready,
        Err(recorder) => return Some(recorder.finish()),
    };
    let mut running = RunningCase::new(case, subject, &env, &mut conversation, bindings);
    let end = run_transcript(&mut running).await;
    if goes_on && end == Ending::Over && !running.input_closed {
        last_fence(&mut running).await;
    }
    let closing = running.close();
    ending();
    let events = finish(conversation, &env, closing).await;
    (end != Ending::Key(Key::Repeat)).then_some(events)
}

/// Starts the subject for a case. If that is impossible, returns the recorder with the reason in it. `mark` is recorded
/// first.
pub(super) async fn start(case: &Case, subject: &Subject, mark: Option<What>) -> Result<ReadyCase, Recorder> {
    let secrets = subject.reach.headers.iter().map(|(_, value)| value.as_str());
    let mut recorder = Recorder::start().hiding(secrets);
    if let Some(mark) = mark {
        recorder.record(mark);
    }
    let (env, bindings, mut hosted) = match prepare(case, subject).await {
        Ok(prepared) => prepared,
        Err(why) => {
            recorder.record(What::Step(why));
            return Err(recorder);
        }
    };
    let setup = case.tester.filled(&bindings);
    let mut conversation = open(case.edition, &setup, subject, &env, hosted.endpoint.take(), recorder)?;
    conversation.host(hosted);
    Ok(ReadyCase { env, bindings, conversation })
}

/// Prepares everything but the subject; returns the reason if that is impossible.
async fn prepare(case: &Case, subject: &Subject) -> Result<(CaseEnv, Bindings, Hosted), StepEvent> {
    let failed = |what: &str, error: io::Error| own_fault(format!("{what}: {error}"));
    let model =
        CaseModel::open(case, subject).await.map_err(|error| failed("cannot open the scripted model", error))?;
    let endpoint = match subject.is_dialing() {
        true => Some(
            Endpoint::open(subject.reach.transport).await.map_err(|error| failed("cannot serve the client", error))?,
        ),
        false => None,
    };
    let url =
        endpoint.as_ref().map(Endpoint::url).transpose().map_err(|error| failed("cannot serve the client", error))?;
    let (sandbox, places) = prepare_dirs(case, subject, model.as_ref().map(CaseModel::origin), url.as_deref())
        .map_err(|error| failed("cannot make the folders of the case", error))?;
    let mut bindings = bindings(case, subject, &sandbox);
    let (mcp, web) = open_services(case, &sandbox, &mut bindings)
        .await
        .map_err(|error| failed("cannot open the servers of the case", error))?;
    let launch =
        subject.launch(case, &sandbox, &places, &bindings).map_err(|missing| cannot_act(missing.observed()))?;
    let start = Start::new(launch, subject, &places).map_err(|error| own_fault(error.to_string()))?;
    Ok((CaseEnv { sandbox, places, start }, bindings, Hosted { mcp, web, model, endpoint }))
}

/// Sends a fence after the transcript, and returns whether it was answered.
///
/// The subject has then read everything, and what it sent meanwhile is in the trace.
pub(super) async fn last_fence(running: &mut RunningCase<'_, Conversation>) -> bool {
    running.is_over = true;
    running.channel.answer_open_requests();
    let fence = running.fence(FENCE_BETWEEN_CASES).await;
    let is_answered = fence.outcome == Outcome::Done;
    running.channel.record(What::Step(StepEvent { text: "a fence after the case".to_owned(), ..fence.event() }));
    is_answered
}

/// Runs the transcript until it is over, the run is interrupted, or the person presses a key.
pub(super) async fn run_transcript<C: Channel>(running: &mut RunningCase<'_, C>) -> Ending {
    let subject = running.subject;
    if let Some(person) = &subject.person {
        person.begin().await;
    }
    let ending = tokio::select! {
        biased;
        () = interruption() => Ending::Interrupted,
        // Without a person, this branch is disabled.
        Some(key) = async { Some(subject.person.as_ref()?.decision().await) } => Ending::Key(key),
        () = transcript::run(running) => Ending::Over,
    };
    let why = match ending {
        Ending::Over | Ending::Key(Key::Repeat | Key::Again) => None,
        Ending::Interrupted => Some(cannot_act(Observed::RunEnded)),
        Ending::Key(Key::Skip) => Some(cannot_act(Observed::Problem("skipped by the person".to_owned()))),
        Ending::Key(Key::Quit) => Some(cannot_act(Observed::Problem("the person ended the run".to_owned()))),
    };
    if let Some(why) = why {
        running.channel.record(What::Step(why));
    }
    ending
}

/// Ends the subject with everything that it started, and returns its trace.
pub(super) async fn finish(mut conversation: Conversation, env: &CaseEnv, closing: Closing) -> Vec<Event> {
    conversation.answer_open_requests();
    conversation.shut_down(&closing, &env.sandbox.marker()).await;
    conversation.take_in_model();
    reap_marked(&env.sandbox.marker());
    conversation.state.recorder.finish()
}

/// Starts the subject. If that is impossible, returns the recorder with the reason in it.
fn open(
    edition: &'static Edition,
    setup: &TesterSetup,
    subject: &Subject,
    env: &CaseEnv,
    endpoint: Option<Endpoint>,
    mut recorder: Recorder,
) -> Result<Conversation, Recorder> {
    let link = match subject.party {
        Party::Agent => env.start.link(0),
        Party::Client => match endpoint
            .map_or_else(|| subject.relays(&env.sandbox).map(Entrance::Relays), |it| Ok(Entrance::Endpoint(it)))
        {
            Ok(Entrance::Relays(relays)) if subject.agent_folder.is_some() => Ok(Link::to_relays(relays)),
            Ok(agent) if subject.controls.terminal => Link::to_client_on_terminal(&env.start.launch, agent),
            Ok(agent) => Link::to_client(&env.start.launch, agent),
            Err(error) => {
                recorder.record(What::Step(own_fault(format!("cannot create the relay of the agent: {error}"))));
                return Err(recorder);
            }
        },
    };
    let link = match link {
        Ok(link) => link,
        Err(error) => {
            recorder.record(What::Process(ProcessEvent::NotSpawned(reason(&error, subject))));
            return Err(recorder);
        }
    };
    Ok(match subject.party {
        Party::Agent => {
            let services = services(edition.adapter, setup, subject, &env.sandbox);
            Conversation::with_agent(link, recorder, services, setup.clone(), edition)
        }
        Party::Client => Conversation::with_client(link, recorder, setup.clone(), edition),
    })
}

/// Explains why the subject could not be started, and how to install it if it was not found.
fn reason(error: &SpawnError, subject: &Subject) -> String {
    match &subject.install {
        Some(install) if error.is_missing() => format!("{error}; to install it: {install}"),
        _ => error.to_string(),
    }
}
