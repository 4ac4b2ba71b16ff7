//! The tester's side of a conversation: the answers that a conforming party gives without a step of the transcript.
//!
//! An agent calls back into its client for files, terminals, permissions and elicitations: [`Services`] answers as a
//! conforming client would. A client initializes, opens sessions and prompts: [`Agent`] answers as a conforming agent
//! would. Neither sends nor reads messages; the runner decides whether and when to send an [`Answer`].

mod agent;
mod answer;
mod command;
mod elicitation;
mod files;
mod mcp;
mod output;
mod params;
mod permission;
mod services;
mod terminal;
#[cfg(test)]
mod tests;
mod writing;

pub use agent::Agent;
pub use answer::{Answer, code};
pub(super) use mcp::{McpMessage, McpServers, tool_name};
pub use services::Services;
pub(super) use writing::Writing;
