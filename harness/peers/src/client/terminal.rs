//! Terminals: real processes that the agent starts, watches, kills and releases.

mod command;
mod registry;
mod requests;
mod tail;

pub(super) use registry::Terminals;
