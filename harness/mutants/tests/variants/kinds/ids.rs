//! Ids of other shapes, the same throughout the conversation.

use std::collections::BTreeMap;

use acp_conformance::protocol::Edition;
use acp_conformance::requirement::Party;
use acp_conformance::wire::RpcId;
use serde_json::Value;

use super::{How, Kind};
use crate::conversation::Message;

const REQUEST: &str =
    "JSON-RPC 2.0, 4: \"An identifier established by the Client that MUST contain a String, Number, or NULL value\"";
const RESPONSE: &str =
    "JSON-RPC 2.0, 4: the id is \"established by the Client\", which is the tester here; the subject has to repeat any";
const TEXT: &str = "schema.json: the id is `\"type\": \"string\"` without a pattern";

pub const KINDS: &[Kind] = &[
    own("own-ids-from-zero", Shape::FromZero),
    own("own-ids-negative", Shape::Negative),
    own("own-ids-large", Shape::Large),
    own("own-ids-text", Shape::Text),
    own("own-ids-uuid", Shape::Uuid),
    own("own-ids-digits", Shape::Digits),
    own("own-ids-odd", Shape::Odd),
    own("own-ids-of-the-tester", Shape::OfTheOther),
    tester("tester-ids-text", Shape::Text),
    tester("tester-ids-from-zero", Shape::FromZero),
    tester("tester-ids-odd", Shape::Odd),
    thing("session-ids-uuid", "sessionId", Shape::Uuid),
    thing("session-ids-digits", "sessionId", Shape::Digits),
    thing("session-ids-odd", "sessionId", Shape::Strange),
    thing("session-ids-long", "sessionId", Shape::Long),
    thing("terminal-ids-digits", "terminalId", Shape::Digits),
    thing("terminal-ids-odd", "terminalId", Shape::Strange),
    thing("tool-call-ids-uuid", "toolCallId", Shape::Uuid),
    thing("tool-call-ids-digits", "toolCallId", Shape::Digits),
    thing("tool-call-ids-odd", "toolCallId", Shape::Strange),
    thing("message-ids-digits", "messageId", Shape::Digits),
    thing("message-ids-odd", "messageId", Shape::Strange),
    thing("elicitation-ids-odd", "elicitationId", Shape::Strange),
    thing("permission-option-ids-odd", "optionId", Shape::Strange),
    thing("permission-option-ids-digits", "optionId", Shape::Digits),
];

/// Ids that only version 2 has.
pub const OF_V2: &[Kind] = &[
    thing("plan-ids-odd", "planId", Shape::Strange),
    thing("compaction-ids-odd", "compactionId", Shape::Strange),
    thing("config-ids-odd", "configId", Shape::Strange),
];

const fn own(name: &'static str, shape: Shape) -> Kind {
    Kind { name, rule: REQUEST, how: How::Rename(Renaming { what: What::OwnRequests, shape }) }
}

const fn tester(name: &'static str, shape: Shape) -> Kind {
    Kind { name, rule: RESPONSE, how: How::Rename(Renaming { what: What::OtherRequests, shape }) }
}

const fn thing(name: &'static str, member: &'static str, shape: Shape) -> Kind {
    Kind { name, rule: TEXT, how: How::Rename(Renaming { what: What::Member(member), shape }) }
}

/// The ids to rename, and their new form.
#[derive(Clone, Copy)]
pub struct Renaming {
    pub what: What,
    shape: Shape,
}

impl Renaming {
    /// Whether the party under test invents the ids, so that it can choose them freely.
    pub fn is_by(self, edition: &Edition, subject: Party) -> bool {
        match self.what {
            What::OwnRequests => true,
            What::OtherRequests => false,
            // In version 1, terminals are the client's; all other ids of this kind are the agent's.
            What::Member(member) => (member == "terminalId" && edition.major == 1) == (subject == Party::Client),
        }
    }
}

/// The objects of the ids.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Requests of the subject.
    OwnRequests,
    /// Requests of the tester.
    OtherRequests,
    /// The object of this member.
    Member(&'static str),
}

#[derive(Clone, Copy)]
enum Shape {
    FromZero,
    Negative,
    Large,
    Text,
    Uuid,
    Digits,
    Odd,
    /// Like [`Shape::Odd`], without an empty text.
    Strange,
    Long,
    OfTheOther,
}

const ODD: [&str; 10] = ["", " ", "null", "1.0", "-1", "é😀", "a\nb", "\"", "../x", "[object Object]"];

