//! The report for people at a terminal.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::broken::failures;
use super::event::{Renderer, SuiteEvent};
use super::expected_text;
use super::model::{CaseReport, Driven, FindingReport, RequirementReport, RunReport, ShardInfo};
use super::timings_text;
use super::visible::{in_one_line, visible};
use super::words::{count, counts, level, partial, reproduce, subject};
use crate::judge::TIME_LIMIT;
use crate::requirement::{Level, Status};
use crate::trace::FENCE;
use crate::verdict::{Conformance, Verdict};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Writes events as text. What the subject said cannot move the cursor or colour anything; our own styles are left to the stream, which drops them where they are not wanted.
pub struct TextReport<W> {
    out: W,
    /// Whether cases that passed are left out.
    quiet: bool,
    /// How the subject is called in the line that reproduces a failure; empty where there is none to call.
    reproduce: String,
    /// Whether all cases were to be run; otherwise what was not exercised is no news.
    whole: bool,
}

impl<W: Write> Renderer for TextReport<W> {
    fn event(&mut self, event: &SuiteEvent<'_>) -> io::Result<()> {
        match event {
            SuiteEvent::Begin(begin) => {
                self.reproduce.clone_from(&begin.reproduce);
                self.whole = begin.whole;
                Ok(())
            }
            SuiteEvent::Start(_) | SuiteEvent::Played(_) | SuiteEvent::Chart(..) => Ok(()),
            SuiteEvent::Case(case, _) => self.case(case),
            SuiteEvent::Run(report) => self.run(report).and_then(|()| self.out.flush()),
        }
    }
}

impl<W: Write> TextReport<W> {
    /// A report on this stream.
    pub const fn new(out: W, quiet: bool) -> Self {
        Self { out, quiet, reproduce: String::new(), whole: true }
    }

    fn case(&mut self, case: &CaseReport) -> io::Result<()> {
        if case.verdict == Verdict::Pass && self.quiet {
            return Ok(());
        }
        let style = style_of(case.verdict);
        write!(
            self.out,
            "{style}{:>14}{style:#}  {:<44} {DIM}{:>6} ms{DIM:#}",
            case.verdict,
            in_one_line(&case.id),
            case.duration_ms
        )?;
        match &case.reason {
            Some(reason) => writeln!(self.out, "  {DIM}{}{DIM:#}", first_line(reason)),
            None => writeln!(self.out),
        }?;
        case.notes.iter().try_for_each(|note| writeln!(self.out, "{:>16}{DIM}{}{DIM:#}", "", visible(note)))
    }

    fn run(&mut self, report: &RunReport) -> io::Result<()> {
        self.failures(&report.surprises())?;
        self.open_ends(report)?;
        if let Some(expected) = &report.expected {
            expected_text::write(&mut self.out, expected, self.whole)?;
        }
        self.model(report)?;
        self.summary(report)?;
        report.timings.as_ref().map_or(Ok(()), |timings| {
            timings_text::write(&mut self.out, timings, report.summary.starts, report.subject.kind)
        })
    }

    /// Says how the subject is started again, where no run has begun.
    #[must_use]
    pub fn reproduced_by(mut self, reproduce: String) -> Self {
        self.reproduce = reproduce;
        self
    }

    /// Writes each of the requirements that failed: what it asks, what was seen instead, and how to see it again.
    ///
    /// # Errors
    ///
    /// Only those of the stream.
    pub fn failures(&mut self, requirements: &[RequirementReport]) -> io::Result<()> {
        requirements.iter().filter(|requirement| requirement.fails()).try_for_each(|one| self.failure(one))
    }

    fn failure(&mut self, requirement: &RequirementReport) -> io::Result<()> {
        let style = style_of(Verdict::Fail);
        let level = level(requirement.level);
        writeln!(self.out, "\n{style}failed{style:#}  {BOLD}{}{BOLD:#}  ({level})", requirement.id)?;
        writeln!(self.out, "  {}", visible(&requirement.text))?;
        if let Some(link) = &requirement.link {
            writeln!(self.out, "  {DIM}{link}{DIM:#}")?;
        }
        if let Some(also) = requirement.also() {
            writeln!(self.out, "  {}", visible(&also))?;
        }
        let mut failed: Vec<&FindingReport> = failures(requirement).map(|broken| broken.finding).collect();
        failed.sort_by_key(|finding| finding.counted_in.is_some());
        for finding in failed.iter().take(3) {
            writeln!(
                self.out,
                "  {} is at fault in {}: {}",
                finding.party,
                in_one_line(&finding.case),
                visible(&finding.text)
            )?;
            for line in &finding.lines {
                writeln!(self.out, "    {DIM}{}{DIM:#}", visible(line))?;
            }
        }
        if failed.len() > 3 {
            writeln!(self.out, "  … and {} more like it", failed.len() - 3)?;
        }
        let first = failed.first().and_then(|finding| reproduce(requirement.party, &finding.case, &self.reproduce));
        first.map_or(Ok(()), |line| writeln!(self.out, "  {}", visible(&line)))
    }

