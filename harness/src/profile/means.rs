//! Settings and acts as written on the command line.

use std::fmt;

use super::file::SignalFile;
use super::{Means, Setting, places};
use crate::case::ACTS;
use crate::diagnostic::did_you_mean;

/// The form of an act on the command line.
const HOW_TO_ACT: &str =
    "write NAME=line:TEXT, NAME=keys:TEXT, NAME=hook:COMMAND, NAME=signal:SIGNAL or NAME=person:TEXT";

/// The form of a setting on the command line.
pub(super) const HOW_TO_NAME_A_SESSION: &str =
    "write {sessionId}, or leave the act out if your user can only end the current session";

const HOW_TO_SET: &str = "write NAME=WORDS, such as permission-allow='--approve all'";

/// Parses the means of an act, such as `cancel=signal:SIGINT` or `load=hook:my-client load {sessionId}`.
///
/// ```
/// use acp_conformance::profile::{Means, parse_act};
///
/// let hook = Means::Hook(vec!["my-client".to_owned(), "load".to_owned(), "{sessionId}".to_owned()]);
/// assert_eq!(parse_act("load=hook:my-client load {sessionId}"), Ok(("load".to_owned(), hook)));
/// assert!(parse_act("cancel=signal:SIGIN").unwrap_err().contains("did you mean `SIGINT`?"));
/// ```
///
/// # Errors
///
/// The mistake, and the correct form.
pub fn parse_act(text: &str) -> Result<(String, Means), String> {
    let Some((act, (means, words))) = text.split_once('=').and_then(|(act, rest)| Some((act, rest.split_once(':')?)))
    else {
        let signal = text.split_once('=').and_then(|(act, word)| Some((act, signal_named(word)?)));
        return Err(match signal {
            Some((act, signal)) => {
                format!("`{text}` does not say how an act is done; did you mean `{act}=signal:{signal}`?")
            }
            None => format!("`{text}` does not say how an act is done; {HOW_TO_ACT}"),
        });
    };
    let means = match means {
        "line" => Means::Line(words.to_owned()),
        "keys" => Means::Keys(words.to_owned()),
        "hook" => Means::Hook(split(words)?),
        "signal" => Means::Signal(words.to_owned()),
        "person" => Means::Person(words.to_owned()),
        _ => {
            let names = ["line", "keys", "hook", "signal", "person"];
            let problem = unknown("means", means, "the means are", &names);
            return Err(format!("{problem}; {HOW_TO_ACT}"));
        }
    };
    check_act(act, &means)?;
    Ok((act.to_owned(), means))
}

/// Returns the signal with this name, with or without `SIG`.
fn signal_named(word: &str) -> Option<&'static str> {
    SignalFile::ALL
        .map(SignalFile::name)
        .into_iter()
        .find(|name| *name == word || name.strip_prefix("SIG") == Some(word))
}

/// Checks that these means can do an act, as far as their text shows.
///
/// # Errors
///
/// The mistake, and the correct form.
pub fn check_act(act: &str, means: &Means) -> Result<(), String> {
    let acts = ACTS.map(|(name, _)| name);
    if !acts.contains(&act) {
        return Err(unknown("act", act, "the acts are", &acts));
    }
    let texts = match means {
        Means::Line(text) | Means::Keys(text) | Means::Person(text) | Means::Signal(text) => std::slice::from_ref(text),
        Means::Hook(words) if words.is_empty() => return Err(format!("the hook has no command; {HOW_TO_ACT}")),
        Means::Hook(words) => words,
    };
    if texts.iter().all(String::is_empty) {
        return Err(format!("no text after `{means}`; {HOW_TO_ACT}"));
    }
    if let Means::Signal(name) = means {
        let names = SignalFile::ALL.map(SignalFile::name);
        return if names.contains(&name.as_str()) {
            Ok(())
        } else {
            Err(unknown("signal", name, "the signals are", &names))
        };
    }
    known_places(texts, &places::of_an_act(act))?;
    if names_no_session(act, texts) {
        return Err(format!("`{act}` does not say which session; {HOW_TO_NAME_A_SESSION}"));
    }
    Ok(())
}

/// Whether an act that ends a session is for whatever session the client is in. A case also ends others, and then a
/// correct client would fail.
pub(super) fn names_no_session(act: &str, texts: &[String]) -> bool {
    let mut words = texts.iter().flat_map(|text| places::words(text));
    matches!(act, "close" | "delete") && !words.any(|word| word.starts_with("sessionId"))
}

/// Parses the words of a command for a setting, such as `permission-allow=--approve-all`.
///
/// ```
/// use acp_conformance::profile::{Setting, parse_setting};
///
/// let words = vec!["--mcp".to_owned(), "{mcp_servers}".to_owned()];
/// assert_eq!(parse_setting("mcp-servers=--mcp {mcp_servers}"), Ok((Setting::McpServers, words)));
/// assert!(parse_setting("permission=-y").unwrap_err().contains("`permission-allow`"));
/// ```
///
/// # Errors
///
/// The mistake, and the correct form.
pub fn parse_setting(text: &str) -> Result<(Setting, Vec<String>), String> {
    let Some((name, words)) = text.split_once('=') else {
        return Err(format!("`{text}` says no words for a setting; {HOW_TO_SET}"));
    };
    let Some(setting) = Setting::ALL.into_iter().find(|setting| setting.name() == name) else {
        return Err(unknown("setting", name, "the settings are", &Setting::ALL.map(Setting::name)));
    };
    let words = split(words)?;
    check_setting(setting, &words)?;
    Ok((setting, words))
}

