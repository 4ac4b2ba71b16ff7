//! The open sets of strings of a schema: each member with the values that the schema defines for it.
//!
//! Version 2 lets a party add values of its own to these sets, with a leading underscore. JSON Schema accepts any
//! string there, so the rule is checked here.

use serde_json::Value;

use super::names::NameMap;
use super::problem::Problem;
use super::walk::Parts;

/// The members whose values are open sets, by the definition that has them and the name.
#[derive(Default)]
pub(super) struct OpenSets(NameMap<&'static str, Vec<(&'static str, Vec<&'static Value>)>>);

impl OpenSets {
    /// Reads them out of the definitions.
    pub(super) fn of(root: &'static Value) -> Self {
        let definitions = || root.get("$defs").and_then(Value::as_object).into_iter().flatten();
        let enums: NameMap<&str, Vec<&'static Value>> =
            definitions().filter_map(|(name, definition)| Some((name.as_str(), strings(definition)?))).collect();
        let mut sets = Self::default();
        for (name, definition) in definitions() {
            let properties = definition.get("properties").and_then(Value::as_object).into_iter().flatten();
            let named = properties
                .filter_map(|(member, schema)| Some((member.as_str(), enums.get(referred(schema)?)?.clone())));
            let tagged = tags(definition);
            let members: Vec<_> = named.chain(tagged).collect();
            if !members.is_empty() {
                sets.0.insert(name.as_str(), members);
            }
        }
        sets
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the values that are neither defined nor begin with an underscore.
    pub(super) fn problems(&self, parts: &Parts<'_>) -> Vec<Problem> {
        let mut problems = Vec::new();
        for member in &parts.members {
            let sets = self.0.get(member.owner).into_iter().flatten();
            let Some((_, defined)) = sets.into_iter().find(|(name, _)| *name == member.name) else { continue };
            let list = member.value.as_array().map_or(std::slice::from_ref(member.value), Vec::as_slice);
            for value in list {
                let is_own = value.as_str().is_none_or(|text| text.starts_with('_'));
                if !is_own && !defined.contains(&value) {
                    problems.push(Problem::not_in_open_set(member.at(), value, defined));
                }
            }
        }
        problems
    }
}

/// The strings of an open enumeration: each in a branch of its own, next to one for any other string.
fn strings(definition: &'static Value) -> Option<Vec<&'static Value>> {
    let branches = definition.get("anyOf")?.as_array()?;
    let of_strings = branches.iter().all(|branch| branch.get("type").is_some_and(|kind| kind == "string"));
    let is_open = branches.iter().any(|branch| branch.get("const").is_none());
    (of_strings && is_open).then(|| branches.iter().filter_map(|branch| branch.get("const")).collect())
}

/// The tag of an open union with its values: each in a branch of its own, next to one for any other tag.
fn tags(definition: &'static Value) -> Option<(&'static str, Vec<&'static Value>)> {
    let branches = definition.get("anyOf")?.as_array()?;
    branches.iter().find(|branch| branch.get("not").is_some())?;
    let tag_of = |branch: &'static Value| {
        let properties = branch.get("properties")?.as_object()?;
        properties.iter().find_map(|(name, schema)| Some((name.as_str(), schema.get("const")?)))
    };
    let (name, _) = branches.iter().find_map(tag_of)?;
    Some((name, branches.iter().filter_map(tag_of).map(|(_, value)| value).collect()))
}

/// The definition that a member refers to: directly, described, nullable or as the item of a list.
fn referred(schema: &'static Value) -> Option<&'static str> {
    let direct = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix("#/$defs/"));
    let inner = || {
        let lists = ["allOf", "anyOf"].into_iter().filter_map(|name| schema.get(name)?.as_array()).flatten();
        lists.chain(schema.get("items")).find_map(referred)
    };
    direct.or_else(inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::protocol::{ProblemKind, Schema};

    #[test]
    fn values_of_open_sets_need_an_underscore() {
        let root: Value =
            serde_json::from_str(include_str!("../../../../schemas/acp/2026-11-20/v2/schema.json")).expect("JSON");
        let schema = Schema::new(root).with_open_sets();
        let update = |body: Value| json!({ "sessionId": "s", "update": body });
        let tool = |kind: &str| update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "t", "kind": kind }));
        let idle =
            |reason: &str| update(json!({ "sessionUpdate": "state_update", "state": "idle", "stopReason": reason }));
        let cases = [
            (tool("read"), ""),
            (tool("_mine"), ""),
            (tool("mine"), "/update/kind"),
            (update(json!({ "sessionUpdate": "tool_call", "toolCallId": "t" })), "/update/sessionUpdate"),
            (update(json!({ "sessionUpdate": "_mine", "kind": "mine" })), ""),
            (idle("end_turn"), ""),
            (idle("stop"), "/update/stopReason"),
            (update(json!({ "sessionUpdate": "state_update", "state": "busy" })), "/update/state"),
            (
                update(json!({ "sessionUpdate": "agent_message", "messageId": "m", "content": [{ "type": "video" }] })),
                "/update/content/0/type",
            ),
        ];
        for (value, at) in cases {
            let problems = schema.problems("UpdateSessionNotification", &value);
            let places: Vec<&str> = problems.iter().map(|problem| problem.at.as_str()).collect();
            assert_eq!(places.join(" "), at, "{value}");
            assert!(problems.iter().all(|problem| problem.kind == ProblemKind::NotInSet));
        }
    }

    #[test]
    fn problems_point_into_the_branch_that_the_tag_chose() {
        let root: Value =
            serde_json::from_str(include_str!("../../../../schemas/acp/2026-11-20/v2/schema.json")).expect("JSON");
        let schema = Schema::new(root).with_open_sets();
        let update = |body: Value| json!({ "sessionId": "s", "update": body });
        let cases = [
            (update(json!({ "sessionUpdate": "agent_message_chunk" })), "/update/content /update/messageId"),
            (
                update(json!({ "sessionUpdate": "plan_update", "plan": { "type": "items" } })),
                "/update/plan/entries /update/plan/planId",
            ),
            (update(json!({ "sessionUpdate": "plan_update", "plan": { "planId": "p" } })), "/update/plan/type"),
            (update(json!({ "sessionUpdate": "notice", "severity": "info", "title": "" })), "/update/title"),
        ];
        for (value, at) in cases {
            let mut places: Vec<String> =
                schema.problems("UpdateSessionNotification", &value).into_iter().map(|problem| problem.at).collect();
            places.sort();
            assert_eq!(places.join(" "), at, "{value}");
        }
    }
}
