//! Messages about a command line that cannot be parsed, with hints that clap cannot give.

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::args::Args;

impl Args {
    /// Reads the command line of this process; reports a mistake in it and exits.
    pub fn of_command_line() -> Self {
        let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        let command = super::project::command(&words).map(|party| party.name());
        let all = std::env::args_os().take(1).chain(command.map(Into::into)).chain(std::env::args_os().skip(1));
        Self::try_parse_from(all).unwrap_or_else(|error| explained(error, &words).exit())
    }
}

/// Explains words of other test programs, and a missing `--` before the command line of a program. clap only suggests
/// to put it before the first unknown word.
fn explained(mut error: clap::Error, words: &[String]) -> clap::Error {
    if let Some(tip) = tip(&error, words) {
        error.remove(ContextKind::Usage);
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.to_owned().into()]));
        return error;
    }
    let Some(example) = example(words).filter(|_| error.kind() == ErrorKind::UnknownArgument) else { return error };
    error.remove(ContextKind::Suggested);
    let has_dashes = words.iter().any(|word| word == "--");
    if !has_dashes && error.get(ContextKind::SuggestedArg).is_none() {
        let tip = format!("write the program's command line after --, as in: acp-conformance {example}");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Returns what the user probably meant by a word that this program does not have.
fn tip(error: &clap::Error, words: &[String]) -> Option<&'static str> {
    let mut words = words.iter().map(String::as_str);
    let (first, second) = (words.next()?, words.next().unwrap_or_default());
    match (error.kind(), first) {
        (ErrorKind::InvalidSubcommand, "test" | "run") => {
            Some("`agent` tests an agent and `client` a client, as in: acp-conformance agent -- my-agent --acp")
        }
        (ErrorKind::UnknownArgument, "agent" | "client") => {
            let unknown = error.get(ContextKind::InvalidArg)?;
            let is_filter = |word: &str| word == "--filter" || word.starts_with("--filter=");
            matches!(unknown, ContextValue::String(word) if is_filter(word)).then_some(
                "`--case PATTERN` selects cases, as in: acp-conformance agent --case cancel -- my-agent --acp",
            )
        }
        (ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand, "certify") if second.starts_with('-') => Some(
            "write `agent` or `client` first, as in: acp-conformance certify agent --output certificate -- my-agent --acp",
        ),
        _ => None,
    }
}

/// Returns an example of a command that takes the command line of a program.
fn example(words: &[String]) -> Option<&'static str> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["agent", ..] => Some("agent -- my-agent --acp"),
        ["client", ..] => Some("client -- my-client --agent {agent} --dir {cwd} {prompt}"),
        ["monitor", ..] => Some("monitor -- my-agent --acp"),
        ["certify", "agent", ..] => Some("certify agent --output certificate -- my-agent --acp"),
        ["certify", "client", ..] => {
            Some("certify client --output certificate -- my-client --agent {agent} --dir {cwd} {prompt}")
        }
        _ => None,
    }
}
