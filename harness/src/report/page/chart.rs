//! The chart of a trace on a page: its lines as in the trace file, long ones shortened, and only part of a long trace.

use std::collections::{BTreeSet, VecDeque};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::judge::{expected_text, observed_text};
use crate::requirement::Party;
use crate::trace::{Event, Header, Outcome, StepEvent, Trace, What};

/// The number of events kept at the beginning of a trace; cases have far fewer.
const FIRST: usize = 400;
/// The number of events kept at the end.
const LAST: usize = 100;
/// The number of events kept before and after one that a finding names.
const AROUND: usize = 2;
/// The most kept events that findings name or that belong to failed steps; that is enough to understand a failure.
const MOST_KEPT: usize = 2000;

/// The longest text in bytes that is not shortened.
const LONGEST: usize = 4096;
/// The same limit for a large chart.
const SHORTER: usize = 256;
/// The size of a large chart, in bytes.
const LARGE: usize = 256 * 1024;

/// The part of a trace that a page shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chart {
    header: Header,
    /// Lines as in a trace file; `cut` is the number of bytes removed from a line.
    events: Vec<Value>,
    /// The number of events in the trace.
    of: usize,
    /// The text of a case file that repeats the messages, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    case: Option<String>,
}

impl Chart {
    /// Makes the chart of a trace whose findings name these events.
    pub fn of(trace: &Trace, evidence: BTreeSet<usize>) -> Self {
        let mut charting = Charting::new(&trace.header, evidence);
        trace.events.iter().for_each(|event| charting.event(event));
        charting.close()
    }

    /// Adds the text of a case file that repeats the messages, for a button that copies it.
    pub fn with_case(self, case: Option<String>) -> Self {
        Self { case, ..self }
    }
}

/// Builds a chart event by event, with no more memory than the chart needs.
pub struct Charting {
    evidence: BTreeSet<usize>,
    chart: Chart,
    last: VecDeque<Value>,
    bytes: usize,
}

impl Charting {
    /// Starts with the header of a trace and the events that findings name.
    pub fn new(header: &Header, evidence: BTreeSet<usize>) -> Self {
        let chart = Chart { header: header.clone(), events: Vec::new(), of: 0, case: None };
        Self { evidence, chart, last: VecDeque::new(), bytes: 0 }
    }

    /// Adds the next event.
    pub fn event(&mut self, event: &Event) {
        self.chart.of += 1;
        let kept = self.chart.of <= FIRST || self.matters(event) && self.chart.events.len() < FIRST + MOST_KEPT;
        let line = self.line(event);
        if kept {
            self.bytes += line.to_string().len();
            self.chart.events.push(line);
        } else {
            self.last.push_back(line);
            if self.last.len() > LAST {
                self.last.pop_front();
            }
        }
    }

    /// Ends the trace.
    pub fn close(self) -> Chart {
        let Self { mut chart, last, .. } = self;
        chart.events.extend(last);
        chart.events.sort_by_key(|line| line["n"].as_u64());
        chart
    }

    fn matters(&self, event: &Event) -> bool {
        let went_wrong =
            matches!(&event.what, What::Step(StepEvent { outcome, .. }) if !matches!(outcome, Outcome::Done));
        let near = event.n.saturating_sub(AROUND)..=event.n + AROUND;
        went_wrong || self.evidence.range(near).next().is_some()
    }

    /// Adds the sentences for the page.
    fn describe(&self, step: &StepEvent, line: &mut Value) {
        let subject = self.chart.header.subject.unwrap_or(Party::Agent);
        if let Some(text) = expected_text(step, subject) {
            line["expectedText"] = text.into();
        }
        if step.observed.is_some() {
            line["observedText"] = observed_text(step, subject).into();
        }
    }

    fn line(&self, event: &Event) -> Value {
        let most = if self.bytes < LARGE || self.evidence.contains(&event.n) { LONGEST } else { SHORTER };
        let mut line = event.to_json();
        if let What::Step(step) = &event.what {
            self.describe(step, &mut line["step"]);
        }
        let cut = shorten(&mut line, most);
        if let Some(members) = line.as_object_mut().filter(|_| cut > 0) {
            members.insert("cut".to_owned(), cut.into());
        }
        line
    }
}

/// Shortens every text with more than `most` bytes, and returns the number of removed bytes.
fn shorten(value: &mut Value, most: usize) -> usize {
    match value {
        Value::String(text) if text.len() > most => {
            let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            let cut = text.len() - end;
            text.truncate(end);
            cut
        }
        Value::Array(items) => items.iter_mut().map(|item| shorten(item, most)).sum(),
        Value::Object(members) => shorten_members(members, most),
        _ => 0,
    }
}

fn shorten_members(members: &mut Map<String, Value>, most: usize) -> usize {
    // The names of all environment variables prove little, but would be a third of the page.
    members.remove("environment");
    members.values_mut().map(|member| shorten(member, most)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::Party;
    use crate::wire::LineEnd;

    fn trace(lines: impl Iterator<Item = String>) -> Trace {
        let line = |text: String| What::Line {
            from: Party::Agent,
            bytes: text.into_bytes(),
            end: LineEnd::Lf,
            deliberate: false,
        };
        let event = |(n, text)| Event { n, us: 0, connection: 0, what: line(text) };
        Trace { header: Header::of_recording("v1", Vec::new()), events: lines.enumerate().map(event).collect() }
    }

    fn numbers(chart: &Chart) -> Vec<u64> {
        chart.events.iter().filter_map(|line| line["n"].as_u64()).collect()
    }

    #[test]
    fn a_short_trace_is_kept_whole() {
        let chart = Chart::of(&trace((0..3).map(|n| n.to_string())), BTreeSet::new());
        assert_eq!(numbers(&chart), [0, 1, 2]);
        assert_eq!(chart.events[1], serde_json::json!({ "n": 1, "us": 0, "from": "agent", "line": "1" }));
        assert_eq!(chart.of, 3);
    }

    #[test]
    fn of_a_long_one_the_ends_are_kept_and_what_findings_name() {
        let chart = Chart::of(&trace((0..10_000).map(|n| n.to_string())), BTreeSet::from([5000, 9950]));
        let found = numbers(&chart);
        let wanted: Vec<u64> = (0..400).chain(4998..=5002).chain(9895..10_000).collect();
        assert_eq!(found, wanted);
        assert_eq!(chart.of, 10_000);
    }

    #[test]
    fn long_lines_are_cut_between_characters_and_it_says_by_how_much() {
        let long = format!("a{}", "é".repeat(5000));
        let chart = Chart::of(&trace([long].into_iter()), BTreeSet::new());
        assert_eq!(chart.events[0]["line"].as_str().map(str::len), Some(4095));
        assert_eq!(chart.events[0]["cut"], 10_001 - 4095);
    }

    #[test]
    fn many_long_lines_are_cut_shorter_but_for_what_findings_name() {
        let chart = Chart::of(&trace((0..300).map(|_| "x".repeat(5000))), BTreeSet::from([200]));
        let length = |n: usize| chart.events[n]["line"].as_str().map(str::len);
        assert_eq!([length(0), length(199), length(200)], [Some(4096), Some(256), Some(4096)]);
        assert!(serde_json::to_string(&chart).is_ok_and(|text| text.len() < 400_000));
    }
}
