//! The command line: the agent, the user's settings, and the features to leave out.

use std::path::{self, PathBuf};

use agent_client_protocol::v1::schema::McpServer;
use serde_json::{Value, json};
use url::Url;

const ACTS: &str = "\
Acts, one JSON object a line on standard input with --acts:
  {\"act\":\"prompt\",\"text\":\"hi\",\"attach\":[\"image\",\"audio\",\"file\",\"mention\"]}
  {\"act\":\"cancel\"}  {\"act\":\"cancel-request\"}  {\"act\":\"list\"}
  {\"act\":\"new-session\",\"cwd\":\"/dir\"}; without a directory in that of the last session
  {\"act\":\"load\",\"sessionId\":\"s\"}, and so resume, close, delete and switch
  {\"act\":\"set-mode\",\"modeId\":\"ask\"}  {\"act\":\"set-option\",\"configId\":\"model\",\"value\":\"fast\"}
  {\"act\":\"command\",\"name\":\"plan\",\"input\":\"tests\"}  {\"act\":\"decide\",\"optionId\":\"allow\"}
  {\"act\":\"answer\",\"action\":\"accept\"}
  {\"act\":\"cancel-tool\"}  {\"act\":\"cancel-terminal\"}, both in version 2 only
  {\"act\":\"authenticate\",\"methodId\":\"login\"}  {\"act\":\"logout\"}  {\"act\":\"quit\"}";

/// Raw arguments of `acp-reference-client`.
#[derive(Debug, Clone, clap::Parser)]
#[command(
    name = "acp-reference-client",
    version,
    about = "A conforming ACP client without a user interface",
    after_help = ACTS
)]
pub struct Options {
    /// Prompts to give to the agent, one after the other
    #[arg(long = "prompt", value_name = "TEXT")]
    pub prompts: Vec<String>,
    /// Read acts from standard input after the prompts
    #[arg(long)]
    pub acts: bool,
    /// Working directory of the sessions
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub cwd: PathBuf,
    /// Answer of the user to permission requests and forms
    #[arg(long, value_enum, default_value_t)]
    pub permission: Permission,
    /// MCP servers as in session/new, as a JSON list
    #[arg(long, value_name = "JSON", value_parser = mcp_servers, default_value = "[]")]
    pub mcp_servers: McpServers,
    /// Additional directories of the sessions, as a JSON list of paths
    #[arg(long, value_name = "JSON", value_parser = directories, default_value = "[]")]
    pub directories: Directories,
    /// Features to leave out: neither advertised nor served
    #[arg(long, value_enum, value_name = "FEATURE", value_delimiter = ',')]
    pub without: Vec<Feature>,
    /// Keep written texts in unsaved buffers and read from them, as editors do
    #[arg(long)]
    pub unsaved: bool,
    /// The version of the protocol that the client asks for; version 2 is a draft
    #[arg(long, value_enum, default_value_t)]
    pub protocol: Protocol,
    /// Environment variables of the agent in addition to the client's own
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    pub env: Vec<(String, String)>,
    /// Dial the agent at this http or ws URL instead of starting one; a draft
    #[arg(long, value_name = "URL", value_parser = parse_url, conflicts_with_all = ["agent", "env"])]
    pub url: Option<Url>,
    /// Command that starts the agent
    #[arg(last = true, required_unless_present = "url", value_name = "AGENT")]
    pub agent: Vec<String>,
}

/// A version of the protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Protocol {
    /// Version 1.
    #[default]
    V1,
    /// Version 2, a draft.
    V2,
}

/// What the user says to a permission request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Permission {
    /// The first option that allows.
    #[default]
    Allow,
    /// The first option that rejects.
    Reject,
    /// None: the request stays open until the acts `decide` and `answer`.
    Hold,
}

/// An optional part of the protocol that the client can do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Feature {
    /// `fs/read_text_file`.
    FsRead,
    /// `fs/write_text_file`.
    FsWrite,
    /// All `terminal/*` methods.
    Terminal,
    /// Logins in a terminal.
    AuthTerminal,
    /// `elicitation/create` in every mode.
    Elicitation,
    /// `elicitation/create` with a form.
    ElicitationForm,
    /// `elicitation/create` with a URL.
    ElicitationUrl,
    /// Boolean config options.
    ConfigBoolean,
}

/// The value of `--mcp-servers`.
#[derive(Debug, Clone, Default)]
pub struct McpServers(pub Vec<McpServer>);

/// The value of `--directories`.
#[derive(Debug, Clone, Default)]
pub struct Directories(pub Vec<PathBuf>);

impl Options {
    /// Returns whether a feature is advertised and served.
    pub fn with(&self, feature: Feature) -> bool {
        let is_mode = matches!(feature, Feature::ElicitationForm | Feature::ElicitationUrl);
        let whole = if is_mode { Feature::Elicitation } else { feature };
        // The program of an agent behind a URL cannot be started for a login.
        let is_elsewhere = feature == Feature::AuthTerminal && self.url.is_some();
        !is_elsewhere && !self.without.contains(&feature) && !self.without.contains(&whole)
    }

    /// Makes the paths absolute.
    pub(super) fn with_absolute_paths(mut self) -> std::io::Result<Self> {
        self.cwd = path::absolute(self.cwd)?;
        self.directories.0 = self.directories.0.iter().map(path::absolute).collect::<Result<_, _>>()?;
        Ok(self)
    }
}

/// Reads the value of `--url`.
fn parse_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    if matches!(url.scheme(), "http" | "ws") { Ok(url) } else { Err("only http and ws are supported".to_owned()) }
}

fn variable(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("`=` is missing")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn directories(text: &str) -> Result<Directories, serde_json::Error> {
    serde_json::from_str(text).map(Directories)
}

fn mcp_servers(text: &str) -> Result<McpServers, serde_json::Error> {
    let mut entries: Vec<Value> = serde_json::from_str(text)?;
    entries.iter_mut().for_each(fill_in);
    entries.into_iter().map(serde_json::from_value).collect::<Result<_, _>>().map(McpServers)
}

/// Adds the lists that are optional for a user but required by the protocol.
fn fill_in(entry: &mut Value) {
    let names: &[&str] = if entry.get("url").is_some() { &["headers"] } else { &["args", "env"] };
    let Some(members) = entry.as_object_mut() else { return };
    for name in names {
        members.entry(*name).or_insert_with(|| json!([]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_servers_may_be_left_out() {
        let servers = mcp_servers(r#"[{"name":"a","command":"/bin/a"},{"type":"http","name":"b","url":"http://b"}]"#);
        let McpServers(servers) = servers.expect("both are complete then");
        assert!(matches!(servers[..], [McpServer::Stdio(_), McpServer::Http(_)]));
    }
}
