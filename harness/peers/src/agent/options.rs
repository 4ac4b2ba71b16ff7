//! The command line: which features to leave out.

const INTENTS: &str = "\
Intents (the last line of this form in a prompt's text blocks is obeyed):
  acp-intent: {\"intent\":\"read-file\",\"path\":\"notes.txt\"}

  say {text?}                     answer with the text, or echo the prompt; also without an intent
  think {text?}  plan  content    thought, plan, and every content block type
  read-file {path,line?,limit?}   read-files {paths}
  write-file {path,content,ask?}  permission first, unless ask is false
  run-command {command,args?,cwd?,env?,byteLimit?,kill?,ask?}
  ask-permission {}               ask-and-wait {}
  keep-busy {ms?,chunks?}         chunks every 10 ms until cancelled
  search {text}  set-mode {modeId}  commands  info {title?}  usage
  notice {title?}  compact        if the client takes them
  tool-kinds  fail-tool  refuse  max-tokens  max-turn-requests
  elicit {mode?,choices?,secret?,visits?}
  ext  call-mcp-tool {server,tool,arguments?}

A prompt that starts with an announced slash command (/say, /plan, /usage) runs it.
Sessions are kept in $HOME/.acp-reference-agent/sessions.";

/// Raw arguments of `acp-reference-agent`.
#[derive(Debug, Default, clap::Parser)]
#[command(
    name = "acp-reference-agent",
    version,
    about = "A conforming ACP v1 agent on stdio that obeys intents instead of a model",
    after_help = INTENTS
)]
pub struct Options {
    /// Features to leave out: neither advertised nor implemented
    #[arg(long, value_enum, value_name = "FEATURE", value_delimiter = ',')]
    pub without: Vec<Feature>,
    /// Answer -32000 to session requests until `authenticate`, and again after `logout`
    #[arg(long)]
    pub require_login: bool,
}

/// An optional part of the protocol that the agent can do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Feature {
    /// `session/load`.
    Load,
    /// `session/resume`.
    Resume,
    /// `session/list`.
    List,
    /// `session/close`.
    Close,
    /// `session/delete`.
    Delete,
    /// Session modes and `session/set_mode`.
    Modes,
    /// Config options and `session/set_config_option`.
    Config,
    /// Auth methods, `authenticate` and `logout`.
    Auth,
    /// Images in prompts.
    Image,
    /// Audio in prompts.
    Audio,
    /// Embedded resources in prompts.
    Embedded,
    /// Slash commands.
    Commands,
}

impl Options {
    /// Tells whether a feature is advertised and implemented.
    #[must_use]
    pub fn with(&self, feature: Feature) -> bool {
        !self.without.contains(&feature)
    }
}
