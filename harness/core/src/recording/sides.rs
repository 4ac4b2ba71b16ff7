//! Infers the sender of a message if the recording does not contain it: a method belongs to one party, and an answer to
//! a request.

use std::collections::HashMap;

use serde_json::Value;

use crate::protocol::{Edition, Kind, Site};
use crate::requirement::Party;
use crate::wire::{Call, Content, Envelope, RpcId, read_line};

/// The unanswered requests, as far as they identify the sender of an answer.
pub(super) struct Sides {
    edition: &'static Edition,
    /// The method of each request by its id, with its sender if it is known.
    open: HashMap<RpcId, Vec<(Option<Party>, String)>>,
}

/// The most ids that are remembered. For others, nothing is inferred.
const MOST_OPEN: usize = 4096;

/// Whether a line begins a connection.
pub(super) fn opens(line: &[u8]) -> bool {
    // Few lines contain the word, and the others need not be parsed.
    const WORD: &[u8] = b"\"initialize\"";
    line.windows(WORD.len()).any(|part| part == WORD)
        && matches!(read_line(line), Content::One { value, .. } if is_opening(&value))
}

/// Whether a message begins a connection.
pub(super) fn is_opening(message: &Value) -> bool {
    matches!(Envelope::of(message), Envelope::Call(call) if call.method == "initialize" && call.id.is_some())
}

impl Sides {
    pub(super) fn new(edition: &'static Edition) -> Self {
        Self { edition, open: HashMap::new() }
    }

    /// Returns the sender of the next message; `None` if it is not certain.
    pub(super) fn sender(&mut self, message: &Value) -> Option<Party> {
        match Envelope::of(message) {
            Envelope::Call(call) => self.of_call(&call),
            Envelope::Response { id, result, .. } => self.of_answer(&RpcId::new(id?), result),
            Envelope::Unclear => None,
        }
    }

    fn of_call(&mut self, call: &Call<'_>) -> Option<Party> {
        let sender = if call.method == "$/cancel_request" { self.of_cancel(call) } else { self.owner(call.method) };
        if let Some(id) = call.id
            && self.open.len() < MOST_OPEN
        {
            self.open.entry(RpcId::new(id)).or_default().push((sender, call.method.to_owned()));
        }
        sender
    }

    /// Returns the only party that may send the method.
    fn owner(&self, method: &str) -> Option<Party> {
        let edition = self.edition;
        let may = |party| {
            let known = edition.methods.knows(party, method) || edition.draft_methods.knows(party, method);
            known || edition.other_revision_has_method(party, method)
        };
        match (may(Party::Agent), may(Party::Client)) {
            (true, false) => Some(Party::Agent),
            (false, true) => Some(Party::Client),
            _ => None,
        }
    }

    /// Returns the sender of a `$/cancel_request`, which both parties may send for their own requests.
    fn of_cancel(&self, call: &Call<'_>) -> Option<Party> {
        match self.open.get(&RpcId::new(call.params?.get("requestId")?))?.as_slice() {
            [(sender, _)] => *sender,
            _ => None,
        }
    }

    fn of_answer(&mut self, id: &RpcId, result: Option<&Value>) -> Option<Party> {
        let asked = self.open.get_mut(id)?;
        let at = match asked.as_slice() {
            [_] => Some(0),
            several => only(several.iter().map(|(sender, method)| may_answer(self.edition, *sender, method, result))),
        };
        let Some(at) = at else {
            // One of them was answered, and from now on nothing shows which.
            asked.iter_mut().for_each(|(sender, _)| *sender = None);
            asked.pop();
            return None;
        };
        let (sender, _) = asked.remove(at);
        if asked.is_empty() {
            self.open.remove(id);
        }
        sender.map(Party::other)
    }
}

/// Whether a result could answer this request. Results that do not fit the schema of a known method cannot; for an
/// unknown method, any result can.
fn may_answer(edition: &Edition, sender: Option<Party>, method: &str, result: Option<&Value>) -> bool {
    let Some(result) = result else { return true };
    let found = sender.and_then(|sender| edition.methods.find(sender, Kind::Request, method));
    let Some(definition) = found.and_then(|method| method.result.as_deref()) else { return true };
    let known = || edition.stable.parts(definition, result).members.iter().all(|m| m.known == Site::Defined);
    result.is_object() && edition.stable.problems(definition, result).is_empty() && known()
}

/// Returns the position of the only true flag.
fn only(flags: impl Iterator<Item = bool>) -> Option<usize> {
    let mut places = flags.enumerate().filter(|(_, flag)| *flag).map(|(at, _)| at);
    places.next().filter(|_| places.next().is_none())
}
