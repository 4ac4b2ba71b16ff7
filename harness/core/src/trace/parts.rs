//! The part of a conversation that belongs to each of its cases.

use super::case::{CaseInfo, CaseMark};
use super::event::{Event, What};
use super::file_name::file_name;
use super::jsonl::{Header, Trace};
use crate::requirement::Party;
use crate::wire::{Call, Envelope, Members, read_line};

impl Header {
    /// Returns the header of one of the cases of this conversation.
    pub fn of_case(&self, case: &CaseInfo) -> Self {
        let CaseInfo { id, title, file, requirements } = case.clone();
        Self { case: Some(id), title, file, requirements, ..self.clone() }
    }

    /// Whether it holds one or several cases, so that the trace is complete from the start.
    pub const fn is_of_cases(&self) -> bool {
        self.case.is_some() || self.conversation.is_some()
    }
}

impl Trace {
    /// Returns the name of a file for the trace, in a folder of many.
    ///
    /// The name for a conversation is that of its first case: shards count their conversations from the same number,
    /// but no two have the same case.
    pub fn file_name(&self) -> String {
        let begun = self.events.iter().find_map(|event| match &event.what {
            What::Case(CaseMark::Begins(case)) => Some(&case.id),
            _ => None,
        });
        match (&self.header.case, self.header.conversation, begun) {
            (Some(case), ..) => file_name(case),
            (None, Some(number), Some(first)) => format!("conversation-{number}-from-{}", file_name(first)),
            (None, Some(number), None) => format!("conversation-{number}.jsonl"),
            (None, None, _) => "recording.jsonl".to_owned(),
        }
    }

    /// Returns the part of the trace that belongs to each case, in their order: the trace itself if it holds one case.
    ///
    /// A part has the header of its case, and begins with the start of the process up to the answer to `initialize`.
    /// Its events keep their positions, so there is a gap after that.
    pub fn by_case(&self) -> Vec<Self> {
        let mut parts: Vec<Self> = Vec::new();
        for event in &self.events {
            if let What::Case(CaseMark::Begins(case)) = &event.what {
                let opening = if parts.is_empty() { &[] } else { self.opening() };
                parts.push(Self { header: self.header.of_case(case), events: opening.to_vec() });
            }
            if let Some(part) = parts.last_mut() {
                part.events.push(event.clone());
            }
        }
        if parts.is_empty() { vec![self.clone()] } else { parts }
    }

    /// Returns the events after the first mark, up to the first answer of the agent; empty if it never came.
    fn opening(&self) -> &[Event] {
        let is_answer = |event: &Event| match &event.what {
            What::Line { from: Party::Agent, bytes, .. } => {
                matches!(read_line(bytes).one().as_ref().map(Envelope::of), Some(Envelope::Response { .. }))
            }
            _ => false,
        };
        self.events.iter().position(is_answer).map_or(&[], |answer| &self.events[1..=answer])
    }

    /// Whether the client called this method.
    pub fn client_called(&self, method: &str) -> bool {
        self.events.iter().any(|event| match &event.what {
            What::Line { from: Party::Client, bytes, .. } => {
                let line = read_line(bytes).one();
                matches!(line.as_ref().map(Envelope::of), Some(Envelope::Call(call)) if call.method == method)
            }
            _ => false,
        })
    }

    /// Whether the agent reported a tool call, or asked the client for something that only a tool call needs.
    pub fn calls_tools(&self) -> bool {
        let is_tool = |call: &Call<'_>| match call.method {
            "session/update" => {
                let update = call.params.and_then(|params| params.member("update")?.member("sessionUpdate")?.as_str());
                matches!(update, Some("tool_call" | "tool_call_update"))
            }
            "session/request_permission" => true,
            method => method.starts_with("fs/") || method.starts_with("terminal/"),
        };
        self.events.iter().any(|event| match &event.what {
            What::Line { from: Party::Agent, bytes, .. } => {
                let line = read_line(bytes).one();
                matches!(line.as_ref().map(Envelope::of), Some(Envelope::Call(call)) if is_tool(&call))
            }
            _ => false,
        })
    }

    /// Returns the event at this position, in a whole trace or in a part of one.
    pub fn event(&self, n: usize) -> Option<&Event> {
        let at = self.events.binary_search_by_key(&n, |event| event.n).ok()?;
        self.events.get(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::v1;
    use crate::wire::LineEnd;

    fn event(n: usize, what: What) -> Event {
        Event { n, us: 0, connection: 0, what }
    }

    fn begins(id: &str) -> What {
        let (title, requirements) = (Some(format!("Title of {id}")), vec![format!("r.{id}")]);
        What::Case(CaseMark::Begins(CaseInfo { id: id.to_owned(), title, file: None, requirements }))
    }

    #[test]
    fn conversation_splits_into_its_cases() {
        let header = Header { conversation: Some(1), ..Header::of_recording(&v1().name, Vec::new()) };
        let answer = What::Line {
            from: Party::Agent,
            bytes: br#"{"jsonrpc":"2.0","id":0,"result":{}}"#.to_vec(),
            end: LineEnd::Lf,
            deliberate: false,
        };
        let print = || What::Stderr(b"x".to_vec());
        let what = [begins("a"), print(), answer, print(), What::Case(CaseMark::Ends), begins("b"), print()];
        let events = what.into_iter().enumerate().map(|(n, what)| event(n, what)).collect();
        let trace = Trace { header, events };
        assert_eq!(trace.file_name(), "conversation-1-from-a.jsonl");
        let parts = trace.by_case();
        let positions = |part: &Trace| part.events.iter().map(|event| event.n).collect::<Vec<_>>();
        let [a, b] = &parts[..] else { panic!("{parts:?}") };
        assert_eq!((a.header.case.as_deref(), positions(a)), (Some("a"), vec![0, 1, 2, 3, 4]));
        assert_eq!((b.header.case.as_deref(), positions(b)), (Some("b"), vec![1, 2, 5, 6]));
        assert_eq!(
            (b.header.title.as_deref(), &b.header.requirements[..]),
            (Some("Title of b"), &["r.b".to_owned()][..])
        );
        assert_eq!(b.event(5).map(|event| event.n), Some(5));
        assert_eq!((b.event(3), a.event(6)), (None, None));
    }

    #[test]
    fn trace_of_one_case_is_not_split() {
        let header = Header { case: Some("a".to_owned()), ..Header::of_recording(&v1().name, Vec::new()) };
        let trace = Trace { header, events: vec![event(0, What::Stderr(b"x".to_vec()))] };
        assert_eq!(trace.file_name(), "a.jsonl");
        assert_eq!(trace.by_case(), [trace]);
    }
}
