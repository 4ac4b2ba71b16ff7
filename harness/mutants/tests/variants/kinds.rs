//! The transformations: each changes a conforming conversation into another conforming conversation.

mod errors;
pub mod extension;
pub mod ids;
mod illegal;
mod interleave;
mod lists;
mod optional;
mod order;
mod spelling;
mod surroundings;
mod timing;
mod updates;
mod v2;

use acp_conformance::protocol::Edition;
use acp_conformance::requirement::Party;
use acp_conformance::wire::LineEnd;
use fastrand::Rng;
use serde_json::Value;

pub use illegal::ILLEGAL;

use crate::choices::Choices;
use crate::conversation::{Conversation, Message};

/// A transformation that the specification allows.
pub struct Kind {
    /// Its name, in lower case with hyphens.
    pub name: &'static str,
    /// The sentence that allows it, with its source.
    pub rule: &'static str,
    /// Its function.
    pub how: How,
}

/// The function of a transformation. All but the last can also be applied to the lines of a running program.
#[derive(Clone, Copy)]
pub enum How {
    /// Spells a message in another way.
    Spelling(Spelling),
    /// Changes a message.
    Edit(fn(&mut Message, &mut Choices)),
    /// Replaces a message of either party by several, or adds others.
    Around(fn() -> Box<dyn Around>),
    /// Gives ids other names, in the whole conversation.
    Rename(ids::Renaming),
    /// Changes a whole trace, and may use another one of the same party.
    Whole(fn(&mut Conversation, &Conversation, &mut Choices)),
}

/// Writes a message in another way.
pub type Spelling = fn(&Value, &mut Rng) -> (Vec<u8>, LineEnd);

/// A transformation that depends on earlier messages.
pub trait Around {
    /// Handles the next message of either party, and returns its replacement.
    fn pass(&mut self, message: &Message, subject: Party, choices: &mut Choices) -> Vec<Said>;
}

/// The replacement of a message.
pub struct Said {
    /// The sender.
    pub from: Party,
    /// The message.
    pub value: Value,
    /// Whether it represents the original message.
    pub original: bool,
}

impl Said {
    /// Returns the message unchanged.
    pub fn same(message: &Message) -> Self {
        Self { from: message.from, value: message.value.clone(), original: true }
    }

    /// Returns a changed form of the message, or a part of it.
    pub fn changed(message: &Message, value: Value) -> Self {
        Self { from: message.from, value, original: true }
    }

    /// Returns an additional message.
    pub const fn more(from: Party, value: Value) -> Self {
        Self { from, value, original: false }
    }
}

/// Returns all transformations of an edition.
pub fn all(edition: &Edition) -> Vec<&'static Kind> {
    let of_version: [&[Kind]; 3] = match edition.major {
        1 => [&[], &[], &[]],
        _ => [ids::OF_V2, updates::OF_V2, v2::KINDS],
    };
    let lists = [
        spelling::KINDS,
        ids::KINDS,
        optional::KINDS,
        extension::KINDS,
        updates::KINDS,
        errors::KINDS,
        lists::KINDS,
        interleave::KINDS,
        order::KINDS,
        timing::KINDS,
        surroundings::KINDS,
    ];
    lists.into_iter().chain(of_version).flatten().collect()
}

/// Returns the transformation with that name.
pub fn named(edition: &Edition, name: &str) -> Option<&'static Kind> {
    all(edition).into_iter().find(|kind| kind.name == name)
}
