//! The instructions to a person who operates a client at the beginning of a case.

use serde_json::Value;

use crate::profile::{person, places};
use crate::run::case::RunningCase;
use crate::run::channel::Channel;

/// Instructs the person how to begin the case.
pub(super) fn begin<C: Channel>(running: &mut RunningCase<'_, C>) {
    let user = &running.case.user;
    let mut texts = Vec::new();
    if !user.mcp_servers.is_empty() {
        let servers: Vec<Value> = user.mcp_servers.iter().map(|entry| running.bindings.interpolate(entry)).collect();
        texts.push(filled(person::MCP_SERVERS, "mcp_servers", Value::from(servers).to_string()));
    }
    if !user.directories.is_empty() {
        let directories: Vec<String> = user.directories.iter().map(|dir| dir.render(&running.bindings)).collect();
        texts.push(filled(person::DIRECTORIES, "directories", Value::from(directories).to_string()));
    }
    texts.extend(person::permission(user.permission).map(str::to_owned));
    texts.push(filled(person::START, "prompt", user.prompt.clone()));
    for text in &texts {
        running.instruct(text);
    }
}

fn filled(text: &str, place: &str, value: String) -> String {
    places::fill(text, &[(place.to_owned(), value)].into())
}
