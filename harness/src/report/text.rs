//! The report for people at a terminal.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::broken::{Broken, OpenMusts, area, examples, open_musts, unconfirmed, worst_first};
use super::event::{Renderer, SuiteEvent};
use super::expected_text;
use super::visible::{in_one_line, visible};
use super::words::{
    all_inapplicable, count, counts, level, outcome, partial, protocol_of, reproduce, subject, unstable_cases,
};
use crate::judge::TIME_LIMIT;
use crate::results::{
    CaseReport, Driven, Explored, FindingReport, ReasonReport, Repeated, RequirementReport, RunReport, ShardInfo,
    Unconfirmed,
};
use crate::trace::FENCE;
use crate::verdict::{Conformance, Verdict};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// The level of detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Detail {
    /// The failures and the verdict.
    Failures,
    /// Also the result of each area, and the reasons for undecided requirements; for a few cases, each of them.
    #[default]
    Areas,
    /// Also every case, the names of all requirements, further examples of a failure, and what the scripted model did.
    Cases,
}

/// The prefix of our own methods.
const OWN_METHODS: &str = "_acp-conformance/";

/// The most cases that are listed one by one.
const FEW: usize = 10;

/// The most reasons that are listed for undecided cases.
const REASONS: usize = 5;

/// Writes events as text. Texts of the subject cannot move the cursor or change colours; the stream drops our own
/// styles if they are not wanted.
pub struct TextReport<W> {
    out: W,
    detail: Detail,
    /// Whether each case is written when it ends.
    lists_cases: bool,
    /// The command that runs a case again, with a placeholder for its id; empty if unknown.
    reproduce: String,
    /// Whether all cases were selected; otherwise, missing coverage is not reported.
    whole: bool,
    /// The verdicts of all runs, if the cases ran several times.
    repeated: Option<Repeated>,
    /// The last lines on standard error in the cases in which the subject exited by itself.
    last_words: BTreeMap<String, Vec<String>>,
}

/// Returns a failed requirement in a few lines, for a run that goes on: what was found in one case, and after how many
/// seconds.
pub(crate) fn confirmed(requirement: &RequirementReport, after: u64) -> String {
    let style = style_of(Verdict::Fail);
    let level = level(requirement.level);
    let mut text = Vec::new();
    let mut write = || -> io::Result<()> {
        write!(text, "{style}failed{style:#}  {BOLD}{}{BOLD:#}  ({level}) after {after} s", requirement.id)?;
        let Some(Broken { finding, .. }) = examples(requirement).into_iter().next() else { return Ok(()) };
        write!(text, "\n  case: {}\n  found: {}", in_one_line(&finding.case_name()), visible(&finding.text))?;
        finding.lines.iter().try_for_each(|line| write!(text, "\n    {DIM}{}{DIM:#}", visible(line)))
    };
    // Memory takes all that is written to it.
    let _ = write();
    String::from_utf8_lossy(&text).into_owned()
}

impl<W: Write> Renderer for TextReport<W> {
    fn event(&mut self, event: &SuiteEvent<'_>) -> io::Result<()> {
        match event {
            SuiteEvent::Begin(begin) => {
                self.reproduce.clone_from(&begin.reproduce);
                self.whole = begin.whole;
                // A person who operates the client by hand waits for each verdict.
                let is_short = begin.cases <= FEW || begin.subject.driven.is_some();
                self.lists_cases =
                    !begin.cut_short && self.detail >= if is_short { Detail::Areas } else { Detail::Cases };
                Ok(())
            }
            SuiteEvent::Start(_) | SuiteEvent::Played(_) | SuiteEvent::First(_) | SuiteEvent::Chart(..) => Ok(()),
            SuiteEvent::Case(case, _) => self.case(case),
            SuiteEvent::Run(report) => self.run(report).and_then(|()| self.out.flush()),
        }
    }
}

impl<W: Write> TextReport<W> {
    /// Writes a report to this stream.
    pub const fn new(out: W, detail: Detail) -> Self {
        Self {
            out,
            detail,
            lists_cases: true,
            reproduce: String::new(),
            whole: true,
            repeated: None,
            last_words: BTreeMap::new(),
        }
    }

