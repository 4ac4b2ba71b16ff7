//! Lowers the parts of a case about the tester's MCP servers.

use crate::case::check::Checker;
use crate::case::file::{DurationText, McpFile, ServerName};
use crate::case::model::{Action, McpCheck, Presence};
use crate::case::vocabulary::MCP_METHODS;
use crate::diagnostic::did_you_mean;
use crate::document::Spot;
use crate::requirement::Party;

impl Checker<'_> {
    /// Lowers the names of the servers, and binds the names for their paths.
    pub fn mcp_servers(&mut self, spot: &Spot<'_>, names: Vec<ServerName>) -> Vec<String> {
        for (i, ServerName(name)) in names.into_iter().enumerate() {
            if self.mcp.contains(&name) {
                let problem =
                    spot.down(i).error("case::repeated-server", format!("the MCP server `{name}` is listed twice"));
                self.problems.push(problem.help("keep one of the two"));
                continue;
            }
            for place in ["", "-url", "-sse"] {
                self.scope.bind(&format!("mcp-{name}{place}"));
            }
            self.mcp.push(name);
        }
        self.mcp.clone()
    }

    /// Lowers an expected message to a server.
    pub fn mcp(&mut self, spot: &Spot<'_>, presence: Presence, check: McpFile) {
        let McpFile { server, method, params, decides, within } = check;
        self.known_server(spot, &server);
        for (pointer, method) in &method.items {
            self.known_method(&spot.down("method").deep(pointer), method);
        }
        if method.items.is_empty() {
            self.problems.push(spot.down("method").error("case::no-method", "the list of methods is empty"));
        }
        let params = params.and_then(|params| self.pattern(&spot.down("params"), &params, true));
        let decides = self.decides(spot, &decides);
        let methods = method.items.into_iter().map(|(_, method)| method).collect();
        let action = Action::Mcp(McpCheck { server, methods, params, presence });
        self.push(spot, action, decides, within.as_ref().map(DurationText::duration));
    }

    fn known_method(&mut self, spot: &Spot<'_>, method: &str) {
        if !MCP_METHODS.contains(&method) {
            let problem = spot.error("case::unknown-method", format!("unknown method `{method}`"));
            let help = did_you_mean(method, "the methods of an MCP client are", &MCP_METHODS);
            self.problems.push(problem.label("not a method of MCP").maybe_help(help));
        }
    }

    fn known_server(&mut self, spot: &Spot<'_>, server: &str) {
        if self.mcp.iter().any(|known| known == server) {
            return;
        }
        let problem = spot.down("server").error("case::unknown-server", format!("unknown MCP server `{server}`"));
        let known: Vec<_> = self.mcp.iter().map(String::as_str).collect();
        let help = match self.subject {
            Party::Client => Some("the tester plays MCP servers for an agent; a client only names them".to_owned()),
            Party::Agent if known.is_empty() => {
                Some(format!("name it above the transcript: `client: {{ mcp: [{server}] }}`"))
            }
            Party::Agent => did_you_mean(server, "the servers of this case are", &known),
        };
        self.problems.push(problem.maybe_help(help));
    }
}
