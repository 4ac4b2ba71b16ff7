//! The report for people at a terminal.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::collect::SuiteEvent;
use super::model::{CaseReport, Conformance, FindingReport, RequirementReport, RunReport};
use crate::requirement::{Catalogue, Level, Requirement};
use crate::verdict::Verdict;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Writes events as text; styles are left to the stream, which drops them where they are not wanted.
pub struct TextReport<'w> {
    out: &'w mut dyn Write,
    /// Whether cases that passed are left out.
    quiet: bool,
    /// How the subject is called in the line that reproduces a failure; empty where there is none to call.
    reproduce: String,
}

impl<'w> TextReport<'w> {
    /// A report on this stream.
    pub fn new(out: &'w mut dyn Write, reproduce: String, quiet: bool) -> Self {
        Self { out, quiet, reproduce }
    }

    /// Writes one event.
    ///
    /// # Errors
    ///
    /// Only those of the stream.
    pub fn event(&mut self, event: &SuiteEvent<'_>) -> io::Result<()> {
        match event {
            SuiteEvent::Case(case) => self.case(case),
            SuiteEvent::Run(report) => self.run(report),
        }
    }

    fn case(&mut self, case: &CaseReport) -> io::Result<()> {
        if case.verdict == Verdict::Pass && self.quiet {
            return Ok(());
        }
        let style = style_of(case.verdict);
        write!(self.out, "{style}{:>14}{style:#}  {:<44} {DIM}{:>6} ms{DIM:#}", case.verdict, case.id, case.duration_ms)?;
        match &case.reason {
            Some(reason) => writeln!(self.out, "  {DIM}{}{DIM:#}", first_line(reason)),
            None => writeln!(self.out),
        }
    }

    fn run(&mut self, report: &RunReport) -> io::Result<()> {
        let catalogue = Catalogue::v1();
        for requirement in report.requirements.iter().filter(|r| r.verdict == Verdict::Fail) {
            if let Some(text) = catalogue.find(&requirement.id) {
                self.failure(requirement, text)?;
            }
        }
        self.open_ends(report)?;
        self.summary(report)
    }

    fn failure(&mut self, requirement: &RequirementReport, text: &Requirement) -> io::Result<()> {
        let style = style_of(Verdict::Fail);
        let level = if requirement.level == Level::Must { "MUST" } else { "SHOULD" };
        writeln!(self.out, "\n{style}failed{style:#}  {BOLD}{}{BOLD:#}  ({level})", requirement.id)?;
        writeln!(self.out, "  {}", text.text)?;
        if let Some(link) = text.link() {
            writeln!(self.out, "  {DIM}{link}{DIM:#}")?;
        }
        let failed: Vec<&FindingReport> = requirement.findings.iter().filter(|f| f.verdict == Verdict::Fail).collect();
        for finding in failed.iter().take(3) {
            writeln!(self.out, "  {} is at fault in {}: {}", finding.party, finding.case, finding.message)?;
            for line in &finding.lines {
                writeln!(self.out, "    {DIM}{line}{DIM:#}")?;
            }
        }
        if failed.len() > 3 {
            writeln!(self.out, "  … and {} more like it", failed.len() - 3)?;
        }
        if let Some(finding) = failed.first().filter(|_| !self.reproduce.is_empty()) {
            writeln!(self.out, "  reproduce: acp-conformance agent --case {} {}", finding.case, self.reproduce)?;
        }
        Ok(())
    }

    /// Names what was not decided, so that nobody takes it for a pass.
    fn open_ends(&mut self, report: &RunReport) -> io::Result<()> {
        for (verdict, words) in
            [(Verdict::Inconclusive, "undecided"), (Verdict::NotExercised, "not exercised")]
        {
            let open: Vec<&str> = report
                .requirements
                .iter()
                .filter(|r| r.level == Level::Must && r.verdict == verdict)
                .map(|r| r.id.as_str())
                .collect();
            if !open.is_empty() {
                writeln!(self.out, "\n{BOLD}{} MUST requirements were {words}{BOLD:#}", open.len())?;
                writeln!(self.out, "{}", wrap(&open))?;
            }
        }
        Ok(())
    }

    fn summary(&mut self, report: &RunReport) -> io::Result<()> {
        let style = match report.verdict {
            Conformance::Conformant => style_of(Verdict::Pass),
            Conformance::Incomplete => style_of(Verdict::Inconclusive),
            Conformance::NotConformant | Conformance::HarnessError => style_of(Verdict::Fail),
        };
        let name = report.subject.name.as_deref().unwrap_or("the agent");
        let version = report.subject.version.as_deref().unwrap_or_default();
        writeln!(self.out, "\n{style}{}{style:#}  {name} {version}, judged by {}", report.verdict.name(), report.suite.edition)?;
        writeln!(self.out, "  requirements  {}", counts(&report.summary.requirements))?;
        writeln!(self.out, "  cases         {}", counts(&report.summary.cases))?;
        #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
        let seconds = report.summary.duration_ms as f64 / 1000.0;
        writeln!(self.out, "  time          {seconds:.1} s")
    }
}

fn style_of(verdict: Verdict) -> Style {
    let colour = match verdict {
        Verdict::Pass => AnsiColor::Green,
        Verdict::Fail | Verdict::HarnessError => AnsiColor::Red,
        Verdict::Inconclusive => AnsiColor::Yellow,
        Verdict::NotApplicable | Verdict::NotExercised => AnsiColor::Cyan,
    };
    colour.on_default().bold()
}

fn counts(counts: &std::collections::BTreeMap<String, usize>) -> String {
    let known = Verdict::ALL.iter().filter_map(|v| counts.get(v.name()).filter(|n| **n > 0).map(|n| format!("{n} {v}")));
    let text = known.collect::<Vec<_>>().join(" · ");
    if text.is_empty() { "none".to_owned() } else { text }
}

fn wrap(words: &[&str]) -> String {
    const WIDTH: usize = 100;
    let mut lines = vec![" ".to_owned()];
    for word in words {
        let full = lines.last().is_some_and(|line| line.len() + word.len() + 1 > WIDTH);
        if full {
            lines.push(" ".to_owned());
        }
        if let Some(line) = lines.last_mut() {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.join("\n")
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The page of one requirement, as `explain` shows it.
#[must_use]
pub fn explain(requirement: &Requirement) -> String {
    let rows = [
        ("party", requirement.party.name().to_owned()),
        ("level", requirement.level.name().to_owned()),
        ("status", requirement.status.name().to_owned()),
        ("applies", requirement.applies_when.clone()),
        ("source", requirement.link().unwrap_or_else(|| requirement.source.clone())),
    ];
    let mut text = format!("{BOLD}{}{BOLD:#}\n\n{}\n\n", requirement.id, requirement.text);
    for (name, value) in rows {
        text.push_str(&format!("  {name:<8} {value}\n"));
    }
    text.push_str(&format!("\nHow it is judged\n  {}\n", requirement.how));
    text.push_str(&format!("\nThe smallest fault that breaks it\n  {}\n", requirement.mutant));
    if let Some(remark) = &requirement.remark {
        text.push_str(&format!("\nRemark\n  {remark}\n"));
    }
    text
}
