//! Changes one message: its members by JSON pointer, and texts with placeholders.

use serde_json::{Map, Value};

/// Removes the member at a pointer and returns it; `None` if it is missing.
pub(super) fn take(message: &mut Value, pointer: &str) -> Option<Value> {
    let (parent, key) = split(pointer)?;
    match message.pointer_mut(parent)? {
        Value::Object(members) => members.shift_remove(&key),
        Value::Array(items) => {
            let index = key.parse::<usize>().ok().filter(|&index| index < items.len())?;
            Some(items.remove(index))
        }
        _ => None,
    }
}

/// Sets the value at a pointer, and returns whether that changed the message; it creates missing objects on the way,
/// but no lists.
pub(super) fn put(message: &mut Value, pointer: &str, value: Value) -> bool {
    let Some((parent, key)) = split(pointer) else { return false };
    let item = key == "-" || key.parse::<usize>().is_ok();
    if !item && message.pointer(parent).is_none_or(Value::is_null) && !parent.is_empty() {
        put(message, parent, Value::Object(Map::new()));
    }
    match message.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            let old = members.insert(key, value.clone());
            old.as_ref() != Some(&value)
        }
        Some(Value::Array(items)) if key == "-" => {
            items.push(value);
            true
        }
        Some(Value::Array(items)) => {
            let item = key.parse::<usize>().ok().and_then(|index| items.get_mut(index));
            item.is_some_and(|item| std::mem::replace(item, value.clone()) != value)
        }
        _ => false,
    }
}

/// Splits a pointer into the pointer of the parent and the last token.
fn split(pointer: &str) -> Option<(&str, String)> {
    let (parent, key) = pointer.rsplit_once('/')?;
    Some((parent, key.replace("~1", "/").replace("~0", "~")))
}

/// Fills the placeholders of a text; inserted values are not scanned again.
pub(super) fn fill(text: &str, values: &[(&str, String)]) -> String {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match values.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                filled.push_str(value);
                name.len()
            }
            None => {
                filled.push('{');
                1
            }
        };
        rest = &rest[length..];
    }
    filled + rest
}

/// Encodes text as Latin-1; other characters become question marks.
pub(super) fn latin_1(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_go_and_come() {
        let mut message = json!({"result": {"a": [1, 2], "x/y": 0}});
        assert_eq!(take(&mut message, "/result/x~1y"), Some(json!(0)));
        assert_eq!(take(&mut message, "/result/a/0"), Some(json!(1)));
        assert_eq!(take(&mut message, "/result/b"), None);
        assert!(put(&mut message, "/result/a/-", json!(3)));
        assert!(put(&mut message, "/result/a/0", json!(0)));
        assert!(!put(&mut message, "/result/a/0", json!(0)), "it had that value");
        assert!(!put(&mut message, "/result/a/7", json!(0)), "no item 7");
        assert!(put(&mut message, "/result/_meta/deep", json!(true)));
        assert!(!put(&mut message, "/result/list/0/deep", json!(true)), "no item 0");
        assert_eq!(message, json!({"result": {"a": [0, 3], "_meta": {"deep": true}}}));
    }

    #[test]
    fn places_are_filled_once() {
        let values = [("{id}", "7".to_owned()), ("{message}", "{\"id\":\"{id}\"}".to_owned())];
        assert_eq!(fill("[{message},{\"id\":{id}}]{", &values), "[{\"id\":\"{id}\"},{\"id\":7}]{");
    }

    #[test]
    fn latin_1_has_one_byte_for_each_character() {
        assert_eq!(latin_1("é€"), [0xE9, b'?']);
    }
}
