//! Members of JSON objects by name.

use serde_json::{Map, Value};

/// Finds members by comparing their names. A map lookup would hash the name, which costs ten times as much in an object
/// with few members, and many checks ask for the same members.
pub trait Members {
    /// Returns the member of this name; `None` as well if this is not an object.
    fn member(&self, name: &str) -> Option<&Value>;

    /// Returns the member with this name, unless it is null, which many programs write for a member that is not there.
    fn given(&self, name: &str) -> Option<&Value> {
        self.member(name).filter(|value| !value.is_null())
    }

    /// Returns the member with this name, if it is a string.
    fn text(&self, name: &str) -> Option<&str> {
        self.member(name)?.as_str()
    }

    /// Returns the items of the member with this name; empty if it is not a list.
    fn list(&self, name: &str) -> &[Value] {
        self.member(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }
}

impl Members for Map<String, Value> {
    fn member(&self, name: &str) -> Option<&Value> {
        /// The most members in objects of the protocol.
        const FEW: usize = 16;
        if self.len() > FEW {
            return self.get(name);
        }
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

impl Members for Value {
    fn member(&self, name: &str) -> Option<&Value> {
        self.as_object()?.member(name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_found_in_small_and_large_objects() {
        let large: Value = (0..100).map(|i| (i.to_string(), json!(i))).collect::<Map<_, _>>().into();
        assert_eq!(large.member("99"), Some(&json!(99)));
        assert_eq!(json!({ "a": 1, "b": null }).member("b"), Some(&Value::Null));
        assert_eq!(json!({ "a": 1, "b": null }).given("b"), None);
        assert_eq!(json!({ "a": 1, "b": null }).given("a"), Some(&json!(1)));
        assert_eq!(json!({ "a": 1 }).member("b"), None);
        assert_eq!(json!(["a"]).member("a"), None);
    }
}
