//! The scripted model: serves the common model APIs on loopback, and acts on the intent of a prompt.
//!
//! An agent under test runs unchanged, with this in place of its model. A [`dialect`] reads its request into an
//! [`Ask`], which is the same for every API. The [`script`] finds the intent in it, chooses among the tools that the
//! agent offers, fills in their schemas, and decides on the answer; the dialect writes that in the format of the API.
//! All of this is pure: the same request with the same number gets the same answer. Only [`server`] uses sockets and
//! time.

pub mod answer;
pub mod ask;
mod content;
pub mod dialect;
pub mod exchange;
mod fill;
pub mod routes;
pub mod script;
pub mod server;
mod shell;
mod suitable;
mod toolbox;

pub use self::answer::{AnswerPart, Finish, ModelAnswer, Reply, ToolUse};
pub use self::ask::{Ask, ModelTurn, Tool, ToolResult};
pub use self::exchange::ModelExchange;
pub use self::script::SAID;
pub use self::server::Model;

/// The name of this model in lists of models. It answers to any other name too.
pub const NAME: &str = "acp-scripted";

/// The file that a command makes for which the agent shall ask permission, in the workspace.
pub const ASKED_FILE: &str = "asked.txt";

/// The advertised size of its context, in tokens.
pub const CONTEXT: u64 = 200_000;

/// The advertised length of the longest answer, in tokens.
pub const LONGEST_ANSWER: u64 = 32_000;
