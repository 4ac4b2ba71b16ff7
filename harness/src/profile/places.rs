//! Places in the texts of a profile: names in braces such as `{cwd}`, for which a value is put in.
//!
//! A place is a lower-case letter followed by letters, digits, `_` and `-`, between braces. Everything else that has
//! braces stays as it is, such as the braces of JSON; so does `${name}`, which is a variable of some other language.

use std::collections::BTreeMap;

use crate::case::ACTS;
use crate::requirement::Party;

/// The text with the value of every place that has one; everything else stays as it is written.
///
/// ```
/// use std::collections::BTreeMap;
/// use acp_conformance::profile::places::fill;
///
/// let values = BTreeMap::from([("cwd".to_owned(), "/w".to_owned()), ("text_json".to_owned(), r#""{cwd}""#.to_owned())]);
/// assert_eq!(fill("{cwd}/{name}/${cwd}", &values), "/w/{name}/${cwd}");
/// assert_eq!(fill(r#"{"say":{text_json}}"#, &values), r#"{"say":"{cwd}"}"#);
/// ```
#[must_use]
pub fn fill(text: &str, values: &BTreeMap<String, String>) -> String {
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

/// The words of a text that look like places, in order.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    found(text).map(|(_, word)| word)
}

/// What looks like a place, with where its brace opens.
fn found(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let braces = text.match_indices('{').filter(|(at, _)| !text[..*at].ends_with('$'));
    braces.filter_map(|(at, _)| Some((at, word_at_start(&text[at..])?)))
}

/// The word of the place at the very start of a text, without its braces.
fn word_at_start(text: &str) -> Option<&str> {
    let (word, _) = text.strip_prefix('{')?.split_once('}')?;
    let letters = word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    (letters && word.starts_with(|c: char| c.is_ascii_lowercase())).then_some(word)
}

/// The place of the origin of the scripted model.
pub(crate) const MODEL: &str = "model";

/// The place of the folder that all cases of a run share.
pub(crate) const CACHE: &str = "cache";

/// The places that give a client its agent, of which it needs one.
pub(crate) const AGENT: [&str; 3] = ["agent", "agent_json", "agent_dir"];

/// The word of a client's command that stands for the words of its settings.
pub(crate) const ARGS: &str = "args";

/// The places of a command, an environment and a HOME.
pub(crate) fn of_a_start(kind: Party) -> Vec<String> {
    let names: &[&str] = match kind {
        Party::Agent => &["home", CACHE, MODEL],
        Party::Client => &["agent", "agent_json", "agent_dir", "cwd", "home", CACHE, "prompt", "prompt_json"],
    };
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The places of an act: its arguments, each also as JSON and by its name, and the directories and the agent.
pub(crate) fn of_an_act(act: &str) -> Vec<String> {
    let arguments = ACTS.into_iter().find(|(name, _)| *name == act).map_or(&[][..], |(_, arguments)| arguments);
    let arguments = arguments.iter().map(|name| name.trim_start_matches('?'));
    let places = arguments.flat_map(|name| [name.to_owned(), format!("{name}_json"), format!("{name}_name")]);
    places.chain(["cwd", "home", "agent"].map(str::to_owned)).collect()
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
