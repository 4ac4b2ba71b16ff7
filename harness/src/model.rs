//! The scripted model: it speaks the APIs of the usual models on loopback, and does what the intent of a prompt says.
//!
//! An agent under test runs unchanged; it believes that it talks to a model. What it asks is read by a [`dialect`] into an
//! [`Ask`], which is the same for every API. The [`script`] finds the intent in it, chooses among the tools that the agent
//! offers, fills in their own schemas, and says what comes next; the dialect writes that in the words of the API. All of this
//! is pure: the same request with the same number gets the same answer. Only [`server`] knows of sockets and time.

pub mod answer;
pub mod ask;
pub mod dialect;
pub mod exchange;
mod fill;
pub mod routes;
pub mod script;
pub mod server;
mod shell;
mod toolbox;

pub use self::answer::{AnswerPart, Finish, ModelAnswer, Reply, ToolUse};
pub use self::ask::{Ask, ModelTurn, Tool, ToolResult};
pub use self::exchange::ModelExchange;
pub use self::server::Model;

/// The name by which this model goes in lists of models. It answers to any other name too.
pub const NAME: &str = "acp-scripted";

/// What it says of the size of its context, in tokens.
pub const CONTEXT: u64 = 200_000;

/// What it says of the longest answer, in tokens.
pub const LONGEST_ANSWER: u64 = 32_000;
