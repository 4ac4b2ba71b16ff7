//! Our side of a conversation with an agent: the services that a client owes it.
//!
//! An agent calls back into its client for files, terminals, permissions and elicitations.
//! [`Services`] answers those requests as a conforming client would; it neither sends nor reads messages,
//! so the runner decides when, and whether, an [`Answer`] goes on the wire.

mod answer;
mod command;
mod elicitation;
mod files;
mod output;
mod params;
mod permission;
mod services;
mod terminal;
#[cfg(test)]
mod tests;

pub use answer::{Answer, code};
pub use permission::Policy;
pub use services::Services;
