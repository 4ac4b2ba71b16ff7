//! Decides how a string is replaced, by its place in a message.

use std::ops::Range;

use super::words;
use crate::protocol::Edition;

/// The context of a whole line.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LineKind {
    /// Whether it belongs to an extension method, whose payload is unknown.
    pub(super) is_own: bool,
    /// Whether it belongs to `initialize`, where programs describe themselves and not their users.
    pub(super) is_introduction: bool,
}

/// The treatment of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It stays.
    Stays,
    /// It stays if it has the form of an id; otherwise it is replaced.
    Id,
    /// It is replaced; base64 stays base64, and other text does not become base64.
    Media,
    /// It is replaced, and remains a URL of the same kind.
    Url,
    /// It is replaced, except for the words of an error.
    Error,
    /// It is replaced, except for the words of a tool's report.
    Report,
    /// It is replaced, except for the words of a patch.
    Patch,
    /// It is replaced.
    Text,
}

/// The longest word of the protocol.
const LONGEST_WORD: usize = 64;

/// The longest scheme of a URL.
const LONGEST_SCHEME: usize = 16;

/// The member with the type of a content.
const MIME: &str = "mimeType";

/// The longest id.
const LONGEST_ID: usize = 128;

/// Returns the treatment of a value in these members, the innermost last.
pub(super) fn of_value(members: &[String], text: &str, setting: LineKind, edition: &Edition) -> Fate {
    let names: Vec<&str> = members.iter().map(String::as_str).collect();
    let Some((&name, around)) = names.split_last() else { return Fate::Text };
    if name == "required" && is_name(text, around, setting, edition) || is_timestamp(name, text) {
        return Fate::Stays;
    }
    if is_free(around, setting) || words::FREE.contains(&name) {
        return match names.first() {
            _ if name == words::TRACE_CONTEXT[0] && is_hex(text) => Fate::Stays,
            Some(&"error") => Fate::Error,
            _ if name == "rawOutput" || around.contains(&"rawOutput") => Fate::Report,
            _ => Fate::Text,
        };
    }
    match around {
        ["params" | "result" | "error", ..] | [] if is_word(name) && looks_like_a_word(text) => Fate::Stays,
        _ if name == MIME && is_mime(text) => Fate::Stays,
        [.., "agentInfo" | "clientInfo"] | ["params" | "result", "info"] if text.len() <= LONGEST_WORD => Fate::Stays,
        _ if words::IDS.contains(&name) => Fate::Id,
        [] => Fate::Text,
        ["params"] | [.., "configOptions" | "options"] if words::VALUES.contains(&name) => Fate::Id,
        ["error", ..] => Fate::Error,
        [.., "patch"] if name == "text" => Fate::Patch,
        ["params", "update", "content", ..] if name == "text" => Fate::Report,
        _ if matches!(name, "data" | "blob") => Fate::Media,
        _ if matches!(name, "url" | "uri" | "src") => Fate::Url,
        _ => Fate::Text,
    }
}

/// Whether the name of a member in these members stays.
pub(super) fn is_name(name: &str, around: &[impl AsRef<str>], setting: LineKind, edition: &Edition) -> bool {
    let around: Vec<&str> = around.iter().map(AsRef::as_ref).collect();
    let is_field = matches!(around.as_slice(), [.., "requestedSchema", "properties"] | ["result", "content"]);
    let is_free = is_field || is_free(&around, setting);
    !is_free || setting.is_introduction || edition.member_names.contains(name) || words::TRACE_CONTEXT.contains(&name)
}

/// Whether the content of these members is unknown to everyone except the two programs.
fn is_free(around: &[&str], setting: LineKind) -> bool {
    let own = setting.is_own && matches!(around.first(), Some(&("params" | "result")));
    own || around.iter().any(|name| words::FREE.contains(name)) || around.starts_with(&["error", "data"])
}

fn is_word(name: &str) -> bool {
    words::OF_THE_PROTOCOL.contains(&name) || name == words::TYPE
}

/// Whether a text may stay as a word of the protocol.
pub(super) fn looks_like_a_word(text: &str) -> bool {
    text.len() <= LONGEST_WORD && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-/.$".contains(&byte))
}

fn is_mime(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"/.+-;= ".contains(&byte);
    text.len() <= LONGEST_WORD && text.bytes().all(is_part)
}

