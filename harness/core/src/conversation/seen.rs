//! The inputs of checks: the current event, split into its parts.

use serde_json::Value;

use super::{Exchange, Outcome, Session};
use crate::protocol::{Kind, Member, Parts, Problem, Update};
use crate::requirement::Party;
use crate::wire::{Content, LineEnd, Members, RpcId};

/// A line on the protocol stream.
#[derive(Clone, Copy)]
pub struct LineSeen<'m> {
    /// The bytes before the line end.
    pub bytes: &'m [u8],
    /// Whether all of them are ASCII.
    pub is_ascii: bool,
    /// The line end.
    pub end: LineEnd,
    /// The parsed content.
    pub content: &'m Content,
}

/// A request or a notification.
#[derive(Clone, Copy)]
pub struct CallSeen<'m> {
    /// The kind; a call with an id is a request.
    pub kind: Kind,
    /// The id as in the message.
    pub id: Option<&'m Value>,
    /// The method.
    pub method: &'m str,
    /// The params; `None` if absent.
    pub params: Option<&'m Value>,
    /// Whether the edition has the method for its sender, in any form.
    pub known: bool,
}

impl<'m> CallSeen<'m> {
    /// Returns a string member of the params.
    pub fn text(&self, name: &str) -> Option<&'m str> {
        self.params?.text(name)
    }

    /// Returns a string member of the params of a call of `method`; `None` for another method, whose params are not
    /// read.
    pub fn text_of(&self, method: &str, name: &str) -> Option<&'m str> {
        if self.method == method { self.text(name) } else { None }
    }
}

/// An answer, with the request that it answers.
#[derive(Clone, Copy)]
pub struct Answer<'m> {
    /// The id; `None` if the member is absent.
    pub id: Option<&'m RpcId>,
    /// The open request that it answers; `None` if its id names none.
    pub exchange: Option<&'m Exchange>,
    /// Result or error; an error if there are both.
    pub outcome: Outcome<'m>,
}

impl<'m> Answer<'m> {
    /// Returns the exchange and the result, if this answers `method` with one.
    pub fn result_of(&self, method: &str) -> Option<(&'m Exchange, &'m Value)> {
        let exchange = self.exchange.filter(|exchange| exchange.method == method)?;
        match self.outcome {
            Outcome::Result(result) => Some((exchange, result)),
            Outcome::Error(_) => None,
        }
    }
}

/// Params or a result of the protocol, with its definition in the schema.
pub struct Payload<'m> {
    /// The party that sent it.
    pub from: Party,
    /// The method that it belongs to.
    pub method: &'m str,
    /// The variant of the update in it.
    pub variant: Option<&'m str>,
    /// Whether it is a result; params otherwise.
    pub is_result: bool,
    /// The definition that it must match.
    pub definition: &'m str,
    /// The payload itself.
    pub value: &'m Value,
    /// Its objects and members.
    pub parts: &'m Parts<'m>,
    /// The differences from the stable schema, except those that drafts allow.
    pub problems: &'m [Problem],
    /// The members that only the unstable schema has, as JSON pointers.
    pub drafts: &'m [String],
    /// The members and values that only another revision defines, as JSON pointers.
    pub of_other_revision: &'m [String],
    /// The name of that schema.
    pub revision: &'m str,
    /// Whether it may repeat what the client sent against the protocol on purpose.
    pub may_repeat: bool,
}

impl<'m> Payload<'m> {
    /// Returns the pointer into the message for one into the payload.
    pub fn pointer(&self, at: &str) -> String {
        format!("/{}{at}", if self.is_result { "result" } else { "params" })
    }

    /// Returns every place at which an object follows the definition.
    pub fn places<'p>(&'p self, definition: &'p str) -> impl Iterator<Item = (&'p str, &'m Value)> {
        let objects =
            self.parts.objects.iter().filter(move |object| object.definitions().any(|known| known == definition));
        objects.map(|object| (&*object.at, object.value))
    }

    /// Returns every member that one of the `(definition, name)` pairs describes.
    pub fn members<'p>(&'p self, sites: &'p [(&'p str, &'p str)]) -> impl Iterator<Item = &'p Member<'m>> {
        // Names differ more often than owners, and most of them in length.
        let is_at = |member: &Member<'_>, (owner, name): (&str, &str)| member.name == name && member.owner == owner;
        self.parts.members.iter().filter(move |member| sites.iter().any(|site| is_at(member, *site)))
    }
}

/// The update in the params of a `session/update`, with the session that it names.
pub struct UpdateSeen<'m> {
    /// The update.
    pub update: Update<'m>,
    /// Its session, if the client knows it.
    pub known: Option<&'m Session>,
}

impl<'m> std::ops::Deref for UpdateSeen<'m> {
    type Target = Update<'m>;

    fn deref(&self) -> &Update<'m> {
        &self.update
    }
}
