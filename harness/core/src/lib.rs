//! Reads messages and traces of the [Agent Client Protocol](https://agentclientprotocol.com) and checks them against an
//! [edition](protocol::Edition).
//!
//! This package has no input or output of its own: no files, no processes, no clock, no async code, no command line. A
//! program hands it the schema and the [catalogue](requirement::Catalogue) of an edition and a [`trace`]; the
//! [`mod@judge`] returns findings. It can therefore be embedded in other programs.
//!
//! The modules below are in the order in which they may use each other.

// Requirements, and the verdicts on them.
pub mod requirement;
pub mod verdict;

// From bytes to messages, and the record of a conversation.
pub mod trace;
pub mod wire;

// The published protocol, and the recordings of other tools.
pub mod protocol;
pub mod recording;

// Traces without their content.
pub mod redact;

// What a check finds, the conversation, the checks of each area, and their use on a trace.
pub mod finding;

pub mod conversation;

pub mod areas;

pub mod judge;

// What the findings of all cases amount to.
pub mod results;

#[cfg(test)]
mod testing;
