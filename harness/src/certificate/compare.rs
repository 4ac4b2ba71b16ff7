//! Compares two JSON documents for people.

use serde_json::Value;

/// The longest text that is quoted whole.
const LONGEST: usize = 120;

/// The most differences that are listed.
const MOST: usize = 10;

/// Lists the parts that only one of the documents has, one per line.
pub(super) fn differences(is: &Value, wanted: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", Some(is), Some(wanted), &mut found);
    found
}

fn compare(path: &str, is: Option<&Value>, wanted: Option<&Value>, found: &mut Vec<String>) {
    if found.len() >= MOST || is == wanted {
        return;
    }
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match (is, wanted) {
        (Some(Value::Object(is)), Some(Value::Object(wanted))) => {
            for (name, value) in is {
                compare(&below(name), Some(value), wanted.get(name), found);
            }
            for (name, value) in wanted.iter().filter(|(name, _)| !is.contains_key(*name)) {
                compare(&below(name), None, Some(value), found);
            }
        }
        (Some(Value::Array(is)), Some(Value::Array(wanted))) => {
            for at in 0..is.len().max(wanted.len()) {
                compare(&format!("{path}[{at}]"), is.get(at), wanted.get(at), found);
            }
        }
        (Some(is), Some(wanted)) => {
            found.push(format!("`{}` is {}, and would be {}", shown(path), quoted(is), quoted(wanted)));
        }
        (Some(is), None) => found.push(format!("`{}` is {}, and would not be there", shown(path), quoted(is))),
        (None, Some(wanted)) => {
            found.push(format!("`{}` is not there, and would be {}", shown(path), quoted(wanted)));
        }
        (None, None) => {}
    }
}

fn quoted(value: &Value) -> String {
    shown(&value.to_string())
}

/// Prepares a foreign text for one line of a terminal: without control characters, and shortened.
#[must_use]
pub fn shown(text: &str) -> String {
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut cut: String = text.chars().take(LONGEST).map(plain).collect();
    if cut.len() < text.len() && text.chars().nth(LONGEST).is_some() {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_are_told_with_their_place() {
        let is = json!({ "a": { "b": [1, 2] }, "c": "\u{1b}[2J", "d": true });
        let wanted = json!({ "a": { "b": [1, 3] }, "c": "x", "e": null });
        let told = [
            "`a.b[1]` is 2, and would be 3",
            r#"`c` is "\u001b[2J", and would be "x""#,
            "`d` is true, and would not be there",
            "`e` is not there, and would be null",
        ];
        assert_eq!(differences(&is, &wanted), told);
        assert_eq!(differences(&is, &is), [""; 0]);
    }

    #[test]
    fn nobody_writes_on_the_terminal() {
        assert_eq!(shown("a\u{1b}[2J\u{9b}\nb"), "a\u{fffd}[2J\u{fffd}\u{fffd}b");
        assert_eq!(shown(&"é".repeat(LONGEST + 1)), format!("{}…", "é".repeat(LONGEST)));
    }
}
