//! One case from its beginning to its end: makes the folders, starts the subject, plays the transcript, and clears up.

use std::collections::BTreeMap;
use std::io;

use serde_json::Value;

use super::driver::Driver;
use super::interrupt::{interruption, listen};
use super::mcp::McpServers;
use super::model::CaseModel;
use super::person::Key;
use super::record::Recorder;
use super::sandbox::Sandbox;
use super::script::{Script, cannot_act, own_fault};
use super::subject::{Places, Subject};
use super::tester::{Policy, Services};
use crate::case::model::{Case, PermissionPolicy, TesterSetup};
use crate::case::template::Bindings;
use crate::peer::link::Link;
use crate::peer::process::{Launch, SpawnError, reap_marked};
use crate::peer::relay::Relays;
use crate::peer::web::Web;
use crate::protocol::Edition;
use crate::requirement::Party;
use crate::trace::{Event, FORMAT, Header, ProcessEvent, Trace, What};

/// Runs one case against a fresh process of the subject, and returns everything that was observed.
///
/// It ends in bounded time whatever the subject does, and leaves no process and no file behind. A person who operates the
/// subject may have it begin again.
///
/// # Panics
///
/// Only if the operating system refuses an event loop.
#[must_use]
pub fn run_case(case: &Case, subject: &Subject) -> Trace {
    listen();
    let events = loop {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("an event loop");
        let played = runtime.block_on(play(case, subject));
        // Tasks that still hold a pipe of a process that left its group must not keep the program waiting.
        runtime.shutdown_background();
        if let Played::Whole(events) = played {
            break events;
        }
    };
    Trace { header: header(case, subject), events }
}

/// What a trace of the case is of.
pub(super) fn header(case: &Case, subject: &Subject) -> Header {
    Header {
        format: FORMAT.to_owned(),
        suite: env!("CARGO_PKG_VERSION").to_owned(),
        edition: case.edition.name.clone(),
        case: Some(case.id.clone()),
        file: case.own_file().map(str::to_owned),
        subject: Some(case.subject),
        command: subject.command.clone(),
        requirements: case.requirements.clone(),
        lacks: Vec::new(),
        fault: subject.fault.as_ref().map(|planted| planted.fault.id.clone()),
    }
}

/// How the play of a case ended.
enum Played {
    /// With everything that was observed.
    Whole(Vec<Event>),
    /// The person wants it again from the start.
    Again,
}

/// What ends a transcript.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Over,
    Interrupted,
    /// The person wants something else.
    Key(Key),
}

/// What belongs to a process of the subject, and is there as long as the process. The workspace is that of the case at hand.
pub(super) struct Premises {
    pub(super) sandbox: Sandbox,
    pub(super) places: Places,
    pub(super) launch: Launch,
}

/// A process of the subject that is ready for a case.
pub(super) struct Stage {
    pub(super) premises: Premises,
    pub(super) bindings: Bindings,
    pub(super) driver: Driver,
}

async fn play(case: &Case, subject: &Subject) -> Played {
    let stage = match enter(case, subject).await {
        Ok(stage) => stage,
        Err(recorder) => return Played::Whole(recorder.finish()),
    };
    let (script, ending) = perform(case, subject, stage).await;
    let events = leave(script).await;
    if ending == Ending::Key(Key::Repeat) { Played::Again } else { Played::Whole(events) }
}

/// Starts the subject for a case; gives the recorder back, with the reason in it, when that is not possible.
pub(super) async fn enter(case: &Case, subject: &Subject) -> Result<Stage, Recorder> {
    let mut recorder = Recorder::start();
    let model = match CaseModel::open(case, subject).await {
        Ok(model) => model,
        Err(error) => {
            recorder.record(What::Step(own_fault(format!("the scripted model could not be opened: {error}"))));
            return Err(recorder);
        }
    };
    let (sandbox, places) = match furnished(case, subject, model.as_ref().map(CaseModel::origin)) {
        Ok(furnished) => furnished,
        Err(error) => {
            recorder.record(What::Step(own_fault(format!("the folders of the case could not be made: {error}"))));
            return Err(recorder);
        }
    };
    let mut bindings = bindings(case, subject, &sandbox);
    let (mcp, web) = match hosted(case, &sandbox, &mut bindings).await {
        Ok(hosted) => hosted,
        Err(error) => {
            recorder.record(What::Step(own_fault(format!("what the subject may visit could not be made: {error}"))));
            return Err(recorder);
        }
    };
    let launch = match subject.launch(case, &sandbox, &places, &bindings) {
        Ok(launch) => launch,
        Err(why) => {
            recorder.record(What::Step(cannot_act(why)));
            return Err(recorder);
        }
    };
    let setup = case.tester.filled(&bindings);
    let mut driver = open(case.edition, &setup, subject, &sandbox, &launch, recorder)?;
    driver.host(mcp, web, model);
    if let Some(planted) = &subject.fault {
        driver.plant(planted);
    }
    Ok(Stage { premises: Premises { sandbox, places, launch }, bindings, driver })
}

