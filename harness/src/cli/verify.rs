//! `verify`: checks the traces of a certificate again, and lists the mismatches.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use anyhow::Context;

use super::args::VerifyArgs;
use super::exit::ProgramExit;
use super::output::stdout;
use crate::certificate::{Integrity, Verification, shown, verify};
use crate::edition::Editions;
use crate::protocol::edition_label;
use crate::requirement::Level;
use crate::results::RunReport;
use crate::verdict::Verdict;

pub(super) fn run(args: &VerifyArgs, editions: &Editions) -> anyhow::Result<ProgramExit> {
    let found = verify(&args.dir, editions).with_context(|| args.dir.display().to_string())?;
    let mut out = stdout();
    let (colour, word, exit) = match found.outcome() {
        Integrity::Matches => (AnsiColor::Green, "matches", ProgramExit::Good),
        Integrity::DoesNotMatch => (AnsiColor::Red, "does not match", ProgramExit::NotConformant),
        Integrity::Undecidable => (AnsiColor::Yellow, "undecided", ProgramExit::Incomplete),
    };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    writeln!(out, "{style}{word}{style:#}  {}", args.dir.display())?;
    for mismatch in &found.mismatches {
        writeln!(out, "  {mismatch}")?;
    }
    if let Some(report) = &found.report {
        says(&mut out, report, &found)?;
    }
    suite(&mut out, &found)?;
    changed(&mut out, &found)?;
    for signature in &found.signatures {
        writeln!(out, "  {signature} is a signature; this program does not check it")?;
    }
    Ok(exit)
}

/// Prints what the report says, whether or not it is correct.
fn says(out: &mut impl Write, report: &RunReport, found: &Verification) -> std::io::Result<()> {
    let name = report.subject.known_name().unwrap_or("unnamed subject");
    let version = report.subject.known_version().unwrap_or_default();
    let said = shown(format!("{name} {version}").trim_end());
    let (kind, verdict, edition) = (report.subject.kind, report.verdict.name(), edition_label(&report.suite.edition));
    let began = shown(report.began.as_deref().unwrap_or("an unknown day"));
    writeln!(out, "  certified     {verdict}  {said} ({kind}), checked by {edition} on {began}")?;
    writeln!(out, "  MUST          {}", counts(report, Level::Must))?;
    writeln!(out, "  SHOULD        {}", counts(report, Level::Should))?;
    writeln!(out, "  traces        {} judged again", found.judged)
}

/// Counts the requirements of a level by verdict, except those that fail only by mistakes of other requirements.
fn counts(report: &RunReport, level: Level) -> String {
    let verdicts = [Verdict::Pass, Verdict::Fail, Verdict::Inconclusive, Verdict::NotApplicable, Verdict::NotExercised];
    let count = |verdict: &Verdict| {
        let of_level = report.requirements.iter().filter(|one| one.level == level && one.same_as.is_empty());
        of_level.filter(|one| one.verdict == *verdict).count()
    };
    let counts = verdicts.iter().map(|verdict| (count(verdict), verdict)).filter(|(count, _)| *count > 0);
    counts.map(|(count, verdict)| format!("{count} {verdict}")).collect::<Vec<_>>().join(" · ")
}

/// Prints the differences between the suite of the certificate and this one, with their consequences.
fn suite(out: &mut impl Write, found: &Verification) -> std::io::Result<()> {
    if found.other_suite.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nAnother version of the suite made this certificate.")?;
    for other in &found.other_suite {
        writeln!(out, "  {:<18}{}\n{:<13}here   {}", other.member, other.there, "", other.here)?;
    }
    writeln!(out, "  not compared      the list of cases, so cases may be missing")
}

/// Prints the verdicts that the traces give with this program.
fn changed(out: &mut impl Write, found: &Verification) -> std::io::Result<()> {
    if found.is_own_suite() || found.report.is_none() {
        return Ok(());
    }
    if found.changed.is_empty() {
        return writeln!(out, "This program reaches the same verdicts on the traces.");
    }
    writeln!(out, "This program reaches other verdicts on the traces:")?;
    found.changed.iter().try_for_each(|changed| {
        let said = |verdict: &Option<String>| verdict.clone().unwrap_or_else(|| "nothing".to_owned());
        writeln!(
            out,
            "  {}: the report says {}; this program says {}",
            changed.id,
            said(&changed.was),
            said(&changed.is)
        )
    })
}
