//! Measures the least time that a case can take: a bare start of the subject, without a message, until it exits by itself.

use std::time::Duration;

use tokio::time::Instant;

use super::environment::{Subject, bindings, prepare_dirs};
use super::interrupt::interruption;
use super::timing::BARE_EXIT;
use crate::case::model::Case;
use crate::requirement::Party;
use crate::transport::process::{Process, drain, reap_marked};
use crate::transport::relay::write_idle_agent;

/// The number of starts for each job. Few, since a subject may take seconds to start, but enough for a median.
const ROUNDS: usize = 4;

/// Starts the subject bare, with as many parallel starts as there are jobs, and returns the time of each from its start to its
/// exit. An agent finds its input closed; a client gets an agent that exits at once. The case only configures the subject.
///
/// # Errors
///
/// The subject cannot be started like this, or does not exit by itself.
pub fn bare_starts(case: &Case, subject: &Subject, jobs: usize) -> Result<Vec<Duration>, String> {
    if subject.agent_folder.is_some() || subject.controls.terminal {
        return Err("the client cannot be started without a person or a terminal".to_owned());
    }
    std::thread::scope(|scope| {
        let rounds = || (0..ROUNDS).map(|_| bare_start(case, subject)).collect::<Result<Vec<_>, _>>();
        let jobs: Vec<_> = (0..jobs).map(|_| scope.spawn(rounds)).collect();
        let starts =
            jobs.into_iter().map(|job| job.join().unwrap_or_else(|_| Err("the measurement failed".to_owned())));
        Ok(starts.collect::<Result<Vec<_>, _>>()?.concat())
    })
}

fn bare_start(case: &Case, subject: &Subject) -> Result<Duration, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
    let time = runtime.block_on(start(case, subject));
    runtime.shutdown_background();
    time
}

/// An address without a model, which the subject never needs because it gets no prompt.
const NO_MODEL: &str = "http://127.0.0.1:9";

async fn start(case: &Case, subject: &Subject) -> Result<Duration, String> {
    let (sandbox, places) = prepare_dirs(case, subject, Some(NO_MODEL)).map_err(|error| error.to_string())?;
    if subject.party == Party::Client {
        write_idle_agent(&subject.agent_path(&sandbox)).map_err(|error| error.to_string())?;
    }
    let launch = subject
        .launch(case, &sandbox, &places, &bindings(case, subject, &sandbox))
        .map_err(|error| error.to_string())?;
    let started = Instant::now();
    let deadline = started + BARE_EXIT.min(subject.limits.start);
    let Process { stdin, mut stdout, mut stderr, mut leader, group } = launch.spawn().map_err(|e| e.to_string())?;
    drop(stdin);
    let output = async {
        let _ = tokio::join!(drain(&mut stdout, deadline, |_| {}), drain(&mut stderr, deadline, |_| {}));
        std::future::pending::<()>().await;
    };
    let ended = tokio::select! {
        () = interruption() => Err("the run was interrupted".to_owned()),
        () = output => unreachable!("the output never ends this branch"),
        exit = leader.wait_until(deadline) => match exit {
            Ok(Some(_)) => Ok(started.elapsed()),
            Ok(None) => Err(format!("the {} does not exit by itself without messages", subject.party)),
            Err(error) => Err(error.to_string()),
        },
    };
    drop(group);
    reap_marked(&sandbox.marker());
    ended
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::bare_starts;
    use crate::case::{Case, embedded_case};
    use crate::edition::V1;
    use crate::requirement::Party;
    use crate::run::Subject;

    fn shell(party: Party, script: &str) -> (Case, Subject) {
        let case = embedded_case(&V1.handshake(party), &V1).expect("the case is embedded");
        let here = std::env::current_dir().expect("a current directory");
        let agent = Subject::agent(["sh", "-c", script, "sh", "{agent}"].map(str::to_owned).to_vec(), here);
        (case, Subject { party, ..agent })
    }

    #[test]
    fn measures_an_agent_that_exits_with_its_input() {
        let (case, subject) = shell(Party::Agent, "cat");
        assert_eq!(bare_starts(&case, &subject, 2).map(|starts| starts.len()), Ok(8));
    }

    #[test]
    fn a_client_gets_an_agent_that_exits_at_once() {
        let (case, subject) = shell(Party::Client, r#""$1""#);
        assert_eq!(bare_starts(&case, &subject, 1).map(|starts| starts.len()), Ok(4));
    }

    #[test]
    fn rejects_a_subject_that_keeps_running() {
        let (case, mut subject) = shell(Party::Agent, "exec sleep 300");
        subject.limits.start = Duration::from_millis(1);
        assert!(bare_starts(&case, &subject, 1).is_err_and(|why| why.contains("does not exit by itself")));
    }
}
