//! One schema file: its definitions, compiled once and lazily, and validation that reports each problem with its place.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind};
use jsonschema::{JsonType, JsonTypeSet, Registry, Validator};
use serde_json::{Value, json};

use super::names::NameMap;
use super::nodes::Nodes;
use super::open_sets::OpenSets;
use super::pointer::{below, escaped};
use super::problem::{Problem, ProblemKind, shorten};
use super::walk::Parts;

/// A loaded schema file.
pub struct Schema {
    root: &'static Value,
    nodes: Nodes,
    registry: OnceLock<Registry<'static>>,
    compiled: NameMap<String, OnceLock<Validator>>,
    /// The open sets whose values are checked; empty where the protocol does not reserve any value.
    open_sets: OpenSets,
}

/// The address of the file in the registry; it is never fetched.
const ADDRESS: &str = "acp:schema";

impl Schema {
    /// Keeps a parsed schema file until the program exits.
    pub fn new(root: Value) -> Self {
        let root: &'static Value = Box::leak(Box::new(root));
        let names = root.get("$defs").and_then(Value::as_object).into_iter().flat_map(|defs| defs.keys());
        let compiled = names.map(|name| (name.clone(), OnceLock::new())).collect();
        Self { root, nodes: Nodes::of(root), registry: OnceLock::new(), compiled, open_sets: OpenSets::default() }
    }

    /// Also reports values of open sets that are neither defined nor begin with an underscore.
    pub fn with_open_sets(mut self) -> Self {
        self.open_sets = OpenSets::of(self.root);
        self
    }

    /// Returns the whole file.
    pub fn root(&self) -> &'static Value {
        self.root
    }

    /// Returns one definition.
    pub fn definition(&self, name: &str) -> Option<&'static Value> {
        self.root.get("$defs").and_then(|defs| defs.get(name))
    }

    /// Splits `value` into the parts that the definition describes; it skips free-form values.
    pub fn parts<'v>(&self, definition: &str, value: &'v Value) -> Parts<'v> {
        self.nodes.parts(definition, value)
    }

    /// Returns every difference of `value` from the definition; empty if it fits or if the definition does not exist.
    pub fn problems(&self, definition: &str, value: &Value) -> Vec<Problem> {
        let Some(validator) = self.validator(definition) else { return Vec::new() };
        let mut problems = if self.open_sets.is_empty() {
            Vec::new()
        } else {
            self.open_sets.problems(&self.parts(definition, value))
        };
        if validator.is_valid(value) {
            return problems;
        }
        for error in validator.iter_errors(value) {
            narrow(&error, &mut problems);
        }
        problems.dedup();
        problems
    }

    fn validator(&self, definition: &str) -> Option<&Validator> {
        let slot = self.compiled.get(definition)?;
        Some(slot.get_or_init(|| {
            let reference = json!({ "$ref": format!("{ADDRESS}#/$defs/{definition}") });
            jsonschema::options()
                .with_registry(self.registry())
                .build(&reference)
                .unwrap_or_else(|error| panic!("vendored schema, definition {definition}: {error}"))
        }))
    }

    fn registry(&self) -> &Registry<'static> {
        self.registry.get_or_init(|| {
            Registry::new()
                .add(ADDRESS, self.root)
                .and_then(|builder| builder.prepare())
                .unwrap_or_else(|error| panic!("vendored schema: {error}"))
        })
    }

    /// Returns the first reference to a missing definition.
    pub(super) fn dangling_reference(&self) -> Option<&'static str> {
        dangling(self.root, self.root)
    }

    /// Returns the names of all members in the definitions of the file.
    pub fn member_names(&self) -> BTreeSet<&'static str> {
        let mut names = BTreeSet::new();
        collect_names(self.root, &mut names);
        names
    }

    /// Whether a definition has this string among its values, or as the tag of one of its branches.
    pub fn has_value(&self, definition: &str, value: &str) -> bool {
        fn has(node: &Value, value: &str) -> bool {
            match node {
                Value::Object(members) => {
                    let is_it = members.get("const").and_then(Value::as_str) == Some(value);
                    is_it || members.values().any(|member| has(member, value))
                }
                Value::Array(items) => items.iter().any(|item| has(item, value)),
                _ => false,
            }
        }
        self.definition(definition).is_some_and(|node| has(node, value))
    }

    /// Returns the methods of the definitions in the list of branches at `pointer`: (method, definition).
    pub(super) fn methods_at(&self, pointer: &str) -> Vec<(String, String)> {
        let branches = self.root.pointer(pointer).and_then(Value::as_array);
        let referred = branches.into_iter().flatten().filter_map(|b| b.pointer("/allOf/0/$ref")?.as_str());
        referred
            .filter_map(|reference| {
                let definition = reference.strip_prefix("#/$defs/")?;
                let method = self.definition(definition)?.get("x-method")?.as_str()?;
                Some((method.to_owned(), definition.to_owned()))
            })
            .collect()
    }
}

