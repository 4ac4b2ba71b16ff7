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

use acp_conformance::requirement::Party;
use acp_conformance::wire::LineEnd;
use fastrand::Rng;
use serde_json::Value;

pub use illegal::ILLEGAL;

use crate::choices::Choices;
use crate::talk::{Message, Talk};

/// A transformation that the specification allows.
pub struct Kind {
    /// Its name, in lower case with hyphens.
    pub name: &'static str,
    /// The sentence that makes it legal, and where it stands.
    pub rule: &'static str,
    /// What it does.
    pub how: How,
}

/// What a transformation does. All but the last can also be done to the lines of a running program.
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
    /// Changes a whole trace, with another one of the same party at hand.
    Whole(fn(&mut Talk, &Talk, &mut Choices)),
}

/// Writes a message in another way.
pub type Spelling = fn(&Value, &mut Rng) -> (Vec<u8>, LineEnd);

/// A transformation that remembers what was said.
pub trait Around {
    /// Takes the next message of either party, and says what comes in its place.
    fn pass(&mut self, message: &Message, subject: Party, choices: &mut Choices) -> Vec<Said>;
}

/// What comes in the place of a message.
pub struct Said {
    /// The sender.
    pub from: Party,
    /// The message.
    pub value: Value,
    /// Whether it stands for the message that was there.
    pub original: bool,
}

impl Said {
    /// The message itself.
    pub fn same(message: &Message) -> Self {
        Self { from: message.from, value: message.value.clone(), original: true }
    }

    /// A changed form of the message, or a part of it.
    pub fn changed(message: &Message, value: Value) -> Self {
        Self { from: message.from, value, original: true }
    }

    /// A further message.
    pub const fn more(from: Party, value: Value) -> Self {
        Self { from, value, original: false }
    }
}

/// All transformations.
pub fn all() -> Vec<&'static Kind> {
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
    lists.into_iter().flatten().collect()
}

/// The transformation of that name.
pub fn named(name: &str) -> Option<&'static Kind> {
    all().into_iter().find(|kind| kind.name == name)
}
