//! `monitor`: proxies a session between a real client and a real agent, and checks both.
//!
//! The command starts twice: the client starts it, and it becomes the agent; and it starts itself as the proxy. With
//! `--wait`, the command itself stays the proxy, and the agent is its child. Over HTTP and WebSocket it stays as well.

mod network;

use std::cell::Cell;
use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::IsTerminal;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail};

use super::args::MonitorArgs;
use super::exit::ProgramExit;
use super::output::say;
use crate::edition::Editions;
use crate::monitor::{SessionReports, WatchedSession, stand};
use crate::output_file::{OutputFile, write_file};
use crate::report::{Detail, PageReport, Renderer, SuiteEvent, TextReport};
use crate::requirement::{Level, Transport};
use crate::results::{RequirementReport, RunReport};
use crate::transport::between::{self, Between};
use crate::transport::signal;

/// The most violated requirements that are shown after the session.
const MOST_SHOWN: usize = 8;

/// The exit code of a shell for a program that signal 0 would have ended.
const OF_SIGNAL: i32 = 128;

/// Replaces the path of a trace that was not requested.
const UNSEEN: &str = "-";

/// Runs the command. As the agent, it returns only if the agent cannot be started.
pub(super) fn run(args: &MonitorArgs, editions: &Editions) -> anyhow::Result<ProgramExit> {
    match args.stand_between.as_deref() {
        Some([session, record]) => {
            let between = between::take_over().context("--stand-between")?;
            between.start.confirm().context("--stand-between")?;
            // A detached proxy must outlive the signals that end the session.
            if let Err(error) = signal::outlive_signals() {
                own_fault(&format!("a signal may end the session: {error}"));
            }
            let record = Some(&**record).filter(|path| *path != Path::new(UNSEEN));
            let session = session.to_string_lossy();
            match args.to {
                Some(_) => network::dial(args, editions, &session, record, between),
                None => Ok(watch(args, editions, &session, record, between)),
            }
        }
        _ if args.listen.is_some() => network::listen(args, editions),
        _ if args.to.is_some() || !args.headers.is_empty() => become_bridge(args),
        _ if is_in_terminal() => become_unseen_agent(args),
        _ if args.wait => stay(args, editions),
        _ => become_agent(args).map(|()| ProgramExit::Usage),
    }
}

/// Whether a person is at both streams. No client is, so the agent is started for a login in a terminal, which a client
/// does with the same command line.
fn is_in_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

fn become_unseen_agent(args: &MonitorArgs) -> anyhow::Result<ProgramExit> {
    say("acp-conformance monitor: in a terminal, the agent runs without a monitor, for example for a login");
    bail!("cannot start the agent: {}", between::become_agent(&args.command, None))
}

/// A session before it begins.
struct NewSession {
    /// Its name, for folders with many sessions.
    name: String,
    /// The file of its trace.
    record: std::io::Result<File>,
    /// The path of that file, if it is wanted.
    path: Option<PathBuf>,
}

fn begin(args: &MonitorArgs) -> anyhow::Result<NewSession> {
    // An early error is better than one after the session.
    let wanted = [("--trace", &args.trace), ("--report", &args.report), ("--html", &args.html)];
    for (option, path) in wanted.iter().filter_map(|(option, path)| Some((option, path.as_ref()?))) {
        prepare(path).with_context(|| format!("{option} {}", path.display()))?;
    }
    let name = session();
    let (record, path) = match &args.trace {
        Some(trace) => {
            let (record, path) = record(trace, &name).with_context(|| format!("--trace {}", trace.display()))?;
            (Ok(record), Some(path))
        }
        None => (unseen_record(), None),
    };
    Ok(NewSession { name, record, path })
}

