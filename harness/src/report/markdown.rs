//! The report in Markdown, as the summary of a job: the verdict, the coverage, the violations, and the evidence.

use std::io::{self, Write};

use super::broken::{Broken, examples, failures, open_musts, unconfirmed};
use super::event::{Renderer, SuiteEvent};
use super::visible::{cut, in_markdown, visible};
use super::words::{count, counts, level, outcome, partial, protocol_of, reproduce, subject, unstable_cases};
use crate::requirement::Level;
use crate::results::{RequirementReport, RunReport};
use crate::verdict::Verdict;

/// The longest message in the table.
const LONGEST: usize = 300;

/// The most findings of one requirement that are shown.
const SHOWN: usize = 3;

/// Writes the report as Markdown when the run is over.
pub struct MarkdownReport<W> {
    out: W,
    /// The command that runs a case again.
    again: String,
    /// Whether all cases were selected; otherwise, missing coverage is not reported.
    whole: bool,
}

impl<W: Write> MarkdownReport<W> {
    /// Writes a report to this stream.
    pub const fn new(out: W) -> Self {
        Self { out, again: String::new(), whole: true }
    }

    fn report(&mut self, report: &RunReport) -> io::Result<()> {
        writeln!(self.out, "## {}: {}\n", report.verdict.name(), in_markdown(&subject(report)))?;
        let by = format!("Checked by acp-conformance {} against {}.", report.suite.version, protocol_of(&report.suite));
        writeln!(self.out, "{}\n{}.\n", in_markdown(&by), outcome(report))?;
        if let Some(cut) = report.partial {
            writeln!(self.out, "**Partial:** {}.\n", partial(cut))?;
        }
        self.exits(report)?;
        self.coverage(report)?;
        self.notes(report)?;
        let is_new = |r: &&RequirementReport| failures(r).any(|broken| broken.expected(report).is_none());
        let (failed, expected): (Vec<_>, Vec<_>) = report.requirements.iter().filter(|r| r.fails()).partition(is_new);
        if !failed.is_empty() {
            broken_table(&failed, &mut self.out)?;
            writeln!(self.out)?;
            failed.iter().try_for_each(|requirement| self.evidence(requirement, report))?;
        }
        let seen = " (seen, not confirmed)";
        unconfirmed(report).try_for_each(|broken| self.details(broken.requirement, seen, &block(&broken)))?;
        if !expected.is_empty() {
            let many = count(expected.len(), "requirement failed as expected", "requirements failed as expected");
            self.list(&many, &expected)?;
        }
        open_musts(report, self.whole).iter().try_for_each(|open| self.list(&open.heading, &open.requirements))
    }