    fn case(&mut self, case: &CaseReport) -> io::Result<()> {
        if !self.lists_cases {
            return Ok(());
        }
        let style = style_of(case.verdict);
        let title = case.title.as_deref().map_or_else(String::new, |title| format!("  {}", in_one_line(title)));
        writeln!(
            self.out,
            "{style}{:>14}{style:#}  {:<44} {DIM}{:>9}{DIM:#}{title}",
            case.verdict,
            in_one_line(&case.id),
            took(case.duration_ms)
        )?;
        let last_words = case.stderr.last().map(|line| format!("standard error ends with: {}", in_one_line(line)));
        let reason = case.reason.iter().map(|reason| first_line(reason));
        let mut notes = last_words.into_iter().chain(reason).chain(case.notes.iter().map(|note| visible(note)));
        notes.try_for_each(|note| writeln!(self.out, "{:>16}{DIM}{note}{DIM:#}", ""))
    }

    fn run(&mut self, report: &RunReport) -> io::Result<()> {
        let exited = report.cases.iter().filter(|case| !case.stderr.is_empty());
        self.last_words = exited.map(|case| (case.id.clone(), case.stderr.clone())).collect();
        self.repeated.clone_from(&report.repeated);
        if let Some(obstacle) = &report.obstacle {
            writeln!(self.out, "\n{}", visible(obstacle))?;
            if report.is_wrong_program {
                return Ok(());
            }
        }
        self.failures(&report.surprises())?;
        self.unconfirmed(report)?;
        if report.obstacle.is_some() {
            // The other cases would show nothing, so their counts are of no use. A violated MUST still decides the
            // verdict.
            return match report.verdict {
                Conformance::NotConformant => self.summary(report),
                _ => Ok(()),
            };
        }
        if self.detail >= Detail::Areas {
            if self.detail == Detail::Cases {
                self.areas(report)?;
            }
            if !self.lists_cases || self.detail == Detail::Cases {
                self.reasons(report)?;
            }
            self.open_ends(report)?;
        }
        if let Some(expected) = &report.expected {
            expected_text::write(&mut self.out, expected, self.whole)?;
        }
        if self.detail == Detail::Cases {
            self.model(report)?;
        }
        self.summary(report)?;
        if !report.next_steps.is_empty() {
            writeln!(self.out)?;
        }
        report.next_steps.iter().try_for_each(|step| writeln!(self.out, "{BOLD}next{BOLD:#}  {}", visible(step)))
    }

    /// Sets the command that runs a case again, for failures outside a run.
    pub fn reproduced_by(mut self, reproduce: String) -> Self {
        self.reproduce = reproduce;
        self
    }

    /// Writes each failed requirement: its text, the observation, and the command to reproduce it. Requirements with
    /// the highest level and the most cases come first.
    pub fn failures(&mut self, requirements: &[RequirementReport]) -> io::Result<()> {
        let failed = worst_first(requirements);
        failed.iter().try_for_each(|one| self.failure(one))?;
        let lines = failed.iter().flat_map(|one| &one.findings).flat_map(|finding| &finding.lines);
        if lines.into_iter().any(|line| line.contains(OWN_METHODS)) {
            writeln!(self.out, "\n{DIM}{OWN_METHODS}… messages are probes of acp-conformance{DIM:#}")?;
        }
        Ok(())
    }

    fn failure(&mut self, requirement: &RequirementReport) -> io::Result<()> {
        let shown = if self.detail == Detail::Cases { 3 } else { 1 };
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
        let sometimes = self.repeated.as_ref().and_then(|repeated| repeated.sometimes_fails(&requirement.id));
        sometimes.map_or(Ok(()), |sometimes| writeln!(self.out, "  runs: {sometimes}"))?;
        let failed: Vec<&FindingReport> = examples(requirement).into_iter().map(|broken| broken.finding).collect();
        for finding in failed.iter().take(shown) {
            self.finding(finding)?;
        }
        if failed.len() > shown {
            let cases: BTreeSet<&str> = failed[shown..].iter().map(|finding| finding.case.as_str()).collect();
            let cases = count(cases.len(), "case", "cases");
            writeln!(self.out, "  {} more of the same in {cases}", failed.len() - shown)?;
        }
        let first = failed.first().and_then(|finding| reproduce(&finding.case, &finding.after, &self.reproduce));
        first.map_or(Ok(()), |line| writeln!(self.out, "  {}", visible(&line)))
    }

