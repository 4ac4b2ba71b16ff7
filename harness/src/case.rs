//! Cases: scripted exchanges with one side of the protocol, as data.
//!
//! [`load`] reads files into the types of [`mod@file`] and lowers them to the [`model`] for the runner; [`pattern`]
//! matches the subject's values and [`template`] fills in names. `cases/README.md` describes the format. This module
//! starts no processes.

mod check;
mod client;
mod context;
pub mod file;
mod files;
mod headline;
mod includes;
mod line;
pub mod load;
pub mod matching;
mod matrix;
mod mcp;
pub mod model;
pub mod own_sessions;
pub mod pattern;
mod race;
mod repeat;
mod schema;
mod scope;
mod setup;
mod steps;
pub mod template;
pub mod vocabulary;

pub(crate) use files::on_all_cores;
pub use headline::{Headline, headlines};
pub use includes::Includes;
pub use load::{
    embedded, embedded_and, embedded_case, embedded_for, is_handshake, load_bytes, load_dir, load_text, load_version,
};
pub use matching::Mismatch;
pub use model::{
    Act, Action, AgentProcess, Body, Case, FileCheck, FileWant, FixedAnswer, Ids, Incoming, IncomingBody,
    LimitOverrides, McpCheck, Need, NeedRoot, Outgoing, PermissionPolicy, Place, Presence, ProcessCheck, RawBytes,
    ReplyText, Step, TesterSetup, UserPermission, UserSetup, WireSetup,
};
pub use pattern::{Pattern, PatternError};
pub use schema::schema;
pub(crate) use setup::default_capabilities;
pub use template::{Bindings, Template};
pub use vocabulary::{ACTS, INTENTS, MARKER, PayloadKind, Vocabulary};