/// Whether a text may stay as an id: it is not a path, an address or a sentence. Some ids are strange on purpose, to reveal
/// programs that change them.
pub(super) fn looks_like_an_id(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let separators: usize = ["/", "\\", "%2f", "%5c"].map(|separator| lower.matches(separator).count()).iter().sum();
    let blanks = text.chars().filter(|c| c.is_whitespace()).count();
    let is_path = separators > 1 || text.starts_with(['/', '\\', '~']);
    text.len() <= LONGEST_ID && !is_path && blanks <= 3 && !text.contains('@') && !text.contains(char::is_control)
}

fn is_timestamp(name: &str, text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    name.ends_with("At") && digits >= 4 && text.bytes().all(|b| b.is_ascii_digit() || b"-:.,+TtWZz ".contains(&b))
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Returns the parts of a URL that stay: its scheme, a loopback host, and names in its query that mark a secret.
pub(super) fn shown_of_url(url: &str) -> Vec<Range<usize>> {
    let mut shown = Vec::new();
    let Some((scheme, rest)) = url.split_once(':') else { return shown };
    if scheme.len() <= LONGEST_SCHEME
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    {
        shown.push(0..scheme.len());
    }
    let host = url.len() - rest.trim_start_matches('/').len();
    for local in ["localhost", "127.", "[::1]"].iter().filter(|local| url[host..].starts_with(**local)) {
        shown.push(host..host + local.len());
    }
    let mut start = url.find('?').map_or(url.len(), |at| at + 1);
    for pair in url[start..].split('&') {
        let name = pair.split('=').next().unwrap_or_default();
        if words::OF_A_QUERY.contains(&name) {
            shown.push(start..start + name.len());
        }
        start += pair.len() + 1;
    }
    shown
}

/// The number of hexadecimal digits that stay at the beginning of media in that form, since they identify the format.
pub(super) const MAGIC: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_decides() {
        let fate = |path: &str, text: &str| {
            let members: Vec<String> = path.split('/').map(str::to_owned).collect();
            of_value(&members, text, LineKind::default(), crate::testing::v1())
        };
        for (path, text, wanted) in [
            ("method", "session/prompt", Fate::Stays),
            ("params/update/status", "completed", Fate::Stays),
            ("params/update/status", "it went wrong: see below", Fate::Text),
            ("params/update/rawInput/status", "completed", Fate::Text),
            ("params/sessionId", "s-1", Fate::Id),
            ("params/mcpServers/env/value", "hunter2", Fate::Text),
            ("params/mcpServers/headers/value", "hunter2", Fate::Text),
            ("params/value", "gpt", Fate::Id),
            ("result/configOptions/options/value", "gpt", Fate::Id),
            ("params/prompt/text", "hello", Fate::Text),
            ("params/prompt/data", "aGk=", Fate::Media),
            ("error/message", "no", Fate::Error),
            ("error/data/0", "no", Fate::Error),
            ("result/sessions/updatedAt", "2026-01-02T03:04:05Z", Fate::Stays),
            ("params/_meta/traceparent", "00-ab-cd-01", Fate::Stays),
            ("params/_meta/tracestate", "00", Fate::Text),
        ] {
            assert_eq!(fate(path, text), wanted, "{path}");
        }
    }

    #[test]
    fn names_stay_where_a_schema_gives_them() {
        let stays = |path: &str, name: &str, setting| {
            is_name(name, &path.split('/').collect::<Vec<_>>(), setting, crate::testing::v1())
        };
        let (usual, own) = (LineKind::default(), LineKind { is_own: true, is_introduction: false });
        assert!(stays("params/update", "secret", usual));
        assert!(stays("params/update/rawInput", "path", usual));
        assert!(!stays("params/update/rawInput", "secret", usual));
        assert!(!stays("params", "secret", own));
        assert!(stays("params/_meta", "secret", LineKind { is_own: false, is_introduction: true }));
    }

    #[test]
    fn a_url_keeps_what_it_is_judged_by() {
        let url = "http://localhost:80/a?token=x&b=y";
        let shown: Vec<&str> = shown_of_url(url).into_iter().map(|span| &url[span]).collect();
        assert_eq!(shown, ["http", "localhost", "token"]);
        assert!(shown_of_url("no url").is_empty());
    }
}
