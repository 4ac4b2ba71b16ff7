//! The messages of an agent outside its connection: to MCP servers, and to an HTTP endpoint.

use std::collections::BTreeMap;

use serde_json::json;

use super::message::{content, spaced};
use super::renamer::Renamer;
use crate::requirement::Party;
use crate::trace::{Event, McpEvent, McpWhat, What};

/// A header without information, which changes with the length of a version.
const LENGTH: &str = "content-length";

/// Writes the messages of the agent to each MCP server and HTTP endpoint, in their order. Messages to different servers
/// have no common order.
pub(super) fn write(events: &[Event], renamer: &mut Renamer, text: &mut String) {
    let mut parts: BTreeMap<_, Vec<&What>> = BTreeMap::new();
    for event in events {
        let part = match &event.what {
            What::Mcp(mcp) => (format!("MCP server {}, {}", mcp.server, mcp.over.name()), mcp.instance),
            What::Visit(visit) => (format!("visits to {}", renamer.text(&visit.url)), 0),
            _ => continue,
        };
        parts.entry(part).or_default().push(&event.what);
    }
    for ((title, instance), whats) in parts {
        renamer.begin_connection();
        let number = if instance == 0 { String::new() } else { format!(", number {}", instance + 1) };
        text.push_str(&format!("\n{title}{number}\n"));
        whats.into_iter().filter_map(|what| line(what, renamer)).for_each(|line| text.push_str(&(line + "\n")));
    }
}

/// Writes one line. The exit of a server is left out, since the end of a case does not wait for it.
fn line(what: &What, renamer: &mut Renamer) -> Option<String> {
    match what {
        What::Mcp(McpEvent { what, .. }) => match what {
            McpWhat::FromAgent(text) => Some(format!("← {}", content(Party::Agent, text.as_bytes(), renamer))),
            McpWhat::ToAgent(text) => Some(format!("→ {}", content(Party::Client, text.as_bytes(), renamer))),
            McpWhat::Started { args, env, .. } => {
                Some(renamer.text(&format!("← started with {} {}", spaced(&json!(args)), spaced(&json!(env)))))
            }
            McpWhat::Ended => None,
        },
        What::Visit(visit) => {
            let headers: Vec<_> = visit.headers.iter().filter(|(name, _)| name != LENGTH).collect();
            Some(renamer.text(&format!("← {} {}", visit.method, spaced(&json!(headers)))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::normalised;
    use crate::trace::{McpTransport, Visit};
    use crate::wire::LineEnd;

    #[test]
    fn what_an_agent_says_to_its_mcp_servers_is_told_server_by_server() {
        let mcp = |server: &str, over, what| What::Mcp(McpEvent { server: server.to_owned(), over, instance: 0, what });
        let url = "http://127.0.0.1:99/notes".to_owned();
        let headers = vec![("host".to_owned(), "127.0.0.1:99".to_owned())];
        let started = McpWhat::Started {
            command: "/x/acp-1/mcp/files/server".to_owned(),
            pid: 7,
            args: vec!["--one".to_owned()],
            cwd: "/x/acp-1/work".to_owned(),
            env: BTreeMap::from([("ONE".to_owned(), "1".to_owned())]),
            environment: vec!["PATH".to_owned()],
        };
        let new = r#"{"id":1,"method":"session/new","params":{"cwd":"/x/acp-1/work","mcpServers":[{"url":"http://127.0.0.1:99/notes"}]}}"#;
        let hello = || McpWhat::FromAgent(r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#.to_owned());
        let rendered = |whats: Vec<What>| {
            let event = |(n, what)| Event { n, us: 0, connection: 0, what };
            normalised(Party::Agent, &whats.into_iter().enumerate().map(event).collect::<Vec<_>>())
        };
        let rendered = rendered(vec![
            What::Line { from: Party::Client, bytes: new.as_bytes().to_vec(), end: LineEnd::Lf, deliberate: false },
            What::Visit(Visit { method: "POST".to_owned(), url, headers }),
            mcp("notes", McpTransport::Http, hello()),
            mcp("files", McpTransport::Stdio, started),
            mcp("files", McpTransport::Stdio, hello()),
            mcp("files", McpTransport::Stdio, McpWhat::Ended),
        ]);
        let wanted = "\nMCP server files, stdio\n\
            ← started with [\"--one\"] {\"ONE\": \"1\"}\n\
            ← <agent-request-1> initialize\n\
            \n\
            MCP server notes, http\n\
            ← <agent-request-2> initialize\n\
            \n\
            visits to http://<address>/notes\n\
            ← POST [[\"host\", \"<address>\"]]\n";
        assert!(rendered.ends_with(wanted), "{rendered}");
    }
}
