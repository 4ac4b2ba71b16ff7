//! Runs a session from its beginning to its end.

use std::any::Any;
use std::fs::File;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use super::follow::{Follow, Written};
use super::live_judge::LiveJudge;
use super::network::Network;
use super::reported::Reported;
use super::scribe::Scribe;
use super::tap::Tap;
use super::watched::{MonitorWarnings, SessionReports, WatchedSession};
use super::way::Way;
use crate::requirement::Party;
use crate::results::RequirementReport;
use crate::trace::{Header, Lack, ReadError};
use crate::transport::between::{Between, Start};
use crate::transport::process::give_way;

/// Forwards between client and agent until both have ended, and reports on both.
///
/// `write` gets the reports before the client reads the end of the agent's output, unless that takes long. Errors
/// of the monitor go to `say` and never stop the forwarding; then there may be no report. Findings go to `live` as they
/// come.
pub fn stand(
    between: Between,
    session: &WatchedSession,
    live: Option<&(dyn Fn(&RequirementReport) + Sync)>,
    say: &dyn Fn(&str),
    write: impl FnOnce(&SessionReports),
) -> Option<SessionReports> {
    stand_with(between, session, say, |trace| LiveJudge::new(trace, session).judge(live), write)
}

fn stand_with(
    between: Between,
    session: &WatchedSession,
    say: &dyn Fn(&str),
    judge: impl FnOnce(Follow<'_>) -> Result<SessionReports, ReadError> + Send,
    write_reports: impl FnOnce(&SessionReports),
) -> Option<SessionReports> {
    let Between { from_client, to_client, from_agent, to_agent, record, pid, start } = between;
    // Without a second handle, the client would read the end before the reports are written.
    let to_client_held = to_client.try_clone().ok();
    let carry = |tap: &Tap, reported: &Reported, trouble: Sender<String>| {
        let way = |party, from, to| Way { party, from, to, tap, trouble: trouble.clone() };
        let (of_client, of_agent) =
            (way(Party::Client, from_client, to_agent), way(Party::Agent, from_agent, to_client));
        drop(trouble);
        thread::scope(|scope| {
            let client = scope.spawn(move || of_client.pump());
            let agent = scope.spawn(move || of_agent.pump());
            let ((agent_ended, agent_end), (client_ended, client_end)) = (channel(), channel());
            scope.spawn(move || {
                let _ = agent.join();
                let _ = agent_ended.send(());
                // An agent that closed only its output may go on for hours.
                if client_end.recv_timeout(BOTH_END).is_ok() {
                    reported.wait();
                }
                drop(to_client_held);
            });
            scope.spawn(move || {
                let _ = client.join();
                let _ = client_ended.send(());
                let _ = agent_end.recv();
                tap.close();
            });
        });
    };
    watch(&record, session, Some((pid, start)), say, judge, write_reports, carry)
}

/// Serves the sessions of a network until they are to end, and reports on both parties; see [`stand`].
pub fn stand_on_network(
    network: Network,
    record: &File,
    session: &WatchedSession,
    live: Option<&(dyn Fn(&RequirementReport) + Sync)>,
    warnings: &MonitorWarnings<'_>,
    write: impl FnOnce(&SessionReports),
) -> Option<SessionReports> {
    let MonitorWarnings { own_fault, unreached } = *warnings;
    let carry = |tap: &Tap, _: &Reported, trouble: Sender<String>| {
        network.carry(tap, &trouble, unreached);
        tap.close();
    };
    watch(record, session, None, own_fault, |trace| LiveJudge::new(trace, session).judge(live), write, carry)
}

/// Records and checks what `carry` notes in the tap, which it closes at the end.
fn watch(
    record: &File,
    session: &WatchedSession,
    start: Option<(u32, Start)>,
    say: &dyn Fn(&str),
    judge: impl FnOnce(Follow<'_>) -> Result<SessionReports, ReadError> + Send,
    write_reports: impl FnOnce(&SessionReports),
    carry: impl FnOnce(&Tap, &Reported, Sender<String>) + Send,
) -> Option<SessionReports> {
    let (tap, progress, reported) = (Tap::new(), Written::default(), Reported::default());
    let (trouble, troubles) = channel();
    let header = header(session);
    thread::scope(|scope| {
        let (tap, progress, reported) = (&tap, &progress, &reported);
        let scribe_trouble = trouble.clone();
        scope.spawn(move || carry(tap, reported, trouble));
        scope.spawn(move || {
            give_way();
            write(record, &header, start, tap, progress, &scribe_trouble);
        });
        let judge = scope.spawn(|| {
            give_way();
            judge(Follow::new(record, progress))
        });
        // The pump threads must not wait for the reader of these messages.
        let shown = troubles.iter().inspect(|text| say(&format!("{text}; {CONTINUES}"))).count();
        let outcome = outcome(judge, shown > 0, say);
        if let Some(outcome) = &outcome {
            write_reports(outcome);
        }
        reported.set();
        outcome
    })
}

/// The time between the ends of both directions when an agent exits.
const BOTH_END: Duration = Duration::from_millis(500);

const CONTINUES: &str = "from now on nothing is recorded or checked, and the session continues";

/// Returns the result of the judge; nothing if its input was cut off.
fn outcome(
    judge: ScopedJoinHandle<'_, Result<SessionReports, ReadError>>,
    cut_off: bool,
    say: &dyn Fn(&str),
) -> Option<SessionReports> {
    let why = match judge.join() {
        Ok(Ok(outcome)) => return Some(outcome),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => words(&*panic).to_owned(),
    };
    if !cut_off {
        say(&format!("the judge failed ({why}), so `monitor` reports nothing"));
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
    start: Option<(u32, Start)>,
    tap: &Tap,
    progress: &Written,
    trouble: &Sender<String>,
) {
    let written = Scribe::new(record, header).and_then(|scribe| scribe.write(start, tap, progress));
    if let Err(error) = written {
        tap.cut_off();
        let _ = trouble.send(format!("the trace cannot be written: {error}"));
    }
    progress.end();
}

fn header(session: &WatchedSession) -> Header {
    // The signal that ends the agent goes to the agent itself, so the monitor cannot observe it.
    let mut header = Header::of_recording(session.editions.preferred().name(), vec![Lack::Processes]);
    header.exact_edition = session.editions.chose_exactly(&header.edition);
    header.command.clone_from(&session.command);
    (header.transport, header.bridged) = (session.transport, session.bridged);
    header
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::requirement::Transport;

    fn file(end: impl Into<OwnedFd>) -> File {
        File::from(end.into())
    }

    /// Creates the streams between two programs, and returns the ends for them: the client's output and input, then the
    /// agent's.
    fn between() -> (Between, (PipeWriter, PipeReader), (PipeWriter, PipeReader)) {
        let [client_out, client_in, agent_out, agent_in] = [(); 4].map(|()| pipe().expect("a pipe"));
        let (_, line) = UnixStream::pair().expect("a pair");
        let between = Between {
            from_client: file(client_out.0),
            to_client: file(client_in.1),
            from_agent: file(agent_out.0),
            to_agent: file(agent_in.1),
            record: tempfile::tempfile().expect("a file"),
            pid: 1,
            start: Start::over(line),
        };
        (between, (client_out.1, client_in.0), (agent_out.1, agent_in.0))
    }

    #[test]
    fn panicking_judge_leaves_the_session_running() {
        let (between, (mut client_out, mut client_in), (mut agent_out, mut agent_in)) = between();
        let session = WatchedSession {
            name: "t".to_owned(),
            command: Vec::new(),
            transport: Transport::Stdio,
            bridged: None,
            chart: false,
            editions: crate::edition::Editions::built_in(),
        };
        let said = RefCell::new(Vec::new());
        thread::scope(|scope| {
            scope.spawn(move || {
                for word in [b"one", b"two"] {
                    let mut heard = [0; 3];
                    client_out.write_all(word).expect("it is taken");
                    agent_in.read_exact(&mut heard).expect("it comes");
                    agent_out.write_all(&heard).expect("it is taken");
                    client_in.read_exact(&mut heard).expect("it comes");
                    assert_eq!(&heard, word);
                }
            });
            let say = |text: &str| said.borrow_mut().push(text.to_owned());
            let judge = |_: Follow<'_>| std::panic::resume_unwind(Box::new("no idea"));
            let reports = stand_with(between, &session, &say, judge, |_| panic!("there is nothing to write"));
            assert_eq!(reports, None);
        });
        assert_eq!(said.into_inner(), ["the judge failed (no idea), so `monitor` reports nothing"]);
    }
}
