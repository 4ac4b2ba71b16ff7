//! Fills the arguments of a tool by its JSON Schema.

use serde_json::{Map, Value, json};

/// The depth to which a schema is followed.
const DEEPEST: usize = 8;

/// The text of a required member of unknown meaning; short enough for the limit that agents set for a heading.
const ANY_TEXT: &str = "conformance";

/// The meaning of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Path,
    /// The number of the first line to read.
    First,
    /// The number of lines to read.
    Count,
    Content,
    Old,
    New,
    Command,
    Pattern,
    Patch,
    /// The time limit of a command, in seconds.
    Brief,
    /// The time to watch a command before it continues in the background, in seconds.
    Patience,
    /// The steps of a plan, each with `step`, `state` and `number`.
    Steps,
    /// The action of a tool with several actions.
    Verb,
    /// A program.
    Code,
    /// The task of a subagent, in words.
    Prompt,
    /// The kind of a subagent.
    Helper,
}

impl Meaning {
    /// Returns the names of members with this meaning, the likeliest first, in lower case and without separators.
    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Path => {
                &["filepath", "absolutepath", "targetfile", "path", "filename", "file", "uri", "paths", "files"]
            }
            // Some agents count an `offset` from zero and others from one.
            Self::First => &["line", "startline"],
            Self::Count => &["limit", "linecount"],
            Self::Content => &["content", "contents", "filetext", "filecontent", "text"],
            Self::Old => &["oldstring", "oldstr", "oldtext", "search", "old"],
            Self::New => &["newstring", "newstr", "newtext", "replacement", "replace", "new"],
            Self::Command => &["command", "cmd", "script", "commandline", "input", "commands"],
            Self::Pattern => &["pattern", "query", "regex", "regexp", "search", "text"],
            Self::Patch => &["input", "patch", "patchtext", "command"],
            Self::Brief => &["timeout", "timeoutms", "timeoutseconds", "timeoutsecs"],
            Self::Patience => &["yieldtimems", "yieldtime"],
            Self::Verb => &["action", "operation"],
            Self::Code => &["code", "script", "source"],
            Self::Prompt => &["prompt", "task", "message", "instructions"],
            Self::Helper => &["subagenttype", "agenttype"],
            Self::Steps => &["todos", "plan", "steps", "items", "entries", "todolist", "tasks"],
        }
    }
}

/// Builds an object that fits the schema of a tool: it has the wanted values in the members with their meaning, and all
/// other required members.
pub(super) fn object(schema: &Value, wanted: &[(Meaning, Value)]) -> Value {
    let filler = Filler { root: schema };
    let mut members = Map::new();
    for (meaning, value) in wanted {
        let known = |name: &&String| !members.contains_key(*name);
        let mut names = meaning.names().iter();
        let found = names.find_map(|name| filler.properties(schema).find(|(p, _)| plain(p) == *name && known(p)));
        if let Some((name, member)) = found {
            members.insert(name.clone(), filler.fitted(member, *meaning, value));
        }
    }
    filler.complete(schema, &mut members, 0);
    Value::Object(members)
}

pub(super) fn member(schema: &Value, meaning: Meaning) -> Option<(&String, &Value)> {
    let filler = Filler { root: schema };
    let found = |name: &&str| filler.properties(schema).find(|(property, _)| plain(property) == *name);
    let (name, member) = meaning.names().iter().find_map(found)?;
    Some((name, filler.resolved(member)))
}

/// Returns the member of a schema with one of these names.
pub(super) fn named<'s>(schema: &'s Value, names: &[&str]) -> Option<&'s Value> {
    let filler = Filler { root: schema };
    let mut members = filler.properties(schema);
    members.find(|(property, _)| names.contains(&plain(property).as_str())).map(|(_, member)| filler.resolved(member))
}

/// Returns the type of a member; the first one other than null if there are several.
pub(super) fn kind(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or_default()
        }
        _ if schema.get("properties").is_some() => "object",
        _ => "",
    }
}

/// Returns a name in lower case and without separators.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

struct Filler<'s> {
    root: &'s Value,
}

impl<'s> Filler<'s> {
    /// Resolves the references of a schema, and chooses the first alternative other than null.
    fn resolved(&self, schema: &'s Value) -> &'s Value {
        let mut schema = schema;
        for _ in 0..DEEPEST {
            let target = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#'));
            let target = target.and_then(|path| self.root.pointer(path));
            let choices = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema.get(key)?.as_array());
            let choice = choices.and_then(|all| all.iter().find(|choice| choice.get("type") != Some(&json!("null"))));
            match target.or(choice) {
                Some(next) => schema = next,
                None => break,
            }
        }
        schema
    }

