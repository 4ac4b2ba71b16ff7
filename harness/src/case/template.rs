//! Names in text: `<cwd>/new.txt`, and the values of the names.
//!
//! A name is a lower-case letter followed by lower-case letters, digits and hyphens, between angle brackets. Other text
//! with angle brackets stays unchanged, and `<lt>` is a literal `<`.

use std::collections::BTreeMap;

use serde_json::Value;

/// Text that may contain names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<TemplatePart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Name(String),
}

impl Template {
    /// Splits text. Every text is a template; many have no names.
    pub fn parse(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('<') {
            plain.push_str(&rest[..at]);
            rest = &rest[at..];
            match name_at_start(rest) {
                Some("lt") => {
                    plain.push('<');
                    rest = &rest["<lt>".len()..];
                }
                Some(name) => {
                    if !plain.is_empty() {
                        parts.push(TemplatePart::Text(std::mem::take(&mut plain)));
                    }
                    parts.push(TemplatePart::Name(name.to_owned()));
                    rest = &rest[name.len() + 2..];
                }
                None => {
                    plain.push('<');
                    rest = &rest[1..];
                }
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(TemplatePart::Text(plain));
        }
        Self { parts }
    }

    /// Returns the names in the text, in order, including duplicates.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Name(name) => Some(name.as_str()),
            TemplatePart::Text(_) => None,
        })
    }

    /// Returns the name with which the text begins.
    pub fn first_name(&self) -> Option<&str> {
        match self.parts.first() {
            Some(TemplatePart::Name(name)) => Some(name),
            _ => None,
        }
    }

    /// Returns the name, if it is the whole text.
    pub fn single_name(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [TemplatePart::Name(name)] => Some(name),
            _ => None,
        }
    }

    /// Returns the text with every bound name replaced; an unbound name stays unchanged.
    pub fn render(&self, bindings: &Bindings) -> String {
        self.render_with(|name| bindings.get(name))
    }

    pub(crate) fn render_with<'a>(&self, get: impl Fn(&str) -> Option<&'a Value>) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(plain) => text.push_str(plain),
                TemplatePart::Name(name) => match get(name) {
                    Some(Value::String(value)) => text.push_str(value),
                    Some(value) => text.push_str(&value.to_string()),
                    None => text.push_str(&format!("<{name}>")),
                },
            }
        }
        text
    }
}

/// Returns the name at the start of a text, without its brackets.
fn name_at_start(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix('<')?.split_once('>')?;
    is_name(name).then_some(name)
}

/// Whether a word may be used as a name.
pub fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// The values of the names of a case at one point of its run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bindings {
    values: BTreeMap<String, Value>,
}

impl Bindings {
    /// Creates bindings without names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds a name, or replaces its value.
    pub fn set(&mut self, name: impl Into<String>, value: Value) {
        self.values.insert(name.into(), value);
    }

    /// Removes the values of names.
    pub fn remove(&mut self, names: &[String]) {
        names.iter().for_each(|name| drop(self.values.remove(name)));
    }

    /// Returns the value of a name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// Returns every name with its value, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns the value with every bound name in its strings replaced.
    ///
    /// A string that is only a name becomes the value itself, of any type. Names of members are not replaced. An
    /// unbound name stays unchanged; see [`Bindings::unbound`].
    pub fn interpolate(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let template = Template::parse(text);
                match template.single_name().and_then(|name| self.get(name)) {
                    Some(whole) => whole.clone(),
                    None => Value::String(template.render(self)),
                }
            }
            Value::Array(items) => items.iter().map(|item| self.interpolate(item)).collect(),
            Value::Object(members) => {
                Value::Object(members.iter().map(|(key, member)| (key.clone(), self.interpolate(member))).collect())
            }
            other => other.clone(),
        }
    }

    /// Returns the bytes with every bound name replaced by its value as in JSON text, strings without their quotes.
    ///
    /// All other bytes stay unchanged, including `<lt>` and unknown names.
    pub fn interpolate_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|&byte| byte == b'<') {
            out.extend_from_slice(&rest[..at]);
            rest = &rest[at..];
            let end = rest.iter().position(|&byte| byte == b'>').unwrap_or(0);
            let name = rest.get(1..end).and_then(|name| std::str::from_utf8(name).ok());
            if let Some(value) = name.and_then(|name| self.get(name)) {
                let json = value.to_string();
                let quoted = value.is_string();
                out.extend_from_slice(if quoted { &json.as_bytes()[1..json.len() - 1] } else { json.as_bytes() });
                rest = &rest[end + 1..];
            } else {
                out.push(b'<');
                rest = &rest[1..];
            }
        }
        out.extend_from_slice(rest);
        out
    }

    /// Returns the unbound names in the strings of a value, each once.
    pub fn unbound(&self, value: &Value) -> Vec<String> {
        let mut missing = Vec::new();
        let mut todo = vec![value];
        while let Some(value) = todo.pop() {
            match value {
                Value::String(text) => {
                    for name in Template::parse(text).names() {
                        if self.get(name).is_none() && !missing.iter().any(|known| known == name) {
                            missing.push(name.to_owned());
                        }
                    }
                }
                Value::Array(items) => todo.extend(items.iter().rev()),
                Value::Object(members) => todo.extend(members.values().rev()),
                _ => {}
            }
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bindings() -> Bindings {
        let mut bindings = Bindings::new();
        bindings.set("cwd", json!("/w"));
        bindings.set("n", json!(7));
        bindings.set("list", json!([1, 2]));
        bindings
    }

    #[test]
    fn whole_names_keep_their_kind_and_others_become_text() {
        let value = json!({"a": "<list>", "b": "<cwd>/x-<n>", "c": "<lt>cwd> <x", "d": "<other>"});
        let want = json!({"a": [1, 2], "b": "/w/x-7", "c": "<cwd> <x", "d": "<other>"});
        assert_eq!(bindings().interpolate(&value), want);
        assert_eq!(bindings().unbound(&value), ["other"]);
    }

    #[test]
    fn bytes_keep_everything_but_bound_names() {
        let mut bindings = bindings();
        bindings.set("q", json!("a\"b"));
        let raw = b"<lt><q>\xff<n><html><cwd";
        assert_eq!(bindings.interpolate_bytes(raw), b"<lt>a\\\"b\xff7<html><cwd");
    }
}