    /// Names what was not decided, so that nobody takes it for a pass.
    fn open_ends(&mut self, report: &RunReport) -> io::Result<()> {
        let musts =
            |verdict| report.requirements.iter().filter(move |r| r.level == Level::Must && r.verdict == verdict);
        let undecided: Vec<&RequirementReport> = musts(Verdict::Inconclusive).collect();
        if !undecided.is_empty() {
            let many = count(undecided.len(), "MUST was", "MUSTs were");
            writeln!(self.out, "\n{BOLD}{many} left undecided{BOLD:#}")?;
            for (reason, ids) in by_reason(&undecided) {
                writeln!(self.out, "  {}", first_line(&reason))?;
                writeln!(self.out, "{DIM}{}{DIM:#}", wrap("    ", &ids))?;
            }
        }
        let of_status = |planned| {
            let wanted = move |r: &&RequirementReport| (r.status == Status::Planned) == planned;
            musts(Verdict::NotExercised).filter(wanted).map(|r| r.id.as_str()).collect::<Vec<_>>()
        };
        let (missed, planned) = (of_status(false), of_status(true));
        let whole = self.whole && report.partial.is_none();
        if !missed.is_empty() && whole {
            let many = count(missed.len(), "MUST was", "MUSTs were");
            writeln!(self.out, "\n{BOLD}{many} not exercised{BOLD:#}")?;
            writeln!(self.out, "{}", wrap("  ", &missed))?;
        }
        if !planned.is_empty() && whole {
            let many = count(planned.len(), "MUST is", "MUSTs are");
            writeln!(self.out, "\n{BOLD}{many} not judged by this version{BOLD:#}")?;
            writeln!(self.out, "{DIM}{}{DIM:#}", wrap("  ", &planned))?;
        }
        Ok(())
    }

    /// Tells what was asked of a scripted model, which says what of the agent was exercised.
    fn model(&mut self, report: &RunReport) -> io::Result<()> {
        if report.model.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "\n{BOLD}What the scripted model did{BOLD:#}")?;
        report.model.iter().try_for_each(|(did, times)| writeln!(self.out, "  {times:>4}  {}", visible(did)))
    }

    fn summary(&mut self, report: &RunReport) -> io::Result<()> {
        let style = match report.verdict {
            Conformance::Conformant => style_of(Verdict::Pass),
            Conformance::Incomplete => style_of(Verdict::Inconclusive),
            Conformance::NotConformant | Conformance::HarnessError => style_of(Verdict::Fail),
        };
        let subject = visible(&subject(report));
        let driven = match report.subject.driven {
            Some(Driven::Manual) => ", driven by hand",
            None => "",
        };
        writeln!(
            self.out,
            "\n{style}{}{style:#}  {subject}{driven}, judged by {}",
            report.verdict.name(),
            report.suite.edition
        )?;
        if let Some(ShardInfo { number, of, .. }) = &report.shard {
            writeln!(
                self.out,
                "  shard         {number} of {of}; `acp-conformance merge` joins the JSON reports of all"
            )?;
        }
        if let Some(cut) = report.partial {
            writeln!(self.out, "  partial       {}", partial(cut))?;
        }
        if let Some(expected) = &report.expected {
            writeln!(self.out, "  expected      {}", expected_text::summary(expected))?;
        }
        writeln!(self.out, "  requirements  {}", counts(&report.summary.requirements))?;
        if report.summary.same_as > 0 {
            let many = count(report.summary.same_as, "more fails", "more fail");
            writeln!(self.out, "                {many} only by the same mistakes")?;
        }
        writeln!(self.out, "  cases         {}", counts(&report.summary.cases))?;
        if report.summary.starts > 0 {
            let starts = count(report.summary.starts, "start", "starts");
            let again = match report.summary.again {
                0 => String::new(),
                again => format!("; {} ran again alone", count(again, "case", "cases")),
            };
            writeln!(self.out, "  conversations {starts}{again}")?;
        }
        self.fences(report)?;
        #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
        let seconds = report.summary.duration_ms as f64 / 1000.0;
        writeln!(self.out, "  time          {seconds:.1} s")
    }

    /// Says what proved absence, unless it was the usual unknown request alone.
    fn fences(&mut self, report: &RunReport) -> io::Result<()> {
        let (kind, fences) = (report.subject.kind, &report.summary.fences);
        let others = fences.iter().filter(|(means, _)| *means != FENCE && *means != TIME_LIMIT);
        let others: Vec<String> = others.map(|(means, times)| format!("{} ({times} times)", visible(means))).collect();
        if !others.is_empty() {
            let means = others.join(", ");
            writeln!(
                self.out,
                "  fences        the {kind} did not answer unknown requests; absence was shown by {means}"
            )?;
        }
        match fences.get(TIME_LIMIT) {
            Some(times) => {
                let times = count(*times, "wait", "waits");
                writeln!(self.out, "                {times} had no request to prove absence, and decided nothing")
            }
            None => Ok(()),
        }
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

/// Groups requirements by what kept them from being decided.
fn by_reason<'r>(requirements: &[&'r RequirementReport]) -> Vec<(String, Vec<&'r str>)> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for requirement in requirements {
        let finding = requirement.findings.iter().find(|finding| finding.verdict == Verdict::Inconclusive);
        let undecided = || requirement.undecided.first().map(|case| format!("{case} ended undecided"));
        let reason = finding.map(|finding| finding.text.clone()).or_else(undecided).unwrap_or_default();
        match groups.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, ids)) => ids.push(&requirement.id),
            None => groups.push((reason, vec![&requirement.id])),
        }
    }
    groups
}

fn wrap(indent: &str, words: &[&str]) -> String {
    const WIDTH: usize = 100;
    let indent = &indent[1..];
    let mut lines = vec![indent.to_owned()];
    for word in words {
        let full = lines.last().is_some_and(|line| line.len() + word.len() + 1 > WIDTH);
        if full {
            lines.push(indent.to_owned());
        }
        if let Some(line) = lines.last_mut() {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.join("\n")
}

fn first_line(text: &str) -> String {
    visible(text.lines().next().unwrap_or_default())
}
