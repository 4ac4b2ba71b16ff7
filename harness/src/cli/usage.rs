//! Messages about a command line that cannot be parsed, with hints that clap cannot give.

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::args::Args;

impl Args {
    /// Reads the command line of this process; reports a mistake in it and exits.
    #[must_use]
    pub fn of_command_line() -> Self {
        let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        let command = super::project::command(&words).map(|party| party.name());
        let all = std::env::args_os().take(1).chain(command.map(Into::into)).chain(std::env::args_os().skip(1));
        Self::try_parse_from(all).unwrap_or_else(|error| explained(error, &words).exit())
    }
}

/// Explains a missing `--` before the command line of a program. clap only suggests to put it before the first unknown
/// word.
fn explained(mut error: clap::Error, words: &[String]) -> clap::Error {
    let Some(example) = example(words).filter(|_| error.kind() == ErrorKind::UnknownArgument) else { return error };
    error.remove(ContextKind::Suggested);
    let has_dashes = words.iter().any(|word| word == "--");
    if !has_dashes && error.get(ContextKind::SuggestedArg).is_none() {
        let tip = format!("write the program's command line after --, as in: acp-conformance {example}");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
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