/// Starts the agent, watches the session until everything is written, and exits with the code of the agent.
#[expect(clippy::exit, reason = "an agent may exit with any code")]
fn stay(args: &MonitorArgs, editions: &Editions) -> anyhow::Result<ProgramExit> {
    let NewSession { name, record, path } = begin(args)?;
    let started = between::start_agent(&args.command, record.context("cannot monitor this session")?);
    let (between, mut agent) = started.context("cannot start the agent")?;
    if let Err(error) = signal::outlive_signals().and_then(|()| signal::forward_signals(&agent)) {
        own_fault(&format!("signals do not reach the agent: {error}"));
    }
    watch(args, editions, &name, path.as_deref(), between);
    // It was not waited for before, so no other process could get its id and its signals.
    let status = agent.wait().context("cannot wait for the agent")?;
    std::process::exit(status.code().unwrap_or_else(|| OF_SIGNAL + status.signal().unwrap_or_default()))
}

fn become_agent(args: &MonitorArgs) -> anyhow::Result<()> {
    let (again, record) = again(begin(args)?);
    let ends = record.and_then(|record| between::stand_between(again, &record));
    let ends = ends.inspect_err(|error| own_fault(&format!("cannot monitor this session: {error}"))).ok();
    let why = between::become_agent(&args.command, ends);
    bail!("cannot start the agent: {why}")
}

/// Stays as the agent of the client, while a second process connects it to the agent that serves.
fn become_bridge(args: &MonitorArgs) -> anyhow::Result<ProgramExit> {
    network::check(args)?;
    let session = begin(args)?;
    let (again, record) = again(session);
    let ends = between::stand_between(again, &record.context("cannot record the session")?).context("cannot start")?;
    let code = ends.wait();
    let all = [ProgramExit::Good, ProgramExit::NotConformant, ProgramExit::Usage];
    Ok(all.into_iter().find(|exit| Some(*exit as u8) == code).unwrap_or(ProgramExit::HarnessError))
}

/// Returns the arguments of the second process, and the file of the trace.
fn again(NewSession { name, record, path }: NewSession) -> (Vec<OsString>, std::io::Result<File>) {
    let path = path.unwrap_or_else(|| PathBuf::from(UNSEEN));
    let mut again = vec![OsString::from("monitor"), "--stand-between".into(), name.into(), path.into()];
    again.extend(std::env::args_os().skip(2));
    (again, record)
}

/// Checks that the file can be written, or creates the folder.
fn prepare(path: &Path) -> std::io::Result<()> {
    match is_folder(path) {
        true => std::fs::create_dir_all(path),
        false => OutputFile::create(path).map(drop),
    }
}

fn record(trace: &Path, session: &str) -> anyhow::Result<(File, PathBuf)> {
    let path = in_folder(trace, session, "jsonl");
    let (file, path) = match locked(&path)? {
        Some(file) => (file, path),
        // Another monitor is recording a session there, such as that of another window.
        None => {
            let path = path.with_extension(format!("{}.jsonl", std::process::id()));
            (locked(&path)?.context("the file is in use")?, path)
        }
    };
    Ok((file, path))
}

/// Returns the file itself, or the one of this session if it is a folder.
fn in_folder(path: &Path, session: &str, extension: &str) -> PathBuf {
    if is_folder(path) { path.join(session).with_extension(extension) } else { path.to_owned() }
}

/// Whether the path is that of a folder, which need not exist yet.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Opens and empties the file, unless another monitor writes it.
fn locked(path: &Path) -> std::io::Result<Option<File>> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        // Some writable files cannot be locked.
        Err(TryLockError::Error(_)) => {}
    }
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok(Some(file))
}

/// Creates a file without a name, on disk if possible, since a session may be long.
fn unseen_record() -> std::io::Result<File> {
    tempfile::tempfile_in("/var/tmp").or_else(|_| tempfile::tempfile())
}

/// Returns a name for this session, for folders with many sessions.
fn session() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", now.as_secs(), std::process::id())
}

/// Forwards and checks the session to its end, writes the reports, and prints the violations.
fn watch(
    args: &MonitorArgs,
    editions: &Editions,
    session: &str,
    record: Option<&Path>,
    between: Between,
) -> ProgramExit {
    let watched = watched(args, editions, record);
    let (live, has_warned) = (args.live.then_some(&show_one as &(dyn Fn(&RequirementReport) + Sync)), Cell::new(false));
    let own_fault = |text: &str| {
        has_warned.set(true);
        own_fault(text);
    };
    let files = |outcome: &SessionReports| write_files(args, session, &watched.name, outcome, &own_fault);
    let outcome = stand(between, &watched, live, &own_fault, files);
    if let Some(SessionReports { reports, .. }) = &outcome {
        sum_up(reports, args.live, record);
    }
    if has_warned.get() { ProgramExit::HarnessError } else { ProgramExit::Good }
}