    /// Writes each requirement that failed in one process, which no second process has confirmed.
    fn unconfirmed(&mut self, report: &RunReport) -> io::Result<()> {
        let style = style_of(Verdict::Inconclusive);
        for Broken { requirement, finding } in unconfirmed(report) {
            let level = level(requirement.level);
            let id = &requirement.id;
            writeln!(self.out, "\n{style}seen, not confirmed{style:#}  {BOLD}{id}{BOLD:#}  ({level})")?;
            writeln!(self.out, "  {}", visible(&requirement.text))?;
            self.finding(finding)?;
            let more = requirement.findings.iter().filter(|finding| finding.unconfirmed).count() - 1;
            if more > 0 {
                writeln!(self.out, "  {more} more of the same")?;
            }
            let why = match (finding.after.len(), report.partial.is_some()) {
                (_, true) => "the run ended before a second process could show it".to_owned(),
                (0, false) => "a second process did not show it".to_owned(),
                (after, false) => {
                    let others = count(after, "other case", "other cases");
                    format!(
                        "it showed once, after {others}; the case alone and the repeated conversation did not show it"
                    )
                }
            };
            writeln!(self.out, "  {DIM}{why}{DIM:#}")?;
        }
        Ok(())
    }

    fn finding(&mut self, finding: &FindingReport) -> io::Result<()> {
        writeln!(self.out, "  case: {}", in_one_line(&finding.case_name()))?;
        if let Some(lines) = self.last_words.get(&finding.case) {
            writeln!(self.out, "  exited: standard error ends with")?;
            lines.iter().try_for_each(|line| writeln!(self.out, "    {DIM}{}{DIM:#}", visible(line)))?;
        }
        writeln!(self.out, "  found: {}", visible(&finding.text))?;
        let quoted =
            |line: &&String| !(line.contains(" standard error  ") && self.last_words.contains_key(&finding.case));
        let mut lines = finding.stderr_first().filter(quoted);
        lines.try_for_each(|line| writeln!(self.out, "    {DIM}{}{DIM:#}", visible(line)))
    }