fn dangling(node: &'static Value, root: &'static Value) -> Option<&'static str> {
    match node {
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            let lost = |reference: &&str| reference.strip_prefix('#').and_then(|at| root.pointer(at)).is_none();
            reference.filter(lost).or_else(|| members.values().find_map(|member| dangling(member, root)))
        }
        Value::Array(items) => items.iter().find_map(|item| dangling(item, root)),
        _ => None,
    }
}

fn collect_names(node: &'static Value, into: &mut BTreeSet<&'static str>) {
    match node {
        Value::Object(members) => {
            let properties = members.get("properties").and_then(Value::as_object);
            into.extend(properties.into_iter().flat_map(|properties| properties.keys()).map(String::as_str));
            members.values().for_each(|member| collect_names(member, into));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, into)),
        _ => {}
    }
}

/// Converts an error of the validator to problems. Of a union, it uses only the branch that the sender meant.
fn narrow(error: &ValidationError<'_>, into: &mut Vec<Problem>) {
    let at = error.instance_path().as_str().to_owned();
    match error.kind() {
        ValidationErrorKind::OneOfNotValid { context } | ValidationErrorKind::AnyOf { context } => {
            narrow_union(&at, error, context, into);
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            into.push(Problem {
                at: below(&at, &escaped(name)),
                kind: ProblemKind::Missing,
                expected: Vec::new(),
                actual: None,
                value: None,
                message: format!("the member `{name}` is missing"),
            });
        }
        ValidationErrorKind::Type { kind } => into.push(wrong_type(at, kind, error.instance())),
        ValidationErrorKind::Constant { expected_value } => {
            into.push(Problem::not_in_set(at, error.instance(), &[&**expected_value]));
        }
        ValidationErrorKind::Enum { options } => {
            let options: Vec<&Value> = options.as_array().into_iter().flatten().collect();
            into.push(Problem::not_in_set(at, error.instance(), &options));
        }
        _ => into.push(other(at, error)),
    }
}

fn wrong_type(at: String, kind: &TypeKind, value: &Value) -> Problem {
    let expected: Vec<String> = types(kind).map(|expected| expected.to_string()).collect();
    let actual = JsonType::from(value).to_string();
    let value = shorten(value);
    let message = format!("{value} is of type {actual}; expected {}", expected.join(" or "));
    Problem { at, kind: ProblemKind::WrongType, expected, actual: Some(actual), value: Some(value), message }
}

fn types(kind: &TypeKind) -> impl Iterator<Item = JsonType> {
    let types = match kind {
        TypeKind::Single(expected) => JsonTypeSet::from(*expected),
        TypeKind::Multiple(expected) => *expected,
    };
    types.into_iter()
}

