//! Writes values in one line, in the style of the case files.

use serde_json::Value;

/// Writes a value in the flow style of YAML, with as few quotes as possible.
pub(super) fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let members: Vec<_> =
                members.iter().map(|(key, member)| format!("{}: {}", scalar(key), flow(member))).collect();
            format!("{{ {} }}", members.join(", "))
        }
        other => other.to_string(),
    }
}

/// Writes a text, quoted if YAML would read it as another value.
pub(super) fn scalar(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

/// Quotes a text. JSON allows some raw characters that YAML does not allow, or that end a line of it.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    for c in Value::from(text).to_string().chars() {
        match c {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted
}

/// Whether YAML reads the bare word as this exact text.
fn is_plain(text: &str) -> bool {
    const RESERVED: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || "<_/".contains(c));
    let inside = text.chars().all(|c| c.is_ascii_alphanumeric() || "<>_/.+-".contains(c) || c == ' ');
    begins && inside && !text.ends_with(' ') && !RESERVED.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_cases_have_them() {
        let value = json!({ "id": "turn", "params": { "path": "<cwd>/a.txt", "line": 2, "x": [], "o": {} }, "text": "a\nb: c", "ok": "yes" });
        assert_eq!(
            flow(&value),
            r#"{ id: turn, params: { path: <cwd>/a.txt, line: 2, x: [], o: {} }, text: "a\nb: c", ok: "yes" }"#
        );
        assert_eq!(scalar("é\u{7f}\u{2028}"), r#""é\u007f\u2028""#);
    }
}