impl Shape {
    /// Returns the id for the `n`-th one, counted from 0. All ids differ.
    fn id(self, n: usize, other: &[Value]) -> Value {
        let odd = |skip: usize| {
            let list = &ODD[skip..];
            let round = n / list.len();
            let text = list[n % list.len()];
            Value::from(if round == 0 { text.to_owned() } else { format!("{text}#{round}") })
        };
        match self {
            Self::FromZero => n.into(),
            Self::Negative => (-1 - i64::try_from(n).unwrap_or_default()).into(),
            Self::Large => ((1_u64 << 53) - 1 - n as u64).into(),
            Self::Text => format!("request-{n}").into(),
            Self::Uuid => format!("6f1c2d3e-4a5b-4c6d-8e7f-{n:012x}").into(),
            Self::Digits => n.to_string().into(),
            Self::Odd => odd(0),
            Self::Strange => odd(1),
            Self::Long => format!("{n}-{}", "long/".repeat(200)).into(),
            Self::OfTheOther => other.get(n).cloned().unwrap_or_else(|| format!("further-{n}").into()),
        }
    }
}

/// The ids that were renamed so far.
pub struct Renamed {
    renaming: Renaming,
    subject: Party,
    /// The new id of each, in the order of first appearance.
    new: BTreeMap<RpcId, Value>,
    /// The old id of each new one.
    old: BTreeMap<RpcId, Value>,
    /// Ids of requests of the other party, in the order of first appearance.
    pub others: Vec<Value>,
}

impl Renamed {
    pub const fn new(renaming: Renaming, subject: Party) -> Self {
        Self { renaming, subject, new: BTreeMap::new(), old: BTreeMap::new(), others: Vec::new() }
    }

    /// Records the id of a request of the other party.
    pub fn note(&mut self, message: &Message) {
        let id = message.value.get("id").filter(|_| !message.is_response && !message.deliberate);
        if let Some(id) = id.filter(|id| message.from != self.subject && !self.others.contains(id)) {
            self.others.push(id.clone());
        }
    }

    /// Gives a message the new ids.
    pub fn forward(&mut self, message: &mut Message) {
        let (from, is_response) = (message.from, message.is_response);
        self.rename(from, is_response, &mut message.value, false);
    }

    /// Gives a message the old ids again.
    pub fn backward(&mut self, message: &mut Message) {
        let (from, is_response) = (message.from, message.is_response);
        self.rename(from, is_response, &mut message.value, true);
    }

    fn rename(&mut self, from: Party, is_response: bool, value: &mut Value, back: bool) {
        let asker = match self.renaming.what {
            What::OwnRequests => self.subject,
            What::OtherRequests => self.subject.other(),
            What::Member(member) => return self.members(member, value, back),
        };
        let caller = if is_response { from.other() } else { from };
        if let Some(id) = value.get_mut("id").filter(|_| caller == asker) {
            // A response may answer an unreadable request, and then keeps its id.
            if !is_response || back || self.new.contains_key(&RpcId::new(id)) {
                self.id(id, back);
            }
        }
        // `$/cancel_request` and elicitations name requests: the first its sender's, the latter those of the agent's
        // client.
        let cancels = value.get("method").is_some_and(|method| method == "$/cancel_request");
        let owner = if cancels { from } else { Party::Client };
        if let Some(id) = value.pointer_mut("/params/requestId").filter(|_| owner == asker && !is_response) {
            self.id(id, back);
        }
    }

    fn members(&mut self, member: &str, value: &mut Value, back: bool) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    if name == member && value.as_str().is_some_and(|text| !text.is_empty()) {
                        self.id(value, back);
                    } else {
                        self.members(member, value, back);
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.members(member, item, back)),
            _ => {}
        }
    }

    fn id(&mut self, id: &mut Value, back: bool) {
        let known = RpcId::new(id);
        if back {
            match self.old.get(&known) {
                Some(old) => *id = old.clone(),
                // The subject may repeat an id that the other party invented.
                None if matches!(self.renaming.what, What::Member(_)) => {
                    self.new.entry(known.clone()).or_insert_with(|| id.clone());
                    self.old.insert(known, id.clone());
                }
                None => {}
            }
            return;
        }
        // A null id means an unreadable one, and a fraction is a mistake of the tester.
        if !id.is_string() && !id.is_i64() && !id.is_u64() {
            return;
        }
        let n = self.new.len();
        let shape = self.renaming.shape;
        let new = self.new.entry(known).or_insert_with(|| shape.id(n, &self.others));
        self.old.insert(RpcId::new(new), std::mem::replace(id, new.clone()));
    }
}
