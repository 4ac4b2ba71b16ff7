//! `certify`: runs all cases and writes the result with its evidence.

use std::io::Write;
use std::time::{Instant, SystemTime};

use anyhow::{Context, bail};

use super::args::{AgentArgs, CertifyArgs, CertifyParty, ClientArgs, KeepArgs, RunArgs, StartArgs};
use super::exit::ProgramExit;
use super::output::{say, stdout};
use super::outputs::Outputs;
use super::plan::{self, RunPlan};
use super::progress::ProgressLine as Shown;
use super::suite::{Driver, Going, Keep, Listener, Wanted, drive, speaks_only, version_of};
use crate::certificate::{CertificatePlace, Claims, Issued, ProfileMark, issue};
use crate::edition::Bundle;
use crate::judge::judge;
use crate::plan::profile_file;
use crate::profile;
use crate::protocol::sha256;
use crate::report::{Diagnosis, SuiteEvent, rfc3339};
use crate::results::RunReport;
use crate::trace::Trace;
use crate::verdict::Conformance;

/// Runs the command.
pub(super) fn run(args: &CertifyArgs, bundle: &'static Bundle) -> anyhow::Result<ProgramExit> {
    match &args.party {
        CertifyParty::Agent(agent) => {
            let whole = AgentArgs { run: whole(&agent.start), isolate: true, ..AgentArgs::default() };
            certify(&plan::of_agent(&whole, bundle)?, &agent.start, &agent.keep)
        }
        CertifyParty::Client(client) => {
            let (run, user) = (whole(&client.start), client.user.clone());
            let whole = ClientArgs { run, user, isolate: true, ..ClientArgs::default() };
            certify(&plan::of_client(&whole, bundle)?, &client.start, &client.keep)
        }
    }
}

/// Returns the options for a run of all cases.
fn whole(start: &StartArgs) -> RunArgs {
    RunArgs { start: start.clone(), ..RunArgs::default() }
}

fn certify(plan: &RunPlan, start: &StartArgs, args: &KeepArgs) -> anyhow::Result<ProgramExit> {
    let party = plan.subject.party;
    let shown = args.output.display();
    let place =
        CertificatePlace::take(&args.output, args.replace, party).with_context(|| format!("--output {shown}"))?;
    let profile = start.profile.as_deref().map(|name| profile_mark(name, plan.bundle)).transpose()?;
    let (began, started) = (SystemTime::now(), Instant::now());
    let traces = place.traces();
    let keep = Keep { dir: &traces, redact: args.redact };
    let met = |trace: &Trace, obstacle: Option<Diagnosis>| {
        if obstacle.is_some() {
            return Ok(obstacle);
        }
        let judgement = judge(trace, plan.bundle.edition());
        let said = judgement.introductions.get(&party);
        place.admit(said.and_then(|said| said.name.as_deref())).with_context(|| format!("--output {shown}"))?;
        Ok(version_of(trace, plan.bundle).and_then(|version| speaks_only(version, plan)))
    };
    let outputs = Outputs::open(&[], args.detail.into())?.with(Shown::begin(args.detail.quiet));
    let wanted = Wanted { outputs, keep: Some(keep), snapshots: None, whole: true, fail_fast: None };
    let (going, obstacle) = match drive(plan, wanted, &met)? {
        Driver::Early(exit) => return Ok(exit),
        Driver::Over(going, obstacle) => (going, obstacle),
    };
    let took = started.elapsed();
    let partial = going.partial(plan).is_some();
    let Going { collector, listener: Listener { mut outputs, .. } } = *going;
    let report = collector.finish(took, false);
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
    let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let claims = Claims { kind: party, profile, redacted: args.redact, began: rfc3339(began), duration_ms };
    let issued = issue(&place.folder(), claims, plan.bundle).context("no certificate was written")?;
    says_the_same(&report, &issued.report)?;
    place.put().with_context(|| format!("--output {shown}"))?;
    tell(&issued, args)?;
    Ok(ProgramExit::of(issued.certificate.verdict, args.allow_incomplete))
}

fn profile_mark(name: &str, bundle: &'static Bundle) -> anyhow::Result<ProfileMark> {
    let (shown, bytes) = profile_file(name).with_context(|| format!("--profile {name}"))?;
    let (profile, _) = profile::load_bytes(&shown, &bytes, bundle.catalogue());
    let profile = profile.with_context(|| format!("the profile {name} has mistakes"))?;
    Ok(ProfileMark { name: profile.name, sha256: sha256(&bytes) })
}

/// Checks that the certificate has the same results as the run, even if its traces are redacted.
fn says_the_same(run: &RunReport, kept: &RunReport) -> anyhow::Result<()> {
    let pairs = run.requirements.iter().zip(&kept.requirements);
    let different = pairs.filter(|(run, kept)| run.verdict != kept.verdict).map(|(run, kept)| {
        format!("\n  {}: {} in the run, {} in the traces to write", run.id, run.verdict, kept.verdict)
    });
    let different: String = different.collect();
    if !different.is_empty() {
        bail!("no certificate was written: the traces to write have other verdicts than the run{different}");
    }
    Ok(())
}

fn tell(issued: &Issued, args: &KeepArgs) -> anyhow::Result<()> {
    let dir = args.output.display();
    let mut out = stdout();
    writeln!(out, "  certificate   {dir}, digest {}", issued.certificate.digest)?;
    writeln!(out, "  to verify it  acp-conformance verify {}", shell_words::quote(&dir.to_string()))?;
    Ok(())
}