    fn properties(&self, schema: &'s Value) -> impl Iterator<Item = (&'s String, &'s Value)> {
        self.resolved(schema).get("properties").and_then(Value::as_object).into_iter().flatten()
    }

    /// Converts a wanted value to the form of a member.
    fn fitted(&self, member: &'s Value, meaning: Meaning, value: &Value) -> Value {
        let member = self.resolved(member);
        match (meaning, kind(member).to_ascii_lowercase().as_str()) {
            (Meaning::Steps, "array") => {
                let steps = value.as_array().map_or(&[][..], Vec::as_slice);
                steps.iter().map(|step| self.step(member.get("items").unwrap_or(&Value::Null), step)).collect()
            }
            (Meaning::Steps, _) => json!(checklist(value)),
            (Meaning::Command, "array") => json!(["sh", "-c", value]),
            (Meaning::Brief | Meaning::Patience, _) => self.limit(member, value),
            (Meaning::Verb, _) => {
                chosen(member, &["write", "set", "update", "replace"]).unwrap_or_else(|| value.clone())
            }
            (_, "array") => json!([value]),
            _ => value.clone(),
        }
    }

    /// Converts a time in seconds to the unit that the tool seems to use.
    fn limit(&self, member: &Value, seconds: &Value) -> Value {
        let description = member.get("description").and_then(Value::as_str).unwrap_or_default().to_lowercase();
        let thousandths = description.contains("millisecond") || description.contains(" ms");
        if thousandths { json!(seconds.as_u64().unwrap_or(1) * 1000) } else { seconds.clone() }
    }

    /// Converts a step of a plan to an item of the tool's list.
    fn step(&self, item: &'s Value, step: &Value) -> Value {
        let item = self.resolved(item);
        if kind(item).eq_ignore_ascii_case("string") {
            return step["step"].clone();
        }
        let mut members = Map::new();
        for (name, member) in self.properties(item) {
            let member = self.resolved(member);
            let value = match plain(name).as_str() {
                "content" | "step" | "title" | "description" | "task" | "text" | "activeform" | "name" => {
                    step["step"].clone()
                }
                "status" | "state" => allowed(member, &step["state"]),
                "id" if kind(member).eq_ignore_ascii_case("string") => json!(step["number"].to_string()),
                "id" => step["number"].clone(),
                _ => continue,
            };
            members.insert(name.clone(), value);
        }
        self.complete(item, &mut members, 0);
        Value::Object(members)
    }

    /// Adds the other required members.
    fn complete(&self, schema: &'s Value, members: &mut Map<String, Value>, depth: usize) {
        let required = self.resolved(schema).get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !members.contains_key(name) {
                let member = self.properties(schema).find(|(property, _)| *property == name).map(|(_, member)| member);
                members.insert(
                    name.to_owned(),
                    member.map_or_else(|| json!(ANY_TEXT), |member| self.any(member, depth + 1)),
                );
            }
        }
    }

    /// Returns some value that fits.
    fn any(&self, schema: &'s Value, depth: usize) -> Value {
        let schema = self.resolved(schema);
        if let Some(value) = ["const", "default"].iter().find_map(|key| schema.get(key)) {
            return value.clone();
        }
        if let Some(first) = schema.get("enum").and_then(Value::as_array).and_then(|values| values.first()) {
            return first.clone();
        }
        match kind(schema).to_ascii_lowercase().as_str() {
            "object" if depth < DEEPEST => {
                let mut members = Map::new();
                self.complete(schema, &mut members, depth);
                Value::Object(members)
            }
            "object" => json!({}),
            "array" => {
                let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(1).min(DEEPEST as u64);
                let item = schema.get("items").filter(|_| depth < DEEPEST);
                let one = |item: &'s Value, number| numbered(self.any(item, depth + 1), number);
                item.map_or_else(|| json!([]), |item| (1..=least).map(|number| one(item, number)).collect())
            }
            "boolean" => json!(false),
            "integer" | "number" => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
            "null" => Value::Null,
            _ => json!(ANY_TEXT),
        }
    }
}

/// Makes the texts of a list item unique, since agents refuse choices with equal names.
fn numbered(item: Value, number: u64) -> Value {
    match item {
        Value::String(text) if text == ANY_TEXT && number > 1 => json!(format!("{text} {number}")),
        Value::Array(items) => items.into_iter().map(|item| numbered(item, number)).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, numbered(value, number))).collect(),
        other => other,
    }
}

