//! The MCP servers for opening a session, as far as the agent supports them.

use std::{
    env,
    path::{Path, PathBuf},
};

use agent_client_protocol::v1::schema::{McpCapabilities, McpServer, McpServerStdio};

use super::output::log;

/// Returns the user's servers that the agent supports.
pub(super) fn servers(wanted: &[McpServer], takes: &McpCapabilities) -> Vec<McpServer> {
    let fitting = |server: &McpServer| match server {
        McpServer::Http(server) if !takes.http => left_out(&server.name, "the agent takes no http servers"),
        McpServer::Sse(server) if !takes.sse => left_out(&server.name, "the agent takes no sse servers"),
        McpServer::Stdio(server) => located(server.clone()),
        server => Some(server.clone()),
    };
    wanted.iter().filter_map(fitting).collect()
}

/// Makes the command of a server absolute, as the user's shell would find it.
fn located(mut server: McpServerStdio) -> Option<McpServer> {
    let found = if server.command.is_absolute() { Some(server.command.clone()) } else { find(&server.command) };
    match found {
        Some(command) => {
            server.command = command;
            Some(McpServer::Stdio(server))
        }
        None => left_out(&server.name, "its command is not found"),
    }
}

fn find(command: &Path) -> Option<PathBuf> {
    if command.components().count() > 1 {
        return std::path::absolute(command).ok();
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(command)).find(|path| path.is_absolute() && path.is_file())
}

fn left_out(name: &str, why: &str) -> Option<McpServer> {
    log(&format!("MCP server `{name}` left out: {why}"));
    None
}
