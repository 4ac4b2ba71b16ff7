//! The command line.

use std::net::SocketAddr;

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
  spawn-subagent {ms?,background?}  a session of its own, if the client takes them
  tool-kinds  fail-tool  refuse  max-tokens  max-turn-requests
  elicit {mode?,choices?,several?,secret?,visits?}
  ext  call-mcp-tool {server,tool,arguments?}
  model-error                     falls back to the second model, and fails with it
  run-in-background {command,…}   in version 2 only

A prompt that starts with an announced slash command (/say, /plan, /usage) runs it.
Sessions are kept in $HOME/.acp-reference-agent/sessions.";

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Protocol {
    /// Version 1.
    V1,
    /// Version 2, a draft.
    V2,
}

/// Raw arguments of `acp-reference-agent`.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(about = "A conforming ACP agent that obeys intents instead of a model", after_help = INTENTS)]
pub struct Options {
    /// Answer -32000 to session requests until `authenticate`, and again after `logout`
    #[arg(long)]
    pub require_login: bool,
    /// Serve only this version of the protocol
    #[arg(long, value_enum)]
    pub protocol: Option<Protocol>,
    /// Serve HTTP and WebSocket at /acp of a loopback address instead of stdio; a draft. With port 0, any free port
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
}
