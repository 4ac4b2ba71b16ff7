//! `certify`: runs all cases and writes the result with its evidence.

use std::io::Write;
use std::time::{Instant, SystemTime};

use anyhow::Context;

use super::args::{CertifyArgs, CertifyParty, ExpectedArgs, KeepArgs};
use super::exit::ProgramExit;
use super::output::{say, stdout};
use super::outputs::Outputs;
use super::plan::{self, Origin, RunPlan};
use super::progress::ProgressLine as Shown;
use super::running::{Listener, RunInProgress, RunOutcome, RunOutputs, drive, is_cut_short};
use super::suite::{speaks_only, version_of};
use crate::certificate::{CertificatePlace, issue};
use crate::edition::Bundle;
use crate::judge::judge;
use crate::options::RunOptions;
use crate::report::{Diagnosis, SuiteEvent, rfc3339};
use crate::requirement::Party;
use crate::trace::Trace;
use crate::verdict::Conformance;

pub(super) fn run(args: &CertifyArgs, bundle: &'static Bundle) -> anyhow::Result<ProgramExit> {
    let mut options = RunOptions { isolate: true, ..RunOptions::default() };
    let (party, keep) = match &args.party {
        CertifyParty::Agent(agent) => {
            (options.start, options.limits) = (agent.start.clone(), agent.limits.clone());
            (Party::Agent, &agent.keep)
        }
        CertifyParty::Client(client) => {
            (options.start, options.limits) = (client.start.clone(), client.limits.clone());
            options.controls = client.user.clone().into();
            (Party::Client, &client.keep)
        }
    };
    certify(plan::make(party, &options, &ExpectedArgs::default(), bundle)?, keep)
}

fn certify(mut plan: RunPlan, args: &KeepArgs) -> anyhow::Result<ProgramExit> {
    let party = plan.subject.party;
    let shown = args.output.display();
    let place =
        CertificatePlace::take(&args.output, args.replace, party).with_context(|| format!("--output {shown}"))?;
    let (began, started) = (SystemTime::now(), Instant::now());
    plan.options.trace_dir = Some(place.traces());
    let plan = &plan;
    let precheck = |trace: &Trace, obstacle: Option<Diagnosis>| {
        if obstacle.is_some() || is_cut_short(trace) {
            return Ok(obstacle);
        }
        let judgement = judge(trace, plan.bundle.edition());
        let said = judgement.introductions.get(&party);
        place.admit(said.and_then(|said| said.name.as_deref())).with_context(|| format!("--output {shown}"))?;
        Ok(version_of(trace, plan.bundle).and_then(|version| speaks_only(version, plan)))
    };
    let outputs = Outputs::open(&[], args.detail.into())?.with(Shown::begin(args.detail.quiet));
    let wanted = RunOutputs { outputs, snapshots: None, whole: true, baseline: None };
    let (running, obstacle) = match drive(plan, wanted, &precheck)? {
        RunOutcome::Early(exit) => return Ok(exit),
        RunOutcome::Over(running, obstacle) => (running, obstacle),
    };
    let partial = running.partial(plan).is_some();
    let RunInProgress { collector, listener: Listener { mut outputs, .. } } = *running;
    let mut report = collector.finish(started.elapsed(), false);
    report.began = Some(rfc3339(began));
    let origin = plan.origin.as_ref().map(|origin: &Origin| origin.info(report.subject.version.as_deref()));
    report.subject.profile = origin.map(Box::new);
    outputs.event(&SuiteEvent::Run(&report))?;
    if partial {
        say("\nThe run was interrupted; no certificate was written.");
        return Ok(ProgramExit::Interrupted);
    }
    if let Some(obstacle) = obstacle {
        say(&format!("\n{}\nThe run stopped; no certificate was written.", obstacle.text));
        return Ok(ProgramExit::of(report.verdict, false));
    }
    if report.verdict == Conformance::HarnessError {
        say("\nThe harness itself failed; no certificate was written.");
        return Ok(ProgramExit::HarnessError);
    }
    let (report, digest) = issue(&place.folder(), &report, plan.bundle).context("no certificate was written")?;
    place.put().with_context(|| format!("--output {shown}"))?;
    let mut out = stdout();
    writeln!(out, "  certificate   {shown}, SHA-256 of SHA256SUMS {digest}")?;
    writeln!(out, "  to verify it  acp-conformance verify {}", shell_words::quote(&shown.to_string()))?;
    Ok(ProgramExit::of(report.verdict, args.allow_incomplete))
}