    fn coverage(&mut self, report: &RunReport) -> io::Result<()> {
        let of = |wanted| {
            let all =
                report.requirements.iter().filter(move |r| r.level == wanted && r.verdict != Verdict::NotApplicable);
            let exercised = all.clone().filter(|r| matches!(r.verdict, Verdict::Pass | Verdict::Fail));
            format!("{} of {}", exercised.count(), all.count())
        };
        writeln!(self.out, "| | |\n|---|---|")?;
        writeln!(self.out, "| MUST that were decided | {} |", of(Level::Must))?;
        writeln!(self.out, "| SHOULD that were decided | {} |", of(Level::Should))?;
        writeln!(self.out, "| requirements | {} |", counts(&report.summary.requirements))?;
        writeln!(self.out, "| cases | {} |", counts(&report.summary.cases))?;
        if let Some(repeated) = &report.repeated {
            writeln!(self.out, "| runs | {} |", repeated.runs)?;
        }
        writeln!(self.out)?;
        let unstable: Vec<String> =
            unstable_cases(report).iter().map(|case| format!("- {}\n", in_markdown(case))).collect();
        if unstable.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "Cases with different verdicts in these runs:\n\n{}", unstable.concat())
    }

    /// Shows the last lines on standard error of the first case in which the subject exited by itself.
    fn exits(&mut self, report: &RunReport) -> io::Result<()> {
        let mut exited = report.exits().filter(|case| !case.stderr.is_empty());
        let Some(first) = exited.next() else { return Ok(()) };
        let others = match exited.count() {
            0 => String::new(),
            more => format!(" and in {}", count(more, "other case", "other cases")),
        };
        let (party, id) = (report.subject.kind, in_markdown(&first.id));
        let said = fenced("text", &first.stderr.join("\n"));
        let exited = format!("**The {party} exited without being asked to** in {id}{others}");
        writeln!(self.out, "{exited}. Its standard error ends with:\n\n{said}\n")
    }

    /// Lists the gaps of recordings, and their conversations that this edition does not cover.
    fn notes(&mut self, report: &RunReport) -> io::Result<()> {
        let notes = report.cases.iter().flat_map(|case| case.notes.iter().map(move |note| (&case.id, note)));
        let lines: Vec<String> =
            notes.map(|(id, note)| format!("- {}: {}\n", in_markdown(id), in_markdown(note))).collect();
        if lines.is_empty() { Ok(()) } else { writeln!(self.out, "{}", lines.concat()) }
    }

    fn evidence(&mut self, requirement: &RequirementReport, report: &RunReport) -> io::Result<()> {
        let all = examples(requirement);
        let mut blocks: Vec<String> = requirement.also().into_iter().collect();
        let sometimes = report.repeated.as_ref().and_then(|repeated| repeated.sometimes_fails(&requirement.id));
        blocks.extend(sometimes.map(|sometimes| format!("runs: {sometimes}")));
        blocks.extend(all.iter().take(SHOWN).map(block));
        blocks.extend((all.len() > SHOWN).then(|| format!("… and {} more like it", all.len() - SHOWN)));
        let first = all.first().map(|broken| broken.finding);
        blocks.extend(first.and_then(|finding| reproduce(&finding.case, &finding.after, &self.again)));
        self.details(requirement, "", &blocks.join("\n\n"))
    }

    /// Writes the evidence against a requirement below its id and this `mark`.
    fn details(&mut self, requirement: &RequirementReport, mark: &str, evidence: &str) -> io::Result<()> {
        let (id, text) = (in_markdown(&requirement.id), in_markdown(&requirement.text));
        writeln!(self.out, "<details><summary>{id}{mark}</summary>\n\n{text}\n")?;
        writeln!(self.out, "{}\n\n</details>\n", fenced("text", evidence))
    }

    fn list(&mut self, heading: &str, all: &[&RequirementReport]) -> io::Result<()> {
        let ids: Vec<_> = all.iter().map(|requirement| in_markdown(&requirement.id)).collect();
        writeln!(self.out, "<details><summary>{heading}</summary>\n\n{}\n\n</details>\n", ids.join(", "))
    }
}

impl<W: Write> Renderer for MarkdownReport<W> {
    fn event(&mut self, event: &SuiteEvent<'_>) -> io::Result<()> {
        match event {
            SuiteEvent::Begin(begin) => {
                self.again.clone_from(&begin.reproduce);
                self.whole = begin.whole;
            }
            SuiteEvent::Run(report) => self.report(report)?,
            _ => {}
        }
        self.out.flush()
    }
}

fn block(broken: &Broken<'_>) -> String {
    let Broken { finding, .. } = broken;
    let mut lines = vec![format!("case: {}", finding.case_name()), format!("found: {}", broken.message())];
    lines.extend(finding.stderr_first().map(|line| format!("  {line}")));
    lines.join("\n")
}

/// Writes a table of the violated requirements with the first finding of each.
pub(super) fn broken_table(failed: &[&RequirementReport], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "| failed | level | found | case |\n|---|---|---|---|")?;
    for requirement in failed {
        let all = examples(requirement);
        let first = all.first();
        let message = first.map(|broken| in_markdown(&cut(&broken.finding.text, LONGEST))).unwrap_or_default();
        let case = first.map(|broken| in_markdown(&broken.finding.case_name())).unwrap_or_default();
        let more = match all.len() {
            0 | 1 => String::new(),
            many => format!(" and {} more", many - 1),
        };
        let also = requirement.also().map(|also| format!("; {}", in_markdown(&also))).unwrap_or_default();
        writeln!(out, "| {} | {} | {message}{also} | {case}{more} |", linked(requirement), level(requirement.level))?;
    }
    Ok(())
}

/// Returns a requirement with the link to the specification.
pub(super) fn linked(requirement: &RequirementReport) -> String {
    match &requirement.link {
        Some(link) => format!("[{}]({link})", requirement.id),
        None => in_markdown(&requirement.id),
    }
}

/// Returns a text as a code block, whose fence is longer than every fence in the text.
pub(super) fn fenced(kind: &str, text: &str) -> String {
    let text = visible(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{kind}\n{text}\n{fence}")
}
