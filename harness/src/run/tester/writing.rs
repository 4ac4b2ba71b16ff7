//! How the tester writes its messages: the ids of its requests, and `_meta` wherever it is allowed.

use serde_json::{Value, json};

use crate::case::model::{Ids, WireSetup};
use crate::protocol::{Edition, Kind};
use crate::requirement::Party;

/// The largest integer that a parser with double precision keeps exactly.
const LARGEST: i64 = 9_007_199_254_740_991;

/// The tester's style of writing in one case.
#[derive(Debug)]
pub struct Writing {
    edition: &'static Edition,
    tester: Party,
    setup: WireSetup,
    /// The number of requests with an id so far.
    count: i64,
    /// Ids that the case chose itself.
    chosen: Vec<Value>,
}

impl Writing {
    /// Creates the style that the setup of the case describes.
    pub fn new(edition: &'static Edition, tester: Party, setup: WireSetup) -> Self {
        Self { edition, tester, setup, count: 0, chosen: Vec::new() }
    }

    /// Switches to the setup of another case. Ids stay unique.
    pub const fn turn_to(&mut self, setup: WireSetup) {
        self.setup = setup;
    }

    /// Records an id that the case chose itself, so that no other request gets it.
    pub fn note_chosen(&mut self, id: &Value) {
        self.chosen.push(id.clone());
    }

    /// Returns a fresh request id.
    pub fn fresh_id(&mut self) -> Value {
        loop {
            let id = self.next_id();
            if !self.chosen.contains(&id) {
                return id;
            }
        }
    }

    fn next_id(&mut self) -> Value {
        let n = self.count;
        self.count += 1;
        match self.setup.ids {
            Ids::Integer => json!(n),
            Ids::Negative => json!(-1 - n),
            Ids::Large => json!(LARGEST - n),
            Ids::Text => json!(format!("request {n}")),
            Ids::Digits => json!(n.to_string()),
        }
    }

    /// Returns the params of a call of the tester, with `_meta` if the case wants it.
    pub fn params(&self, kind: Kind, method: &str, params: Value) -> Value {
        let method = self.edition.methods.find(self.tester, kind, method);
        self.with_meta(method.map(|method| method.params.as_str()), params)
    }

    /// Returns the result for a request of the subject, with `_meta` if the case wants it.
    pub fn result(&self, method: &str, result: Value) -> Value {
        let method = self.edition.methods.find(self.tester.other(), Kind::Request, method);
        self.with_meta(method.and_then(|method| method.result.as_deref()), result)
    }

    fn with_meta(&self, definition: Option<&str>, mut value: Value) -> Value {
        let definition = definition.and_then(|name| self.edition.stable.definition(name));
        let allowed = definition.is_some_and(|definition| definition.pointer("/properties/_meta").is_some());
        if let (true, true, Value::Object(members)) = (self.setup.meta, allowed, &mut value) {
            members.entry("_meta").or_insert_with(|| json!({ "acp-conformance": { "nested": [1, null] } }));
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writing(ids: Ids) -> Writing {
        Writing::new(crate::edition::V1.edition(), Party::Client, WireSetup { ids, meta: true })
    }

    #[test]
    fn ids_have_the_requested_kind() {
        let two = |ids| {
            let mut writing = writing(ids);
            [writing.fresh_id(), writing.fresh_id()]
        };
        assert_eq!(two(Ids::Integer), [json!(0), json!(1)]);
        assert_eq!(two(Ids::Negative), [json!(-1), json!(-2)]);
        assert_eq!(two(Ids::Large), [json!(9_007_199_254_740_991_i64), json!(9_007_199_254_740_990_i64)]);
        assert_eq!(two(Ids::Text), [json!("request 0"), json!("request 1")]);
        assert_eq!(two(Ids::Digits), [json!("0"), json!("1")]);
    }

    #[test]
    fn adds_meta_where_the_schema_allows_it() {
        let writing = writing(Ids::Integer);
        let has_meta = |value: Value| value.get("_meta").is_some();
        assert!(has_meta(writing.params(Kind::Request, "session/new", json!({}))));
        assert!(has_meta(writing.params(Kind::Notification, "session/cancel", json!({}))));
        assert!(has_meta(writing.result("fs/read_text_file", json!({}))));
        assert!(!has_meta(writing.params(Kind::Request, "_acp-conformance/fence", json!({}))));
        assert!(!has_meta(writing.result("fs/write_text_file", Value::Null)));
        let own = json!({ "_meta": null });
        assert_eq!(writing.params(Kind::Request, "session/new", own.clone()), own);
    }
}