/// Returns the settings of a session on standard streams.
fn watched(args: &MonitorArgs, editions: &Editions, record: Option<&Path>) -> WatchedSession {
    // The monitor reports a panic in its own words.
    std::panic::set_hook(Box::new(|_| {}));
    WatchedSession {
        name: record.map_or_else(|| "this session".to_owned(), |path| path.display().to_string()),
        command: args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        transport: Transport::Stdio,
        bridged: None,
        chart: args.html.is_some(),
        editions: editions.clone(),
    }
}

/// Writes the files that are wanted after a session.
fn write_files(args: &MonitorArgs, session: &str, name: &str, outcome: &SessionReports, own_fault: &dyn Fn(&str)) {
    let written = |option: &Option<PathBuf>, extension, write: &dyn Fn(&Path) -> std::io::Result<()>| {
        let path = option.as_ref().map(|path| in_folder(path, session, extension));
        if let Some((path, Err(error))) = path.map(|path| (path.clone(), write(&path))) {
            own_fault(&format!("cannot write {}: {error}", path.display()));
        }
    };
    written(&args.report, "json", &|path| write_reports(path, &outcome.reports));
    written(&args.html, "html", &|path| write_page(path, name, outcome));
}

/// Writes a line for the agent, and one for the client.
fn write_reports(path: &Path, reports: &[RunReport]) -> std::io::Result<()> {
    write_file(path, |file| reports.iter().try_for_each(|report| writeln!(file, "{}", serde_json::to_string(report)?)))
}

/// Writes one page for both, since they share the session.
fn write_page(path: &Path, name: &str, outcome: &SessionReports) -> std::io::Result<()> {
    write_file(path, |file| {
        let mut page = PageReport::new(file);
        outcome.reports.iter().try_for_each(|report| page.event(&SuiteEvent::Run(report)))?;
        outcome.chart.iter().try_for_each(|chart| page.event(&SuiteEvent::Chart(name, chart)))?;
        page.close()
    })
}

/// Prints the violations, if any.
fn sum_up(reports: &[RunReport], has_warned: bool, record: Option<&Path>) {
    let broken = reports.iter().flat_map(|report| &report.requirements).filter(|r| r.fails());
    let broken: Vec<RequirementReport> = broken.cloned().collect();
    if broken.is_empty() {
        return;
    }
    if !has_warned {
        show(&broken[..broken.len().min(MOST_SHOWN)]);
    }
    let broke = reports.iter().filter_map(broke).collect::<Vec<_>>().join(", ");
    let again = match record {
        None => "--trace FILE records the session, --report FILE writes all findings".to_owned(),
        Some(path) => format!("more: acp-conformance check {}", shell_words::quote(&path.display().to_string())),
    };
    say(&format!("\nacp-conformance: {broke}; {again}"));
}

/// Describes how many requirements a party violated, if any.
fn broke(report: &RunReport) -> Option<String> {
    let failed = |level| report.requirements.iter().filter(|r| r.level == level && r.fails()).count();
    let levels = [(failed(Level::Must), "MUST"), (failed(Level::Should), "SHOULD")];
    let counts: Vec<String> =
        levels.into_iter().filter(|(n, _)| *n > 0).map(|(n, level)| format!("{n} {level}")).collect();
    let name = report.subject.name.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
    (!counts.is_empty()).then(|| format!("the {}{name} broke {}", report.subject.kind, counts.join(" and ")))
}

fn show_one(requirement: &RequirementReport) {
    show(std::slice::from_ref(requirement));
}

fn show(requirements: &[RequirementReport]) {
    // The client need not read the standard error of its agent.
    let _ = TextReport::new(anstream::stderr(), Detail::Cases).failures(requirements);
}

fn own_fault(text: &str) {
    say(&format!("acp-conformance: {text}"));
}
