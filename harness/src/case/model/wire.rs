//! The way in which the tester writes its messages, for the runner.

/// How the tester writes its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WireSetup {
    /// The ids of its requests.
    pub ids: Ids,
    /// Whether every object that may have a `_meta` has one.
    pub meta: bool,
}

/// The ids of the tester's requests, unless the transcript chooses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ids {
    /// Integers from 0 on, which every subject accepts.
    #[default]
    Integer,
    /// Integers from -1 down.
    Negative,
    /// Integers from the largest one down that every JSON parser keeps.
    Large,
    /// Texts.
    Text,
    /// Texts that look like integers.
    Digits,
}