fn other(at: String, error: &ValidationError<'_>) -> Problem {
    let actual = shorten(error.instance());
    let message = match error.kind() {
        ValidationErrorKind::Minimum { limit } => format!("{actual} is below the minimum {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("{actual} is above the maximum {limit}"),
        kind => format!("{actual} violates the keyword `{}` of the schema", kind.keyword()),
    };
    let value = Some(actual.clone());
    Problem { at, kind: ProblemKind::Other, expected: Vec::new(), actual: Some(actual), value, message }
}

/// Chooses the branch that the sender meant: the one whose tag fits, or that was not refused at its root.
fn narrow_union(
    at: &str,
    error: &ValidationError<'_>,
    branches: &[Vec<ValidationError<'static>>],
    into: &mut Vec<Problem>,
) {
    let set: Vec<(&str, &Value)> = branches.iter().filter_map(|errors| mismatched_constant(at, errors)).collect();
    let untagged: Vec<_> = branches.iter().filter(|errors| mismatched_constant(at, errors).is_none()).collect();
    // The branch for any other tag refuses a known one, whose own branch says more.
    let excludes = |errors: &&&Vec<ValidationError<'static>>| {
        errors.iter().any(|error| matches!(error.kind(), ValidationErrorKind::Not { .. }))
    };
    let others = untagged.iter().filter(|errors| !excludes(errors)).count();
    let meant = untagged
        .iter()
        .filter(|errors| others == 0 || !excludes(errors))
        .filter(|errors| !errors.iter().any(|e| refused_at_root(at, e)))
        .min_by_key(|errors| errors.len())
        .or_else(|| untagged.iter().find(|errors| !is_null_branch(errors)));
    if let Some(errors) = meant {
        errors.iter().for_each(|error| narrow(error, into));
    } else if let Some((place, _)) = set.first() {
        let found = error.instance().pointer(place.strip_prefix(at).unwrap_or_default()).unwrap_or(&Value::Null);
        let set: Vec<&Value> = set.iter().map(|(_, value)| *value).collect();
        into.push(Problem::not_in_set((*place).to_owned(), found, &set));
    } else {
        into.push(other(at.to_owned(), error));
    }
}

/// Returns the constant of this branch that the value itself or one of its direct members does not match.
fn mismatched_constant<'e>(at: &str, errors: &'e [ValidationError<'static>]) -> Option<(&'e str, &'e Value)> {
    errors.iter().find_map(|error| {
        let ValidationErrorKind::Constant { expected_value } = error.kind() else { return None };
        let place = error.instance_path().as_str();
        let below = place.strip_prefix(at)?;
        (below.matches('/').count() <= 1).then_some((place, &**expected_value))
    })
}

fn refused_at_root(at: &str, error: &ValidationError<'_>) -> bool {
    error.instance_path().as_str() == at && matches!(error.kind(), ValidationErrorKind::Type { .. })
}

fn is_null_branch(errors: &[ValidationError<'static>]) -> bool {
    let takes_null = |error: &ValidationError<'_>| matches!(error.kind(), ValidationErrorKind::Type { kind } if types(kind).any(|expected| expected == JsonType::Null));
    errors.iter().any(takes_null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::v1;

    fn places(definition: &str, value: Value) -> Vec<String> {
        let problems = v1().stable.problems(definition, &value);
        problems.into_iter().map(|p| format!("{} {:?}", p.at, p.kind)).collect()
    }

    #[test]
    fn problems_point_into_the_branch_that_was_meant() {
        let update = |body: Value| json!({ "sessionId": "s", "update": body });
        let cases = [
            (update(json!({ "sessionUpdate": "tool_call", "toolCallId": "t" })), "/update/title Missing"),
            (update(json!({ "sessionUpdate": "toolCall" })), "/update/sessionUpdate NotInSet"),
            (update(json!({ "toolCallId": "t" })), "/update/sessionUpdate Missing"),
            (
                update(json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": 1 } })),
                "/update/content/text WrongType",
            ),
            (
                update(json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": "t", "kind": "write" })),
                "/update/kind NotInSet",
            ),
            (
                update(json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": "t",
                    "content": [{ "type": "text", "text": "x" }] })),
                "/update/content/0/type NotInSet",
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(places("SessionNotification", value.clone()), [expected], "{value}");
        }
        assert_eq!(places("PromptResponse", json!({ "stopReason": "stop" })), ["/stopReason NotInSet"]);
        assert_eq!(places("InitializeResponse", json!({ "protocolVersion": "1" })), ["/protocolVersion WrongType"]);
        assert_eq!(
            places("InitializeResponse", json!({ "protocolVersion": 1, "agentInfo": { "name": "x" } })),
            ["/agentInfo/version Missing"]
        );
        assert!(places("PromptResponse", json!({ "stopReason": "end_turn", "other": 1 })).is_empty());
    }
}
