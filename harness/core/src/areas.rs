//! The areas of the protocol: the checks of each, and what they remember of a conversation.

mod auth;
mod background;
mod by_session;
mod cancel;
mod cancelreq;
mod check;
mod close;
mod commands;
pub(crate) mod common;
mod compaction;
mod config;
mod content;
mod context;
mod damage;
mod delete;
mod diff;
mod dirs;
mod elicit;
mod event;
mod ext;
mod fs;
mod gates;
mod http;
mod init;
mod jsonrpc;
mod list;
mod load;
mod mcp;
mod memory;
mod message;
mod modes;
mod notice;
mod observe;
mod permission;
mod plan;
pub(crate) mod probes;
mod prompt;
mod proxy;
mod remembered;
mod reported;
mod resume;
mod schema;
mod session;
mod state;
mod subagent;
pub(crate) mod support;
mod system_prompt;
mod terminal;
mod timestamp;
mod tool;
mod toolcancel;
mod transport;

pub(crate) use self::auth::Logins;
pub use self::check::{Check, On};
pub(crate) use self::check::{KINDS, Seen, of_both, with};
pub use self::context::CheckContext;
pub(crate) use self::event::Event;
pub use self::memory::Areas;

/// Returns every check of every area.
pub(crate) fn all() -> Vec<Check> {
    let areas: [&[&[Check]]; 40] = [
        auth::CHECKS,
        &[background::CHECKS],
        cancel::CHECKS,
        &[cancelreq::CHECKS, cancelreq::BOTH.as_flattened()],
        close::CHECKS,
        &[commands::CHECKS],
        &[compaction::CHECKS],
        config::CHECKS,
        &[content::CHECKS, content::BOTH.as_flattened(), content::v2::CHECKS, content::v2::BOTH.as_flattened()],
        &[delete::CHECKS],
        &[diff::CHECKS],
        dirs::CHECKS,
        elicit::CHECKS,
        &[ext::CHECKS, ext::BOTH.as_flattened()],
        fs::CHECKS,
        &[gates::CHECKS],
        http::CHECKS,
        init::CHECKS,
        &[
            jsonrpc::BOTH.as_flattened(),
            jsonrpc::duplex::BOTH.as_flattened(),
            jsonrpc::error::CHECKS,
            jsonrpc::error::BOTH.as_flattened(),
            jsonrpc::exit::BOTH.as_flattened(),
            jsonrpc::response::CHECKS,
            jsonrpc::response::BOTH.as_flattened(),
            jsonrpc::v2::CHECKS,
            jsonrpc::v2::BOTH.as_flattened(),
        ],
        &[list::CHECKS],
        load::CHECKS,
        mcp::CHECKS,
        &[message::CHECKS],
        modes::CHECKS,
        &[notice::CHECKS],
        permission::CHECKS,
        &[plan::CHECKS],
        &[probes::CHECKS, probes::settings::CHECKS, probes::turns::CHECKS],
        prompt::CHECKS,
        &[proxy::CHECKS, proxy::BOTH.as_flattened()],
        resume::CHECKS,
        &[schema::CHECKS, schema::BOTH.as_flattened()],
        session::CHECKS,
        &[state::CHECKS],
        subagent::CHECKS,
        system_prompt::CHECKS,
        terminal::CHECKS,
        &[tool::CHECKS],
        &[toolcancel::CHECKS],
        &[transport::CHECKS, transport::BOTH.as_flattened(), transport::delivery::BOTH.as_flattened()],
    ];
    areas.concat().concat()
}
