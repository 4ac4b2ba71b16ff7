//! The command line: arguments in, a plan out, and the only code that prints or decides an exit code.

mod args;
mod board;
mod certify;
mod check;
mod diff;
mod exit;
mod expected;
mod explain;
mod explore;
mod init;
mod issue;
mod last_failed;
mod lint;
mod list;
mod manual;
mod merge;
mod model;
mod monitor;
mod output;
mod outputs;
mod person;
mod plan;
mod progress;
mod project;
mod redact;
mod registry;
mod reports;
mod running;
mod schema;
mod shell;
mod snapshots;
mod suite;
mod usage;
mod verify;
mod versions;

pub use args::Args;
pub use exit::ProgramExit;
pub use output::report_error;

use std::convert::Infallible;

use anyhow::Context as _;

use self::args::ResultArgs;
use self::versions::Versions;
use crate::edition::Editions;
use crate::options::RunOptions;
use crate::requirement::Party;
use crate::run::wait_for_signals;
use crate::transport::process::{Orphans, kill_all};

/// Runs the command.
///
/// # Errors
///
/// Returns usage and file errors, such as a wrong argument or an unreadable file; findings about the subject are not
/// errors. The caller prints the error and exits with [`ProgramExit::Usage`].
pub fn run(args: Args, mut editions: Editions) -> anyhow::Result<ProgramExit> {
    shell::set_color(args.color);
    let option = args.edition.as_deref();
    let versions = Versions::of(option);
    if versions != Versions::One && !matches!(args.command, args::Command::Agent(_) | args::Command::Client(_)) {
        anyhow::bail!("--protocol {} is an option of `agent` and `client`", option.unwrap_or_default());
    }
    if let Some(name) = option.filter(|_| versions == Versions::One) {
        editions.prefer(name).map_err(|error| anyhow::anyhow!("--protocol: {error}"))?;
    }
    let editions = &editions;
    // These start without reading the catalogue, so that they are fast.
    match &args.command {
        args::Command::Monitor(monitor) => return monitor::run(monitor, editions),
        args::Command::List(list) => return list::run(list, editions.preferred()),
        args::Command::Completions(completions) => return shell::completions(completions),
        args::Command::Schema(schema) => return schema::run(schema),
        _ => {}
    }
    // The tests of this package check the built-in files. A modified copy reports its mistake here instead of
    // panicking.
    if let Err(broken) = editions.preferred().check() {
        output::say(&format!("error: a built-in file is broken: {broken}"));
        return Ok(ProgramExit::HarnessError);
    }
    match args.command {
        args::Command::Accept(review) => snapshots::accept(&review),
        args::Command::Agent(agent) => test(Party::Agent, agent.split(), versions, editions),
        args::Command::Client(client) => test(Party::Client, client.split(), versions, editions),
        args::Command::Check(check) => check::run(&check, editions, option.map(|_| editions.preferred())),
        args::Command::Certify(certify) => driving(|| certify::run(&certify, editions.preferred())),
        args::Command::Verify(verify) => verify::run(&verify, editions),
        args::Command::Diff(diff) => diff::run(&diff, editions),
        args::Command::Explain(explain) => explain::run(&explain, editions, option.is_some()),
        args::Command::Init(init) => driving(|| init::run(&init, editions.preferred())),
        args::Command::Lint(lint) => {
            let current = editions.current();
            lint::run(&lint, if option.is_some() { &current[..1] } else { &current })
        }
        args::Command::Model(model) => model::run(&model, editions.preferred()),
        args::Command::Merge(merge) => merge::run(&merge, editions),
        args::Command::Redact(redact) => redact::run(&redact, editions),
        args::Command::Reject(review) => snapshots::reject(&review),
        args::Command::Board(board) => board::run(&board, editions),
        args::Command::Registry(_) if option.is_some() => {
            anyhow::bail!("--protocol is not an option of `registry`, which tests each version that an agent speaks")
        }
        args::Command::Registry(registry) => driving(|| registry::run(&registry, editions)),
        args::Command::ReportIssue(issue) => issue::run(&issue),
        args::Command::Monitor(_)
        | args::Command::List(_)
        | args::Command::Schema(_)
        | args::Command::Completions(_) => unreachable!("run above"),
    }
}

/// Runs `agent` or `client`.
fn test(
    party: Party,
    (mut options, mut result): (RunOptions, ResultArgs),
    versions: Versions,
    editions: &Editions,
) -> anyhow::Result<ProgramExit> {
    if !options.manual {
        project::apply((&mut options, &mut result), party, editions.preferred())?;
    }
    options.exact_edition = editions.chose_exactly(editions.preferred().name());
    plan::check_filters(&options, party)?;
    driving(|| versions::run(versions, editions, party, (&options, &result)))
}

/// Runs a command that starts a subject, and ends the subject's leftover processes.
fn driving(command: impl FnOnce() -> anyhow::Result<ProgramExit>) -> anyhow::Result<ProgramExit> {
    // Each case needs a folder, and a program that got none would look as if it did not start.
    tempfile::tempdir().with_context(|| format!("no folder for the cases in {}", std::env::temp_dir().display()))?;
    let _orphans = Orphans::adopt();
    std::thread::spawn(watch_signals);
    command()
}

/// Announces an orderly end at the first signal and exits at the second one.
#[expect(clippy::exit, reason = "a second signal does not wait for the run")]
fn watch_signals() -> std::io::Result<Infallible> {
    wait_for_signals(1)?;
    output::say("\nstopping; interrupt again to exit immediately");
    wait_for_signals(2)?;
    kill_all();
    std::process::exit(ProgramExit::Interrupted as i32)
}
