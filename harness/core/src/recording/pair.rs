//! Two files with the lines of one party each. The order of lines in different files is unknown, except that an answer
//! comes after its request. So one party is read until it answers a request that the other has not sent yet.

use std::collections::BTreeSet;

use super::item::Item;
use super::lines::Lines;
use super::problem::RecordingProblem;
use crate::requirement::Party;
use crate::trace::What;
use crate::wire::{Content, Envelope, LineEnd, RpcId, read_line};

/// Reads one or both of them.
pub(super) struct Pair {
    sides: Vec<Side>,
    /// The requests without an answer, by the party that must answer.
    asked: BTreeSet<(Party, RpcId)>,
}

struct Side {
    party: Party,
    lines: Lines,
    next: Option<Line>,
}

struct Line {
    bytes: Vec<u8>,
    end: LineEnd,
    asks: Option<RpcId>,
    answers: Option<RpcId>,
}

/// The most unanswered requests that are remembered; the answers to others come in the order of the files.
const MOST_ASKED: usize = 4096;

impl Pair {
    pub(super) fn new(sides: Vec<(Party, Lines)>) -> Self {
        let side = |(party, lines)| Side { party, lines, next: None };
        Self { sides: sides.into_iter().map(side).collect(), asked: BTreeSet::new() }
    }

    pub(super) fn next(&mut self) -> Result<Option<Item>, RecordingProblem> {
        for side in self.sides.iter_mut().filter(|side| side.next.is_none()) {
            side.next = Line::read(&mut side.lines)?;
        }
        let asked = &self.asked;
        let waits = |side: &Side| {
            let answers = side.next.as_ref().and_then(|line| line.answers.clone());
            answers.is_some_and(|id| !asked.contains(&(side.party, id)))
        };
        // A line that waits for a request which never comes is an answer to no request.
        let ready = self.sides.iter().position(|side| side.next.is_some() && !waits(side));
        let Some(at) = ready.or_else(|| self.sides.iter().position(|side| side.next.is_some())) else {
            return Ok(None);
        };
        let side = &mut self.sides[at];
        let Some(line) = side.next.take() else { return Ok(None) };
        if let Some(id) = line.asks
            && self.asked.len() < MOST_ASKED
        {
            self.asked.insert((side.party.other(), id));
        }
        if let Some(id) = line.answers {
            self.asked.remove(&(side.party, id));
        }
        let what = What::Line { from: side.party, bytes: line.bytes, end: line.end, deliberate: false };
        Ok(Some(Item { us: 0, connection: 0, what }))
    }
}

impl Line {
    fn read(lines: &mut Lines) -> Result<Option<Self>, RecordingProblem> {
        let Some((bytes, end)) = lines.next()? else { return Ok(None) };
        let (mut asks, mut answers) = (None, None);
        if let Content::One { value, .. } = read_line(bytes) {
            match Envelope::of(&value) {
                Envelope::Call(call) => asks = call.id.map(RpcId::new),
                Envelope::Response { id, .. } => answers = id.map(RpcId::new),
                Envelope::Unclear => {}
            }
        }
        // A file without a final line feed may have been cut off.
        let end = if end == LineEnd::Eof { LineEnd::Cut } else { end };
        Ok(Some(Self { bytes: bytes.to_vec(), end, asks, answers }))
    }
}
