//! A session from its beginning to its end.

use std::any::Any;
use std::fs::File;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, ScopedJoinHandle};

use super::ear::Ear;
use super::follow::{Follow, Progress};
use super::scribe::Scribe;
use super::tap::Tap;
use super::way::{Broken, Way};
use crate::fault::Planted;
use crate::peer::between::{Between, Start};
use crate::peer::process::give_way;
use crate::protocol::Edition;
use crate::report::model::{RequirementReport, RunReport};
use crate::requirement::Party;
use crate::trace::{Header, Lack, ReadError};

/// What is known of a session before it begins.
#[derive(Debug)]
pub struct Plan {
    /// How findings call it.
    pub name: String,
    /// The command line of the agent.
    pub command: Vec<String>,
    /// A fault that is put into what one of the parties says.
    pub fault: Option<Planted>,
}

/// Stands between client and agent until both have ended, and reports on the agent and on the client.
///
/// What goes wrong in here is told to `say`, and keeps nothing from being passed on; then there may be no report. Findings
/// are told to `live` as they come.
pub fn stand(
    between: Between,
    plan: &Plan,
    live: Option<&(dyn Fn(&RequirementReport) + Sync)>,
    say: &dyn Fn(&str),
) -> Option<Vec<RunReport>> {
    stand_with(between, plan, say, |trace| Ear::new(trace, plan).judge(live))
}

fn stand_with(
    between: Between,
    plan: &Plan,
    say: &dyn Fn(&str),
    judge: impl FnOnce(Follow<'_>) -> Result<Vec<RunReport>, ReadError> + Send,
) -> Option<Vec<RunReport>> {
    let Between { from_client, to_client, from_agent, to_agent, record, pid, start } = between;
    let broken = plan.fault.as_ref().map(|planted| Broken {
        party: planted.fault.party,
        injector: Mutex::new(planted.injector()),
    });
    let (tap, progress) = (Tap::new(), Progress::default());
    let (trouble, troubles) = channel();
    let way = |party, from, to| Way { party, from, to, tap: &tap, trouble: trouble.clone() };
    let ways = [way(Party::Client, from_client, to_agent), way(Party::Agent, from_agent, to_client)];
    let header = header(plan);
    thread::scope(|scope| {
        let (tap, progress, record, broken) = (&tap, &progress, &record, broken.as_ref());
        let pumps = ways.map(|way| {
            scope.spawn(move || match broken {
                Some(broken) => way.pump_broken(broken),
                None => way.pump(),
            })
        });
        let scribe_trouble = trouble.clone();
        scope.spawn(move || {
            give_way();
            write(record, &header, (pid, start), tap, progress, &scribe_trouble);
        });
        let judge = scope.spawn(|| {
            give_way();
            judge(Follow::new(record, progress))
        });
        scope.spawn(move || {
            for pump in pumps {
                let _ = pump.join();
            }
            tap.close();
        });
        drop(trouble);
        // The threads that pump must not wait for whoever reads what is said.
        let told = troubles.iter().inspect(|text| say(&format!("{text}; {GOES_ON}"))).count();
        outcome(judge, told > 0, say)
    })
}

const GOES_ON: &str = "from here on nothing is recorded or judged, and the session goes on";

/// What the judge says; nothing when what it heard was cut off.
fn outcome(
    judge: ScopedJoinHandle<'_, Result<Vec<RunReport>, ReadError>>,
    cut_off: bool,
    say: &dyn Fn(&str),
) -> Option<Vec<RunReport>> {
    let why = match judge.join() {
        Ok(Ok(reports)) => return Some(reports),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => words(&*panic).to_owned(),
    };
    if !cut_off {
        say(&format!("the judge failed ({why}), and nothing is reported"));
    }
    None
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("for no reason")
}

fn write(
    record: &File,
    header: &Header,
    (pid, start): (u32, Start),
    tap: &Tap,
    progress: &Progress,
    trouble: &Sender<String>,
) {
    let written = Scribe::new(record, header).and_then(|scribe| scribe.write(pid, start, tap, progress));
    if let Err(error) = written {
        tap.cut_off();
        let _ = trouble.send(format!("the trace cannot be written: {error}"));
    }
    progress.end();
}

fn header(plan: &Plan) -> Header {
    // Who is told to end, by a signal that goes to the agent itself, is seen by nobody else.
    let mut header = Header::of_recording(Edition::v1().name, vec![Lack::Processes]);
    header.command.clone_from(&plan.command);
    header.fault = plan.fault.as_ref().map(|planted| planted.fault.id.clone());
    header
}
