//! Typed access to the parameters of a request; a value that does not fit is refused with -32602.

use serde_json::{Map, Value};

use super::answer::Refusal;

/// The members of one JSON object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Params<'a> {
    members: &'a Map<String, Value>,
}

impl<'a> Params<'a> {
    pub(super) fn new(value: &'a Value) -> Result<Self, Refusal> {
        match value {
            Value::Object(members) => Ok(Self { members }),
            _ => Err(Refusal::invalid("an object was expected")),
        }
    }

    /// Returns the `sessionId`.
    pub(super) fn session(self) -> Result<&'a str, Refusal> {
        self.string("sessionId")
    }

    pub(super) fn string(self, name: &str) -> Result<&'a str, Refusal> {
        self.get(name).and_then(Value::as_str).ok_or_else(|| expected(name, "a string"))
    }

    pub(super) fn object(self, name: &str) -> Result<Self, Refusal> {
        let value = self.get(name).ok_or_else(|| expected(name, "an object"))?;
        Self::new(value).map_err(|_| expected(name, "an object"))
    }

    pub(super) fn array(self, name: &str) -> Result<&'a [Value], Refusal> {
        let array = self.get(name).and_then(Value::as_array);
        array.map(Vec::as_slice).ok_or_else(|| expected(name, "an array"))
    }

    /// Returns a string that may be absent or null.
    pub(super) fn optional_string(self, name: &str) -> Result<Option<&'a str>, Refusal> {
        self.has(name).then(|| self.string(name)).transpose()
    }

    /// Returns an array; absent and null mean an empty one.
    pub(super) fn array_or_empty(self, name: &str) -> Result<&'a [Value], Refusal> {
        if self.has(name) { self.array(name) } else { Ok(&[]) }
    }

    /// Returns a whole number, not negative, that may be absent or null.
    pub(super) fn optional_count(self, name: &str) -> Result<Option<u64>, Refusal> {
        let number = |value: &Value| value.as_u64().ok_or_else(|| expected(name, "a whole number, 0 or greater"));
        self.get(name).map(number).transpose()
    }

    /// Whether the member is present and not null.
    pub(super) fn has(self, name: &str) -> bool {
        self.get(name).is_some()
    }

    fn get(self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }
}

fn expected(name: &str, kind: &str) -> Refusal {
    Refusal::invalid(format!("`{name}` must be {kind}"))
}
