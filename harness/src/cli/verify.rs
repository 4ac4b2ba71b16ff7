//! `verify`: checks the traces of a certificate again, and lists the mismatches.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use anyhow::Context;

use super::args::VerifyArgs;
use super::exit::ProgramExit;
use super::output::stdout;
use crate::certificate::{Certificate, Counts, Integrity, Verification, shown, verify};
use crate::edition::Editions;
use crate::protocol::edition_label;

/// Runs the command.
pub(super) fn run(args: &VerifyArgs, editions: &Editions) -> anyhow::Result<ProgramExit> {
    let found = verify(&args.dir, editions).with_context(|| args.dir.display().to_string())?;
    let mut out = stdout();
    let (colour, word, exit) = match found.outcome() {
        Integrity::Matches => (AnsiColor::Green, "matches", ProgramExit::Good),
        Integrity::Intact => (AnsiColor::Green, "intact", ProgramExit::Good),
        Integrity::DoesNotMatch => (AnsiColor::Red, "does not match", ProgramExit::NotConformant),
        Integrity::CannotBeTold => (AnsiColor::Yellow, "undecided", ProgramExit::Incomplete),
    };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    writeln!(out, "{style}{word}{style:#}  {}", args.dir.display())?;
    for mismatch in &found.mismatches {
        writeln!(out, "  {mismatch}")?;
    }
    if let Some(certificate) = &found.certificate {
        says(&mut out, certificate, &found)?;
    }
    suite(&mut out, &found)?;
    older_report(&mut out, &found)?;
    changed(&mut out, &found)?;
    for signature in &found.signatures {
        writeln!(out, "  {signature} is a signature; this program does not check it")?;
    }
    Ok(exit)
}

/// Prints the content of the certificate, whether or not it is correct.
fn says(out: &mut impl Write, certificate: &Certificate, found: &Verification) -> std::io::Result<()> {
    let Certificate { subject, suite, verdict, coverage, .. } = certificate;
    let name = subject.name.as_deref().unwrap_or("unnamed subject");
    let version = subject.version.as_deref().unwrap_or_default();
    let said = shown(format!("{name} {version}").trim_end());
    let (kind, verdict, edition) = (subject.kind, verdict.name(), shown(&edition_label(&suite.edition)));
    writeln!(out, "  certified     {verdict}  {said} ({kind}), checked by {edition} on {}", shown(&certificate.began))?;
    writeln!(out, "  MUST          {}", counts(&coverage.must))?;
    writeln!(out, "  SHOULD        {}", counts(&coverage.should))?;
    let redacted = if certificate.redacted { ", redacted" } else { "" };
    writeln!(out, "  traces        {} of {} checked again{redacted}", found.judged, certificate.traces.len())
}

fn counts(counts: &Counts) -> String {
    let Counts { pass, fail, undecided, not_applicable, not_exercised } = counts;
    let all = [
        (pass, "pass"),
        (fail, "fail"),
        (undecided, "undecided"),
        (not_applicable, "not applicable"),
        (not_exercised, "not exercised"),
    ];
    all.iter().map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(" · ")
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

/// Explains which parts cannot be compared if an earlier version wrote the report.
fn older_report(out: &mut impl Write, found: &Verification) -> std::io::Result<()> {
    let Some(format) = &found.older_report else { return Ok(()) };
    writeln!(out, "\nIts report has the old format {format}, which this program can only read.")?;
    writeln!(out, "  compared      the digest of every file, and the verdict on every case and requirement")?;
    writeln!(out, "  not compared  the coverage, the badge, the page, and the rest of the report")
}

/// Prints the verdicts that the traces give with this program.
fn changed(out: &mut impl Write, found: &Verification) -> std::io::Result<()> {
    if found.makes_same_files() || found.certificate.is_none() {
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
            "  {}: the certificate says {}; this program says {}",
            changed.id,
            said(&changed.was),
            said(&changed.is)
        )
    })
}
