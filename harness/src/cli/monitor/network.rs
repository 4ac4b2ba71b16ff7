//! Sessions over HTTP and WebSocket, until Ctrl-C or the end of the client.

use std::cell::Cell;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use hyper::Uri;

use super::{MonitorArgs, NewSession, begin, own_fault, show_one, sum_up, watched, write_files};
use crate::cli::exit::ProgramExit;
use crate::cli::output::say;
use crate::edition::Editions;
use crate::monitor::{MonitorWarnings, Network, Place, Route, SessionReports, WatchedSession, stand_on_network};
use crate::requirement::{Level, Party, Transport};
use crate::results::{RequirementReport, RunReport};
use crate::transport::between::Between;
use crate::transport::dial::Server;
use crate::transport::process::{Environment, Launch};
use crate::verdict::Verdict;

/// The path at which clients dial, if neither address names one.
const USUAL_PATH: &str = "/acp";

/// Serves clients at an address until Ctrl-C, and checks both parties.
pub(super) fn listen(args: &MonitorArgs, editions: &Editions) -> anyhow::Result<ProgramExit> {
    let listen = args.listen.as_deref().unwrap_or_default();
    check(args)?;
    let transport = transport_of("--listen", listen)?;
    let server = server(args)?;
    let place = place(listen, transport, args.to.as_deref())?;
    let (route, bridged) = match server {
        Some((other, server)) if other == transport => (Route::Gateway(place, server), None),
        Some(_) => bail!("--listen and --to differ: HTTP cannot be passed on to a WebSocket, or the reverse"),
        None => (Route::Served(place, launch(args)?), Some(Party::Agent)),
    };
    let NewSession { name, record, path } = begin(args)?;
    let record = record.context("cannot record the sessions")?;
    let (network, url) = Network::open(route).with_context(|| format!("cannot serve at {listen}"))?;
    if let Some(url) = &url {
        let agent = args.to.clone().unwrap_or_else(|| "an agent for each connection".to_owned());
        say(&format!("acp-conformance: {url} leads to {agent}; Ctrl-C ends the sessions and reports on them"));
    }
    let mut watched = watched(args, editions, path.as_deref());
    (watched.transport, watched.bridged) = (transport, bridged);
    let (exit, reports) = stand(args, network, (&name, path.as_deref(), &record), &watched);
    if !reports.iter().any(|report| breaks(report, Level::Should)) {
        say(&format!("acp-conformance: {}", found_nothing(&reports)));
    }
    Ok(exit)
}

/// Connects a client on these streams to an agent that serves, and checks both parties.
pub(super) fn dial(
    args: &MonitorArgs,
    editions: &Editions,
    name: &str,
    path: Option<&Path>,
    between: Between,
) -> anyhow::Result<ProgramExit> {
    let Some((transport, server)) = server(args)? else { bail!("--to is missing") };
    let record = between.record.try_clone().context("cannot record the session")?;
    // The process that the client started waits for the exit code.
    let mut started = between.to_agent.try_clone().context("cannot start")?;
    let (network, _) = Network::open(Route::Dialed(server, between)).context("cannot start")?;
    let mut watched = watched(args, editions, path);
    (watched.transport, watched.bridged) = (transport, Some(Party::Client));
    let exit = stand(args, network, (name, path, &record), &watched).0;
    let _ = started.write_all(&[exit as u8]);
    Ok(exit)
}

