//! Placeholders in the texts of a profile: names in braces such as `{cwd}` that are replaced by a value.
//!
//! A placeholder is a lower-case letter followed by letters, digits, `_` and `-`, between braces. Other text with
//! braces stays unchanged, such as JSON; so does `${name}`, which is a variable of another language.

use std::collections::BTreeMap;

use crate::case::ACTS;
use crate::requirement::Party;

/// The values of the placeholders in one case, such as `agent` for `{agent}`.
pub type Places = BTreeMap<String, String>;

/// Returns the text with the values of known placeholders; the rest stays unchanged.
///
/// ```
/// use std::collections::BTreeMap;
/// use acp_conformance::profile::places::fill;
///
/// let values = BTreeMap::from([("cwd".to_owned(), "/w".to_owned()), ("text_json".to_owned(),
/// r#""{cwd}""#.to_owned())]); assert_eq!(fill("{cwd}/{name}/${cwd}", &values), "/w/{name}/${cwd}");
/// assert_eq!(fill(r#"{"say":{text_json}}"#, &values), r#"{"say":"{cwd}"}"#);
/// ```
pub fn fill(text: &str, values: &Places) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut done = 0;
    for (at, word) in found(text) {
        if let Some(value) = values.get(word) {
            filled.push_str(&text[done..at]);
            filled.push_str(value);
            done = at + word.len() + 2;
        }
    }
    filled.push_str(&text[done..]);
    filled
}

/// Returns the words of a text that look like placeholders, in order.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    found(text).map(|(_, word)| word)
}

/// Returns the words that look like placeholders, each with the place of its opening brace.
fn found(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let braces = text.match_indices('{').filter(|(at, _)| !text[..*at].ends_with('$'));
    braces.filter_map(|(at, _)| Some((at, word_at_start(&text[at..])?)))
}

/// Returns the word of the placeholder at the start of a text, without its braces.
fn word_at_start(text: &str) -> Option<&str> {
    let (word, _) = text.strip_prefix('{')?.split_once('}')?;
    let letters = word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    (letters && word.starts_with(|c: char| c.is_ascii_lowercase())).then_some(word)
}

/// The placeholder for the origin of the scripted model.
pub(crate) const MODEL: &str = "model";

/// The placeholder for the folder that all cases of a run share.
pub(crate) const CACHE: &str = "cache";

/// The place of the protocol version, such as `v1`.
pub(crate) const PROTOCOL: &str = "protocol";

/// The placeholder for the port at which an agent serves.
pub(crate) const PORT: &str = "port";

/// The placeholder for the address at which the agent of a client serves.
pub(crate) const URL: &str = "url";

/// The places that give a client its agent, of which it needs one.
pub(crate) const AGENT: [&str; 4] = ["agent", "agent_json", "agent_dir", URL];

/// The places of the working directory in an act, also as JSON.
pub(crate) const CWD: [&str; 2] = ["cwd", "cwd_json"];

/// The word of a client's command that is replaced by the words of its settings.
pub(crate) const ARGS: &str = "args";

/// Returns the placeholders of a command, an environment and a HOME.
pub(crate) fn of_a_start(kind: Party) -> Vec<String> {
    let names: &[&str] = match kind {
        Party::Agent => &["home", CACHE, MODEL, PROTOCOL, PORT],
        Party::Client => {
            &["agent", "agent_json", "agent_dir", URL, "cwd", "home", CACHE, "prompt", "prompt_json", PROTOCOL]
        }
    };
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Returns the placeholders of an act: its arguments, each also as JSON, by its name and by its number, and the
/// directories and the agent.
pub(crate) fn of_an_act(act: &str) -> Vec<String> {
    let arguments = ACTS.into_iter().find(|(name, _)| *name == act).map_or(&[][..], |(_, arguments)| arguments);
    let arguments = arguments.iter().map(|name| name.trim_start_matches('?'));
    let places = arguments.flat_map(|name| ["", "_json", "_name", "_number"].map(|form| format!("{name}{form}")));
    places.chain(CWD.into_iter().chain(["home", "agent"]).map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_in_braces_look_like_places() {
        let text = r#"{cwd} {"act":"prompt","text":{text_json}} {} { print } ${shell} {a-b} {Upper} {modeId}{x"#;
        assert_eq!(words(text).collect::<Vec<_>>(), ["cwd", "text_json", "a-b", "modeId"]);
    }
}