    /// Counts the cases of each area in which a case did not pass.
    fn areas(&mut self, report: &RunReport) -> io::Result<()> {
        let mut areas: BTreeMap<&str, BTreeMap<String, usize>> = BTreeMap::new();
        for case in &report.cases {
            *areas.entry(area(&case.id)).or_default().entry(case.verdict.name().to_owned()).or_default() += 1;
        }
        let is_fine =
            |verdict: &String| [Verdict::Pass, Verdict::NotApplicable].iter().any(|fine| fine.name() == verdict);
        let (fine, other): (Vec<_>, Vec<_>) = areas.into_iter().partition(|(_, counts)| counts.keys().all(is_fine));
        if other.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "\n{BOLD}Cases by area{BOLD:#}")?;
        for (area, cases) in &other {
            writeln!(self.out, "  {:<14}{}", in_one_line(area), counts(cases))?;
        }
        if fine.is_empty() {
            return Ok(());
        }
        let many = count(fine.len(), "other area passed", "other areas passed");
        writeln!(self.out, "  {DIM}{many}, as far as they apply{DIM:#}")
    }

    /// Writes a line for each reason why cases are undecided, and one for all cases that do not apply.
    fn reasons(&mut self, report: &RunReport) -> io::Result<()> {
        let (undecided, inapplicable): (Vec<_>, Vec<_>) =
            report.reasons.iter().partition(|reason| reason.verdict != Verdict::NotApplicable);
        let many = |reasons: &[&ReasonReport]| reasons.iter().map(|reason| reason.cases.len()).sum::<usize>();
        if !undecided.is_empty() {
            let counted = count(many(&undecided), "case was", "cases were");
            writeln!(self.out, "\n{BOLD}{counted} left undecided{BOLD:#}")?;
            let shown = if self.detail == Detail::Cases { undecided.len() } else { REASONS };
            for reason in undecided.iter().take(shown) {
                let example = reason.cases.first().map_or("", String::as_str);
                let (cases, text) = (reason.cases.len(), visible(&reason.text));
                writeln!(self.out, "  {cases:>4}  {text}, {DIM}such as {}{DIM:#}", in_one_line(example))?;
                let exited = report.cases.iter().find(|case| case.id == example && reason.kind == "subject-ended");
                let stderr = exited.into_iter().flat_map(|case| &case.stderr);
                stderr
                    .into_iter()
                    .try_for_each(|line| writeln!(self.out, "          {DIM}{}{DIM:#}", visible(line)))?;
            }
            if let Some(rest) = undecided.get(shown..).filter(|rest| !rest.is_empty()) {
                writeln!(
                    self.out,
                    "  {:>4}  for {}; -v lists them",
                    many(rest),
                    count(rest.len(), "other reason", "other reasons")
                )?;
            }
        }
        if self.detail == Detail::Cases && !inapplicable.is_empty() {
            let counted = count(many(&inapplicable), "case does not apply", "cases do not apply");
            writeln!(self.out, "\n{BOLD}{counted}{BOLD:#}")?;
            for reason in inapplicable {
                writeln!(self.out, "  {:>4}  {}", reason.cases.len(), visible(&reason.text))?;
            }
        }
        Ok(())
    }

    /// Lists the undecided requirements, so that they are not mistaken for passes.
    fn open_ends(&mut self, report: &RunReport) -> io::Result<()> {
        let open = open_musts(report, self.whole);
        if self.detail < Detail::Cases {
            let headings: Vec<&str> = open.iter().map(|open| open.heading.as_str()).collect();
            let is_whole = self.whole && report.partial.is_none();
            return match headings.as_slice() {
                [_, ..] if is_whole => writeln!(self.out, "\n{}; -v names them", headings.join("; ")),
                _ => Ok(()),
            };
        }
        for OpenMusts { heading, verdict, requirements } in open {
            writeln!(self.out, "\n{BOLD}{heading}{BOLD:#}")?;
            if verdict == Verdict::Inconclusive {
                for (reason, ids) in by_reason(&requirements) {
                    writeln!(self.out, "  {}\n{DIM}{}{DIM:#}", first_line(&reason), wrap("    ", &ids))?;
                }
            } else {
                let ids: Vec<&str> = requirements.iter().map(|requirement| requirement.id.as_str()).collect();
                writeln!(self.out, "{DIM}{}{DIM:#}", wrap("  ", &ids))?;
            }
        }
        Ok(())
    }

    /// Lists the requests to the scripted model, which show how the agent was exercised.
    fn model(&mut self, report: &RunReport) -> io::Result<()> {
        if report.model.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "\n{BOLD}Actions of the scripted model{BOLD:#}")?;
        report.model.iter().try_for_each(|(did, times)| writeln!(self.out, "  {times:>4}  {}", visible(did)))
    }

    fn summary(&mut self, report: &RunReport) -> io::Result<()> {
        let verdict = match report.verdict {
            Conformance::Passed if all_inapplicable(report) => Verdict::NotApplicable.name(),
            verdict => verdict.name(),
        };
        let outcome = outcome(report);
        let style = match report.verdict {
            Conformance::Conformant | Conformance::Passed => style_of(Verdict::Pass),
            Conformance::Incomplete => style_of(Verdict::Inconclusive),
            Conformance::NotConformant | Conformance::HarnessError => style_of(Verdict::Fail),
        };
        let subject = visible(&subject(report));
        let driven = match report.subject.driven {
            Some(Driven::Manual) => ", driven by hand",
            None => "",
        };
        writeln!(self.out, "\n{style}{verdict}{style:#}  {subject}{driven}\n  {outcome}")?;
        writeln!(self.out, "  protocol      {}", visible(&protocol_of(&report.suite)))?;
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
            let many = count(report.summary.same_as, "more requirement fails", "more requirements fail");
            writeln!(self.out, "                {many} because of the same messages")?;
        }
        writeln!(self.out, "  cases         {}", counts(&report.summary.cases))?;
        if let Some(repeated) = &report.repeated {
            writeln!(self.out, "  runs          {}", repeated.runs)?;
            for case in unstable_cases(report) {
                writeln!(self.out, "  note          {}", in_one_line(&case))?;
            }
        }
        if report.summary.starts > 0 {
            let starts = report.summary.starts;
            let again = match report.summary.again {
                0 => String::new(),
                again => format!("; {} ran again alone", count(again, "case", "cases")),
            };
            writeln!(self.out, "  processes     {starts} started{again}")?;
        }
        if let Some(Explored { walks, seed, unconfirmed }) = &report.explored {
            writeln!(self.out, "  walks         {walks} random, with seed {seed}")?;
            for Unconfirmed { walk, requirement, .. } in unconfirmed {
                let (walk, requirement) = (in_one_line(walk), in_one_line(requirement));
                writeln!(self.out, "  note          {requirement} failed once in {walk}, but not when it ran again")?;
            }
        }
        self.fences(report)?;
        #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
        let seconds = report.summary.duration_ms as f64 / 1000.0;
        writeln!(self.out, "  time          {seconds:.1} s")
    }

    /// Explains how absence was proved, unless the subject answered the usual unknown request.
    fn fences(&mut self, report: &RunReport) -> io::Result<()> {
        let (kind, fences) = (report.subject.kind, &report.summary.fences);
        let others = fences.iter().filter(|(means, _)| *means != FENCE && *means != TIME_LIMIT);
        let others: Vec<String> = others.map(|(means, times)| format!("{} ({times} times)", visible(means))).collect();
        if !others.is_empty() {
            let means = others.join(", ");
            writeln!(
                self.out,
                "  note          the {kind} does not answer unknown requests; answers to {means} proved that no message was missing"
            )?;
        }
        match fences.get(TIME_LIMIT) {
            Some(times) => {
                let times = count(*times, "wait", "waits");
                writeln!(self.out, "  note          {times} ended only by a time limit and decided nothing")
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

/// Groups requirements by the reason why they are undecided.
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

/// Returns how long a case took: from ten seconds on, in seconds.
fn took(ms: u64) -> String {
    if ms < 10_000 { format!("{ms} ms") } else { format!("{} s", ms / 1000) }
}

fn first_line(text: &str) -> String {
    visible(text.lines().next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::edition::V1;
    use crate::report::Begin;
    use crate::requirement::Party;
    use crate::results::Collector;

    /// Returns the text about a run of these cases, without styles.
    fn text(cases: &[(&str, Verdict)], detail: Detail) -> String {
        let collector = Collector::new(V1.edition(), Party::Agent, Vec::new());
        let begin = Begin::new(&collector, cases.len(), true, String::new());
        let case = |(id, verdict): &(&str, Verdict)| -> CaseReport {
            serde_json::from_value(json!({ "id": id, "verdict": verdict, "durationMs": 1 })).expect("a case")
        };
        let mut report = collector.finish(Duration::ZERO, false);
        report.cases = cases.iter().map(case).collect();
        let mut out = Vec::new();
        let mut text = TextReport::new(anstream::StripStream::new(&mut out), detail);
        text.finished(&begin, &report).expect("memory takes everything");
        drop(text);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn failures_follow_an_obstacle() {
        let finding = json!({
            "case": "v1/client/init/handshake", "verdict": "fail", "kind": "not-json", "party": "client",
            "text": "the client sent a line that is not JSON", "events": [], "lines": [],
        });
        let mut report = Collector::new(V1.edition(), Party::Client, Vec::new()).finish(Duration::ZERO, false);
        report.obstacle = Some("The client never sent initialize.".to_owned());
        let text = |report: &RunReport| {
            let mut out = Vec::new();
            let mut text = TextReport::new(anstream::StripStream::new(&mut out), Detail::Failures);
            text.event(&SuiteEvent::Run(report)).expect("memory takes everything");
            drop(text);
            String::from_utf8(out).expect("UTF-8")
        };
        assert_eq!(text(&report), "\nThe client never sent initialize.\n");
        let failed = &mut report.requirements[0];
        failed.verdict = Verdict::Fail;
        failed.findings.push(serde_json::from_value(finding).expect("a finding"));
        report.verdict = Conformance::NotConformant;
        let output = text(&report);
        let parts = ["The client never sent initialize.", "\nfailed  ", "not JSON", "\nnot-conformant  "];
        let places: Vec<_> = parts.iter().map(|part| output.find(part)).collect();
        assert!(places.is_sorted() && places[0].is_some(), "{output}");
    }

    #[test]
    fn verbose_text_counts_cases_by_area() {
        let fine = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|name| format!("v1/agent/fs/{name}"));
        let mut cases: Vec<(&str, Verdict)> = fine.iter().map(|id| (id.as_str(), Verdict::Pass)).collect();
        cases.push(("v1/agent/cancel/idle", Verdict::Pass));
        cases.push(("v1/agent/cancel/twice", Verdict::Fail));
        cases.push(("v1/agent/fs/image", Verdict::NotApplicable));
        let output = text(&cases, Detail::Cases);
        assert!(output.contains("Cases by area\n  cancel        1 pass · 1 fail\n  1 other area passed"), "{output}");
        assert!(output.contains("pass  v1/agent/cancel/idle"), "{output}");
        let output = text(&cases, Detail::Areas);
        assert!(!output.contains("v1/agent/cancel/idle") && !output.contains("area"), "{output}");
        assert!(text(&cases[9..], Detail::Areas).contains("fail  v1/agent/cancel/twice"), "few cases are listed");
        let quiet = text(&cases, Detail::Failures);
        assert!(!quiet.contains("area") && !quiet.contains("-v"), "{quiet}");
    }
}