/// Passes on and checks the sessions to their end, writes the reports, and prints the violations.
fn stand(
    args: &MonitorArgs,
    network: Network,
    (name, path, record): (&str, Option<&Path>, &File),
    watched: &WatchedSession,
) -> (ProgramExit, Vec<RunReport>) {
    let (live, has_warned) = (args.live.then_some(&show_one as &(dyn Fn(&RequirementReport) + Sync)), Cell::new(false));
    let own_fault = |text: &str| {
        has_warned.set(true);
        own_fault(text);
    };
    let is_unreached = AtomicBool::new(false);
    let unreached = |why: &str| {
        is_unreached.store(true, Ordering::Relaxed);
        say(&format!("acp-conformance: the agent did not answer: {why}"));
    };
    let warnings = MonitorWarnings { own_fault: &own_fault, unreached: &unreached };
    let files = |outcome: &SessionReports| write_files(args, name, &watched.name, outcome, &own_fault);
    let outcome = stand_on_network(network, record, watched, live, &warnings, files);
    let reports = outcome.map_or_else(Vec::new, |outcome| outcome.reports);
    sum_up(&reports, args.live, path);
    let is_broken = reports.iter().any(|report| breaks(report, Level::Must));
    let exit = match (has_warned.get(), is_broken, is_unreached.into_inner()) {
        (true, ..) => ProgramExit::HarnessError,
        (false, true, _) => ProgramExit::NotConformant,
        (false, false, true) => ProgramExit::Usage,
        (false, false, false) => ProgramExit::Good,
    };
    (exit, reports)
}

/// Whether a party broke a requirement of this level or a stronger one.
fn breaks(report: &RunReport, level: Level) -> bool {
    report.requirements.iter().any(|r| r.fails() && (r.level == Level::Must || r.level == level))
}

/// Describes sessions without a violation.
fn found_nothing(reports: &[RunReport]) -> String {
    let passed = |report: &RunReport| report.requirements.iter().filter(|r| r.verdict == Verdict::Pass).count();
    if reports.iter().all(|report| passed(report) == 0) {
        return "no messages, so nothing was checked".to_owned();
    }
    let counts: Vec<String> =
        reports.iter().map(|report| format!("the {} kept {}", report.subject.kind, passed(report))).collect();
    format!("no violation; of the requirements that the sessions exercised, {}", counts.join(" and "))
}

/// Checks the address of the agent and its headers.
pub(super) fn check(args: &MonitorArgs) -> anyhow::Result<()> {
    if args.to.is_none() && !args.headers.is_empty() {
        bail!("--header needs --to: it is a header of the requests to an agent that serves");
    }
    server(args).map(drop)
}

/// Returns the agent that serves, if one does, with what carries its messages.
fn server(args: &MonitorArgs) -> anyhow::Result<Option<(Transport, Server)>> {
    let Some(url) = args.to.as_deref() else { return Ok(None) };
    let transport = transport_of("--to", url)?;
    Ok(Some((transport, Server::new(url, transport, &args.headers)?)))
}

/// Returns what carries the messages at this address.
fn transport_of(option: &str, url: &str) -> anyhow::Result<Transport> {
    match url.split_once("://").map(|(scheme, _)| scheme) {
        Some("http" | "https") => Ok(Transport::Http),
        Some("ws" | "wss") => Ok(Transport::WebSocket),
        _ => bail!("{option} {url}: it has to begin with http:// or ws://"),
    }
}

/// Returns where clients dial.
fn place(listen: &str, transport: Transport, to: Option<&str>) -> anyhow::Result<Place> {
    let uri: Uri = listen.parse().with_context(|| format!("--listen {listen}"))?;
    if matches!(uri.scheme_str(), Some("https" | "wss")) {
        bail!("--listen {listen}: it is served without TLS; write http:// or ws://");
    }
    if !matches!(uri.host(), Some("127.0.0.1" | "localhost")) {
        bail!("--listen {listen}: only programs of this machine are served; write 127.0.0.1 as the host");
    }
    let Some(port) = uri.port_u16() else {
        bail!("--listen {listen}: the port is missing; write it as 127.0.0.1:8080, or 0 for a free one");
    };
    let path_of = |uri: &Uri| Some(uri.path().to_owned()).filter(|path| path != "/" && !path.is_empty());
    let of_agent = || to.and_then(|url| path_of(&url.parse().ok()?));
    Ok(Place { transport, port, path: path_of(&uri).or_else(of_agent).unwrap_or_else(|| USUAL_PATH.to_owned()) })
}

/// Returns the start of the agent.
fn launch(args: &MonitorArgs) -> anyhow::Result<Launch> {
    let Some((program, words)) = args.command.split_first() else { bail!("the command line of the agent is missing") };
    let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    Ok(Launch { program: program.clone(), args: words.to_vec(), cwd, environment: Environment::default() })
}