/// Checks that these words can express a setting.
///
/// # Errors
///
/// The mistake, and the correct form.
pub fn check_setting(setting: Setting, words: &[String]) -> Result<(), String> {
    known_places(words, &setting.places())
}

/// Writes the means of an act as on the command line after its name.
impl fmt::Display for Means {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(text) => write!(f, "line:{text}"),
            Self::Keys(text) => write!(f, "keys:{text}"),
            Self::Hook(words) => write!(f, "hook:{}", shell_words::join(words)),
            Self::Signal(name) => write!(f, "signal:{name}"),
            Self::Person(text) => write!(f, "person:{text}"),
        }
    }
}

impl Setting {
    /// Returns the placeholders in its words.
    pub(super) fn places(self) -> Vec<String> {
        match self {
            Self::PermissionAllow | Self::PermissionReject | Self::PermissionHold => Vec::new(),
            Self::McpServers => vec!["mcp_servers".to_owned()],
            Self::Directories => vec!["directories".to_owned()],
        }
    }
}

/// Returns the help for an unknown placeholder, with the known ones if there are any.
pub(super) fn place_help(word: &str, known: &[String]) -> String {
    let known: Vec<_> = known.iter().map(|place| format!("{{{place}}}")).collect();
    let known: Vec<_> = known.iter().map(String::as_str).collect();
    did_you_mean(&format!("{{{word}}}"), "the places here are", &known)
        .unwrap_or_else(|| "this text takes no placeholders".to_owned())
}

fn known_places(texts: &[String], known: &[String]) -> Result<(), String> {
    let mut words = texts.iter().flat_map(|text| places::words(text));
    match words.find(|word| !known.iter().any(|known| known == word)) {
        Some(word) => Err(format!("unknown place `{{{word}}}`; {}", place_help(word, known))),
        None => Ok(()),
    }
}

fn unknown(what: &str, word: &str, list: &str, known: &[&str]) -> String {
    let help = did_you_mean(word, list, known).unwrap_or_default();
    format!("unknown {what} `{word}`; {help}")
}

fn split(words: &str) -> Result<Vec<String>, String> {
    shell_words::split(words).map_err(|error| format!("`{words}` cannot be split into words: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_means_can_be_written() {
        let means = |text| {
            let (act, means) = parse_act(text)?;
            assert_eq!(parse_act(&format!("{act}={means}")), Ok((act, means.clone())), "{means} can be read again");
            Ok::<_, String>(means)
        };
        assert_eq!(means("quit=line:{\"act\":\"quit\"}"), Ok(Means::Line("{\"act\":\"quit\"}".to_owned())));
        assert_eq!(means("prompt=keys:{text}\n"), Ok(Means::Keys("{text}\n".to_owned())));
        let words = ["my client", "{modeId}"].map(str::to_owned);
        assert_eq!(means("set-mode=hook:'my client' {modeId}"), Ok(Means::Hook(words.to_vec())));
        assert_eq!(means("cancel=signal:SIGINT"), Ok(Means::Signal("SIGINT".to_owned())));
        assert_eq!(means("close=person:Close it: {sessionId}"), Ok(Means::Person("Close it: {sessionId}".to_owned())));
        assert_eq!(parse_setting("permission-hold="), Ok((Setting::PermissionHold, Vec::new())));
    }

    #[test]
    fn mistakes_say_how_to_write_it() {
        for (text, wanted) in [
            ("cancel", "write NAME=line:TEXT"),
            ("cancel=SIGINT", "did you mean `cancel=signal:SIGINT`?"),
            ("cancel=SIGNAL", "write NAME=line:TEXT"),
            ("cancle=signal:SIGINT", "did you mean `cancel`?"),
            ("cancel=signal:", "no text after `signal:`"),
            ("cancel=singal:SIGINT", "did you mean `signal`?"),
            ("cancel=hook: ", "the hook has no command"),
            ("cancel=hook:a 'b", "cannot be split into words"),
            ("load=line:{sesionId}", "did you mean `{sessionId}`?"),
            ("close=line:/close", "write {sessionId}"),
        ] {
            let problem = parse_act(text).expect_err(text);
            assert!(problem.contains(wanted), "{problem}");
        }
        for (text, wanted) in [
            ("permission-allow", "write NAME=WORDS"),
            ("permission-alow=-y", "did you mean `permission-allow`?"),
            ("directories=--add {dirs}", "the places here are: `{directories}`"),
            ("permission-allow={prompt}", "this text takes no placeholders"),
            ("permission-allow=\"-y", "cannot be split into words"),
        ] {
            let problem = parse_setting(text).expect_err(text);
            assert!(problem.contains(wanted), "{problem}");
        }
    }
}