/// Plays the transcript.
pub(super) async fn perform<'c>(case: &'c Case, subject: &'c Subject, stage: Stage) -> (Script<'c>, Ending) {
    let Stage { premises, bindings, driver } = stage;
    let mut limits = subject.limits.with(&case.limits);
    if let Some(planted) = &subject.fault {
        limits = limits.with(&planted.fault.limits);
    }
    let mut script = Script {
        case,
        subject,
        premises,
        hooks: Vec::new(),
        limits,
        driver,
        bindings,
        connection: 0,
        login: None,
        logins: 0,
        callers: BTreeMap::new(),
        at: 0,
        cursor: 0,
        met: vec![false; case.needs.len()],
        input_closed: false,
        sent_at: None,
        missed: None,
        told: false,
        answers_unknown: false,
        is_weak: false,
    };
    if let Some(person) = &subject.person {
        person.begin().await;
    }
    let ending = tokio::select! {
        biased;
        () = interruption() => Ending::Interrupted,
        key = decision(subject) => Ending::Key(key),
        () = script.transcript() => Ending::Over,
    };
    let why = match ending {
        Ending::Over | Ending::Key(Key::Repeat | Key::Again) => None,
        Ending::Interrupted => Some(own_fault("the run was interrupted".to_owned())),
        Ending::Key(Key::Skip) => Some(cannot_act("skipped by the person".to_owned())),
        Ending::Key(Key::Quit) => Some(cannot_act("the person ended the run".to_owned())),
    };
    if let Some(why) = why {
        script.driver.recorder.record(What::Step(why));
    }
    (script, ending)
}

/// Ends the subject with all that it started, and returns everything that was observed.
pub(super) async fn leave(script: Script<'_>) -> Vec<Event> {
    let Script { mut driver, premises, limits, input_closed, .. } = script;
    driver.answer_what_is_open();
    driver.shut_down(limits.exit, input_closed).await;
    driver.take_in_model();
    reap_marked(&premises.sandbox.marker());
    driver.recorder.finish()
}

/// Waits until the person wants something else than to go on, if there is one.
async fn decision(subject: &Subject) -> Key {
    match &subject.person {
        Some(person) => person.decision().await,
        None => std::future::pending().await,
    }
}

/// Makes the folders of a case, with what is to be in them.
pub(super) fn furnished(case: &Case, subject: &Subject, model: Option<&str>) -> io::Result<(Sandbox, Places)> {
    let sandbox = subject.desk.as_ref().map_or_else(Sandbox::make, |desk| desk.sandbox())?;
    Sandbox::write(sandbox.workspace(), case.workspace.iter().map(|(path, text)| (path, text.clone())))?;
    let places = subject.places(case, &sandbox, model)?;
    subject.furnish(&sandbox, &places)?;
    Ok((sandbox, places))
}

/// What the names of a case stand for at its start.
pub(super) fn bindings(case: &Case, subject: &Subject, sandbox: &Sandbox) -> Bindings {
    let paths = (sandbox.workspace().display().to_string(), sandbox.home().display().to_string());
    let mut bindings = Bindings::for_case(case, &paths.0, &paths.1);
    let start = subject.cwd.canonicalize().unwrap_or_else(|_| subject.cwd.clone());
    bindings.set("start", Value::from(start.display().to_string()));
    bindings
}

/// Opens what the subject may visit besides the tester, and binds the names for it.
async fn hosted(case: &Case, sandbox: &Sandbox, bindings: &mut Bindings) -> io::Result<(McpServers, Option<Web>)> {
    let names = &case.tester.mcp;
    if case.tester.page {
        let web = Web::open().await?;
        bindings.set("page", Value::from(format!("{}/page", web.origin())));
        return Ok((McpServers::default(), Some(web)));
    }
    if names.is_empty() {
        return Ok((McpServers::default(), None));
    }
    let (mcp, web) = (McpServers::open(names, &sandbox.root().join("mcp"))?, Web::open().await?);
    mcp.bind(&web.origin(), bindings);
    Ok((mcp, Some(web)))
}

/// Starts the subject; gives the recorder back, with the reason in it, when that is not possible.
fn open(
    edition: &'static Edition,
    setup: &TesterSetup,
    subject: &Subject,
    sandbox: &Sandbox,
    launch: &Launch,
    mut recorder: Recorder,
) -> Result<Driver, Recorder> {
    let link = match subject.party {
        Party::Agent => Link::to_agent(launch),
        Party::Client => match relays(subject, sandbox) {
            Ok(relays) if subject.desk.is_some() => Ok(Link::to_relays(relays)),
            Ok(relays) if subject.controls.terminal => Link::to_client_on_terminal(launch, relays),
            Ok(relays) => Link::to_client(launch, relays),
            Err(error) => {
                recorder.record(What::Step(own_fault(format!("the agent's place could not be made: {error}"))));
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
            let services = services(setup, subject, sandbox);
            Driver::of_agent(link, recorder, services, setup.clone(), edition)
        }
        Party::Client => Driver::of_client(link, recorder, setup.clone(), edition),
    })
}

/// Why the subject could not be started, and how it is installed if it is not there.
fn reason(error: &SpawnError, subject: &Subject) -> String {
    match &subject.install {
        Some(install) if error.is_missing() => format!("{error}; to install it: {install}"),
        _ => error.to_string(),
    }
}

/// What an agent may ask of the tester in a case.
pub(super) fn services(setup: &TesterSetup, subject: &Subject, sandbox: &Sandbox) -> Services {
    let policy = match setup.permission {
        PermissionPolicy::Allow => Policy::Allow,
        PermissionPolicy::Reject => Policy::Reject,
        PermissionPolicy::Hold => Policy::Hold,
        PermissionPolicy::Cancel => Policy::Cancel,
    };
    let services = Services::new(sandbox.workspace().to_owned(), &setup.capabilities, policy);
    services.set_environment(subject.surroundings(sandbox));
    services
}

fn relays(subject: &Subject, sandbox: &Sandbox) -> io::Result<Relays> {
    match &subject.desk {
        Some(desk) => desk.relays(),
        None => Relays::open(sandbox.root(), &subject.agent_path(sandbox)),
    }
}
