//! `agent`: runs the cases against an agent and reports what they show.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;

use super::args::{AgentArgs, Format};
use super::exit::Exit;
use super::output::{say, stdout};
use super::plan::{self, Plan};
use crate::case::model::Case;
use crate::report::{Collector, SuiteEvent, TextReport, diagnose};
use crate::requirement::Party;
use crate::run::{Progress, Subject, run_all};
use crate::trace::{ProcessEvent, Trace, What};

/// The case that shows whether there is anybody to talk to; it runs first and alone.
const HANDSHAKE: &str = "v1/agent/init/handshake";

/// How long nothing may be heard before the user is told what is waited for.
const PATIENCE: Duration = Duration::from_secs(3);

/// Runs the command.
pub(super) fn run(args: &AgentArgs) -> anyhow::Result<Exit> {
    let plan = plan::make(args)?;
    if let Some(dir) = &args.trace_dir {
        std::fs::create_dir_all(dir).with_context(|| format!("--trace-dir {}", dir.display()))?;
    }
    let started = Instant::now();
    let mut out = stdout();
    let mut text = (args.format == Format::Text).then(|| TextReport::new(&mut out, plan.reproduce.clone(), args.quiet));
    let mut collector = Collector::new(Party::Agent, plan.subject.command.clone());
    let mut first_fault = None;
    let mut take = |trace: &Trace, took: Duration| -> anyhow::Result<()> {
        let file = args.trace_dir.as_deref().map(|dir| write_trace(dir, trace)).transpose()?;
        let report = collector.add(trace, took, file);
        text.as_mut().map_or(Ok(()), |text| text.event(&SuiteEvent::Case(&report)))?;
        Ok(())
    };
    let obstacle = first_contact(&plan, &mut take)?;
    if let Some(obstacle) = &obstacle {
        say(&format!("\n{}", obstacle.explanation));
        if obstacle.not_started {
            return Ok(Exit::Usage);
        }
    } else {
        let rest: Vec<Case> = plan.cases.iter().filter(|case| case.id != HANDSHAKE).cloned().collect();
        run_all(&rest, &plan.subject, plan.jobs, |event| match event {
            Progress::Started(_) => true,
            Progress::Ended { trace, took, .. } => {
                first_fault = take(&trace, took).err();
                first_fault.is_none()
            }
        });
    }
    if let Some(fault) = first_fault {
        return Err(fault);
    }
    let report = collector.finish(started.elapsed(), args.strict);
    match text.as_mut() {
        Some(text) => text.event(&SuiteEvent::Run(&report))?,
        None => writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?,
    }
    Ok(Exit::of(report.verdict, args.allow_incomplete))
}

/// Why nothing can be learned from this program.
struct Obstacle {
    explanation: String,
    not_started: bool,
}

/// Runs the handshake alone. A program that does not answer it is told so once, and not once for every case.
fn first_contact(
    plan: &Plan,
    take: &mut impl FnMut(&Trace, Duration) -> anyhow::Result<()>,
) -> anyhow::Result<Option<Obstacle>> {
    let (cases, _) = crate::case::embedded(&crate::case::Vocabulary::v1());
    let Some(handshake) = cases.iter().find(|case| case.id == HANDSHAKE) else { return Ok(None) };
    let selected = plan.cases.iter().any(|case| case.id == HANDSHAKE);
    let started = Instant::now();
    let trace = run_patiently(handshake, &plan.subject);
    let obstacle = diagnose(&trace).map(|explanation| Obstacle { explanation, not_started: not_started(&trace) });
    let wanted = (selected || obstacle.is_some()) && !not_started(&trace);
    if wanted {
        take(&trace, started.elapsed())?;
    }
    Ok(obstacle)
}

/// Runs a case, and says what is waited for when it takes long.
fn run_patiently(case: &Case, subject: &Subject) -> Trace {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = sender.send(crate::run::run_case(case, subject));
        });
        if let Ok(trace) = receiver.recv_timeout(PATIENCE) {
            return trace;
        }
        let limit = subject.limits.start.as_secs();
        say(&format!("waiting for the answer to initialize (limit {limit} s, see --timeout-start) …"));
        receiver.recv().unwrap_or_else(|_| unreachable!("run_case always returns a trace"))
    })
}

fn not_started(trace: &Trace) -> bool {
    trace.events.iter().any(|event| matches!(event.what, What::Process(ProcessEvent::NotSpawned(_))))
}

fn write_trace(dir: &Path, trace: &Trace) -> anyhow::Result<String> {
    let name = trace.header.case.as_deref().unwrap_or("recording").replace('/', "-");
    let path: PathBuf = dir.join(format!("{name}.jsonl"));
    let file = std::fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut writer = std::io::BufWriter::new(file);
    trace.write(&mut writer).and_then(|()| writer.flush()).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path.display().to_string())
}
