//! The checks, one file per area of the protocol.

mod auth;
mod cancel;
mod cancelreq;
mod close;
mod commands;
pub(super) mod common;
mod compaction;
mod config;
mod content;
mod delete;
mod dirs;
mod elicit;
mod ext;
mod fs;
mod gates;
mod init;
mod jsonrpc;
mod list;
mod load;
mod mcp;
mod modes;
mod notice;
mod permission;
mod plan;
pub(super) mod probes;
mod prompt;
mod resume;
mod schema;
mod session;
pub(super) mod support;
mod terminal;
mod tool;
mod transport;
mod v2;

use super::check::Check;

/// Returns every check of every area.
pub(super) fn all() -> Vec<Check> {
    [
        transport::CHECKS,
        transport::BOTH.as_flattened(),
        transport::delivery::BOTH.as_flattened(),
        jsonrpc::BOTH.as_flattened(),
        jsonrpc::response::CHECKS,
        jsonrpc::response::BOTH.as_flattened(),
        jsonrpc::duplex::BOTH.as_flattened(),
        jsonrpc::error::CHECKS,
        jsonrpc::error::BOTH.as_flattened(),
        jsonrpc::exit::BOTH.as_flattened(),
        schema::CHECKS,
        schema::BOTH.as_flattened(),
        init::CHECKS,
        init::client::CHECKS,
        init::capabilities::CHECKS,
        auth::CHECKS,
        auth::client::CHECKS,
        auth::terminal::CHECKS,
        session::CHECKS,
        mcp::CHECKS,
        mcp::client::CHECKS,
        dirs::client::CHECKS,
        session::client::CHECKS,
        gates::CHECKS,
        prompt::CHECKS,
        content::CHECKS,
        content::BOTH.as_flattened(),
        cancel::CHECKS,
        cancel::client::CHECKS,
        cancelreq::CHECKS,
        cancelreq::BOTH.as_flattened(),
        permission::CHECKS,
        permission::client::CHECKS,
        plan::CHECKS,
        notice::CHECKS,
        compaction::CHECKS,
        load::CHECKS,
        resume::CHECKS,
        close::CHECKS,
        list::CHECKS,
        delete::CHECKS,
        dirs::CHECKS,
        tool::CHECKS,
        fs::CHECKS,
        fs::client::CHECKS,
        terminal::CHECKS,
        terminal::client::CHECKS,
        modes::CHECKS,
        modes::client::CHECKS,
        config::CHECKS,
        config::client::CHECKS,
        commands::CHECKS,
        ext::CHECKS,
        ext::BOTH.as_flattened(),
        elicit::CHECKS,
        elicit::client::CHECKS,
        probes::CHECKS,
        probes::settings::CHECKS,
        probes::turns::CHECKS,
        &v2::all(),
    ]
    .concat()
}