/// Converts the state of a step to one that the tool allows.
fn allowed(member: &Value, state: &Value) -> Value {
    let Some(values) = member.get("enum").and_then(Value::as_array) else { return state.clone() };
    let name = plain(state.as_str().unwrap_or_default());
    let others: &[&str] = match name.as_str() {
        "inprogress" => &["inprogress", "active", "doing"],
        "completed" => &["completed", "done", "complete"],
        _ => &["pending", "todo", "open"],
    };
    chosen(member, others).or(values.first().cloned()).unwrap_or(Value::Null)
}

/// Returns the allowed value of a member that has one of these names.
fn chosen(member: &Value, names: &[&str]) -> Option<Value> {
    let values = member.get("enum").and_then(Value::as_array)?;
    values.iter().find(|value| value.as_str().is_some_and(|value| names.contains(&plain(value).as_str()))).cloned()
}

/// Writes the steps of a plan as text.
fn checklist(steps: &Value) -> String {
    let line = |step: &Value| {
        let mark = if step["state"] == "completed" { 'x' } else { ' ' };
        format!("- [{mark}] {}\n", step["step"].as_str().unwrap_or_default())
    };
    steps.as_array().into_iter().flatten().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_wanted_values_by_meaning_and_invents_the_rest() {
        let schema = json!({
            "type": "object",
            "required": ["description", "command", "mode", "count", "deep"],
            "properties": {
                "description": { "type": "string" },
                "command": { "type": "array", "items": { "type": "string" } },
                "timeout": { "type": "number", "description": "in milliseconds" },
                "mode": { "enum": ["fast", "slow"] },
                "count": { "type": ["null", "integer"], "minimum": 3 },
                "deep": { "$ref": "#/$defs/deep" },
                "other": { "type": "string" },
            },
            "$defs": { "deep": { "type": "object", "required": ["on"], "properties": { "on": { "type": "boolean" } } } },
        });
        let filled = object(&schema, &[(Meaning::Command, json!("ls")), (Meaning::Brief, json!(1))]);
        let expected = json!({
            "command": ["sh", "-c", "ls"], "timeout": 1000, "description": ANY_TEXT, "mode": "fast", "count": 3,
            "deep": { "on": false },
        });
        assert_eq!(filled, expected);
    }

    #[test]
    fn plan_takes_the_form_of_the_tool() {
        let steps = json!([{ "step": "Try", "state": "in_progress", "number": 1 }]);
        let list = |item: Value| json!({ "properties": { "todos": { "type": "array", "items": item } } });
        let plan = |schema: &Value| object(schema, &[(Meaning::Steps, steps.clone())])["todos"][0].clone();
        let item = json!({
            "type": "object",
            "required": ["content", "status", "priority", "id"],
            "properties": {
                "content": { "type": "string" }, "id": { "type": "string" },
                "status": { "enum": ["pending", "in-progress", "done"] }, "priority": { "enum": ["high", "low"] },
            },
        });
        let expected = json!({ "content": "Try", "id": "1", "status": "in-progress", "priority": "high" });
        assert_eq!(plan(&list(item)), expected);
        assert_eq!(plan(&list(json!({ "type": "string" }))), json!("Try"));
        let verb = json!({ "properties": { "action": { "enum": ["read", "set"] } } });
        assert_eq!(object(&verb, &[(Meaning::Verb, json!("write"))]), json!({ "action": "set" }));
        let text = json!({ "properties": { "todos": { "type": "string" } } });
        assert_eq!(object(&text, &[(Meaning::Steps, steps.clone())]), json!({ "todos": "- [ ] Try\n" }));
    }

    #[test]
    fn choices_have_different_names() {
        let choice =
            json!({ "type": "object", "required": ["label"], "properties": { "label": { "type": "string" } } });
        let schema = json!({
            "type": "object", "required": ["options"],
            "properties": { "options": { "type": "array", "minItems": 2, "items": choice } },
        });
        let expected = json!({ "options": [{ "label": ANY_TEXT }, { "label": format!("{ANY_TEXT} 2") }] });
        assert_eq!(object(&schema, &[]), expected);
    }

    #[test]
    fn recursive_schema_ends() {
        let schema = json!({
            "type": "object", "required": ["next"],
            "properties": { "next": { "$ref": "#" } },
        });
        assert!(object(&schema, &[]).to_string().len() < 1000);
    }
}
