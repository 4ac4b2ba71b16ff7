//! Compares a document with a JSON Schema and reports every difference in the terms of the file.
//!
//! The schemas are generated from the Rust types of a file ([`Shape::of`]), so that the committed schema, the loader
//! and these messages cannot disagree. They avoid `oneOf` and `anyOf`, whose errors do not help people.

use std::sync::Arc;

use jsonschema::Validator;
use jsonschema::error::{ValidationError, ValidationErrorKind as Kind};
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::document::{Document, child};

/// The structure of one kind of file.
#[derive(Debug, Clone)]
pub struct Shape {
    schema: Arc<Value>,
    validator: Arc<Validator>,
}

impl Shape {
    /// Generates the structure from a type.
    ///
    /// # Panics
    ///
    /// If the generated schema itself is invalid, which the tests of this package exclude.
    pub fn of<T: JsonSchema>() -> Self {
        let schema = schema::<T>();
        let validator = jsonschema::options().build(&schema).unwrap_or_else(|e| panic!("a generated schema: {e}"));
        Self { schema: Arc::new(schema), validator: Arc::new(validator) }
    }

    /// Reads the type from a document.
    ///
    /// # Errors
    ///
    /// Every difference between the document and the structure.
    pub fn read<T: DeserializeOwned>(&self, document: &Document) -> Result<T, Vec<Diagnostic>> {
        let problems = self.problems(document);
        if !problems.is_empty() {
            return Err(problems);
        }
        serde_json::from_value(document.value.clone())
            .map_err(|error| vec![document.error("file::shape", "", format!("the file cannot be read: {error}"))])
    }

    fn problems(&self, document: &Document) -> Vec<Diagnostic> {
        let mut problems: Vec<_> =
            self.validator.iter_errors(&document.value).flat_map(|error| self.describe(document, &error)).collect();
        drop_consequences(&mut problems);
        problems
    }

    fn describe(&self, document: &Document, error: &ValidationError<'_>) -> Vec<Diagnostic> {
        let at = error.instance_path().as_str();
        let node = self.node(error.schema_path().as_str());
        let one = match error.kind() {
            Kind::AdditionalProperties { unexpected } => {
                return unexpected.iter().map(|key| unknown_key(document, at, key, node)).collect();
            }
            Kind::Required { property } => missing_key(document, at, property.as_str().unwrap_or_default(), node),
            Kind::Type { .. } => wrong_type(document, at, error.instance(), node),
            Kind::Enum { options } => unknown_value(document, at, error.instance(), options),
            Kind::MinProperties { .. } => {
                let diagnostic = document.error("file::empty", at, "the value is empty");
                diagnostic.help(format!("it takes exactly one of {}", list(&allowed(node))))
            }
            Kind::MaxProperties { .. } => too_many(document, at, error.instance(), node),
            Kind::MinItems { .. } | Kind::MinLength { .. } => {
                let what = if error.instance().is_string() { "text" } else { "list" };
                let name = at.rsplit('/').next().unwrap_or_default();
                document.error("file::empty", at, format!("`{name}` is an empty {what}")).maybe_help(words(node))
            }
            Kind::Pattern { .. } => {
                let title = node.get("title").and_then(Value::as_str).unwrap_or("value of the right form");
                let message = format!("`{}` is not a {title}", error.instance().as_str().unwrap_or_default());
                document.error("file::malformed", at, message).maybe_help(words(node))
            }
            // A value of another type is a separate mistake.
            Kind::Constant { expected_value } if error.instance().is_boolean() => {
                let message = format!("`{}` is not allowed here", error.instance());
                document
                    .error("file::unknown-value", at, message)
                    .help(format!("write `{expected_value}`, or leave it out"))
            }
            Kind::Constant { .. } => return Vec::new(),
            Kind::Minimum { limit } => {
                let message = format!("{} is too small", error.instance());
                document.error("file::out-of-range", at, message).help(format!("it is at least {limit}"))
            }
            Kind::Maximum { limit } => {
                let message = format!("{} is too big", error.instance());
                document.error("file::out-of-range", at, message).help(format!("it is at most {limit}"))
            }
            _ => document.error("file::shape", at, error.to_string()),
        };
        vec![one]
    }

    /// Returns the schema object that contains the keyword of a path.
    fn node(&self, keyword_path: &str) -> &Value {
        let parent = keyword_path.rfind('/').map_or("", |end| &keyword_path[..end]);
        self.schema.pointer(parent).unwrap_or(&Value::Null)
    }
}

/// Drops problems that only follow from another mistake: a misspelt key is not also missing, and a key at the wrong
/// level is not also unknown.
fn drop_consequences(problems: &mut Vec<Diagnostic>) {
    let outside: Vec<_> = with_code(problems, "file::too-many-keys").map(|problem| problem.primary.span).collect();
    problems.retain(|problem| problem.code != "file::unknown-key" || !outside.contains(&problem.primary.span));
    let meant: Vec<_> = with_code(problems, "file::unknown-key").flat_map(|problem| problem.help.clone()).collect();
    problems.retain(|problem| {
        let key = problem.message.split('`').nth(1).unwrap_or_default();
        problem.code != "file::missing-key" || !meant.contains(&format!("did you mean `{key}`?"))
    });
}

fn with_code<'p>(problems: &'p [Diagnostic], code: &str) -> impl Iterator<Item = &'p Diagnostic> {
    problems.iter().filter(move |problem| problem.code == code)
}

/// The JSON Schema of a type, without unions and without the `null`s that serde treats like absent members.
pub fn schema<T: JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with_transform(RecursiveTransform(simplify));
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

fn simplify(schema: &mut Schema) {
    if let Some(any) = schema.get("anyOf").and_then(Value::as_array)
        && let [Value::Object(inner), Value::Object(null)] = any.as_slice()
        && null.get("type") == Some(&Value::from("null"))
    {
        let inner = inner.clone();
        schema.remove("anyOf");
        for (key, value) in inner {
            schema.insert(key, value);
        }
    }
    if let Some(Value::Array(types)) = schema.get("type") {
        let kept: Vec<_> = types.iter().filter(|kind| *kind != "null").cloned().collect();
        let kept = if let [single] = kept.as_slice() { single.clone() } else { Value::Array(kept) };
        schema.insert("type".to_owned(), kept);
    }
    // Variants with doc comments form a union of constants; a plain list gives a better message.
    if let Some(Value::Array(variants)) = schema.get("oneOf")
        && let Some(names) = variants.iter().map(|variant| variant.get("const").cloned()).collect::<Option<Vec<_>>>()
    {
        schema.remove("oneOf");
        schema.insert("type".to_owned(), "string".into());
        schema.insert("enum".to_owned(), Value::Array(names));
    }
    // A default is only noise for an optional member.
    schema.remove("default");
}

fn unknown_key(document: &Document, at: &str, key: &str, node: &Value) -> Diagnostic {
    let diagnostic = document.key_error("file::unknown-key", &child(at, key), format!("unknown key `{key}`"));
    diagnostic.maybe_help(did_you_mean(key, "the keys here are", &allowed(node)))
}

fn missing_key(document: &Document, at: &str, key: &str, node: &Value) -> Diagnostic {
    let what = node.pointer(&format!("/properties/{key}/description")).and_then(Value::as_str);
    let help = what.map(|what| format!("`{key}`: {}", sentence(what)));
    document.error("file::missing-key", at, format!("the key `{key}` is missing")).label("not in here").maybe_help(help)
}

fn wrong_type(document: &Document, at: &str, instance: &Value, node: &Value) -> Diagnostic {
    let expected = match &node["type"] {
        Value::String(one) => article(one).to_owned(),
        Value::Array(several) => several.iter().filter_map(Value::as_str).map(article).collect::<Vec<_>>().join(" or "),
        _ => "something else".to_owned(),
    };
    let found = match instance {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    let mut diagnostic = document.error("file::wrong-type", at, format!("expected {expected}, found {found}"));
    if node["type"] == "string" && node.get("pattern").is_none() && (instance.is_number() || instance.is_boolean()) {
        diagnostic = diagnostic.help(format!("write it in quotes: \"{instance}\""));
    }
    diagnostic.maybe_help(words(node))
}

fn unknown_value(document: &Document, at: &str, instance: &Value, options: &Value) -> Diagnostic {
    let options: Vec<_> = options.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let word = instance.as_str().map_or_else(|| instance.to_string(), str::to_owned);
    let diagnostic = document.error("file::unknown-value", at, format!("`{word}` is not allowed here"));
    diagnostic.help(did_you_mean(&word, "allowed are", &options).unwrap_or_default())
}

fn too_many(document: &Document, at: &str, instance: &Value, node: &Value) -> Diagnostic {
    let keys: Vec<_> = instance.as_object().into_iter().flat_map(|members| members.keys()).collect();
    let (first, second) = (keys.first().map_or("", |key| key), keys.get(1).map_or("", |key| key));
    let message = format!("`{second}` cannot be combined with `{first}`");
    let known = allowed(node).contains(&second);
    let in_list = at.rsplit('/').next().is_some_and(|token| token.parse::<usize>().is_ok());
    document
        .key_error("file::too-many-keys", &child(at, second), message)
        .also(&document.source, document.key_span(&child(at, first)), "already says what this is")
        .help(match (known, in_list) {
            (true, true) => format!("begin another item with `- {second}:`"),
            (true, false) => "keep one of the two".to_owned(),
            (false, _) => format!("`{second}` belongs inside the braces of `{first}`"),
        })
}

/// Returns the members that an object may have.
fn allowed(node: &Value) -> Vec<&str> {
    node["properties"].as_object().into_iter().flat_map(|members| members.keys().map(String::as_str)).collect()
}

/// Returns the description in the schema.
fn words(node: &Value) -> Option<String> {
    node.get("description").and_then(Value::as_str).map(|text| sentence(text).to_owned())
}

/// Returns the first sentence of a description, without its period.
fn sentence(text: &str) -> &str {
    let line = text.split("\n\n").next().unwrap_or(text);
    line.strip_suffix('.').unwrap_or(line)
}

fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn article(kind: &str) -> &'static str {
    match kind {
        "string" => "a string",
        "array" => "a list",
        "object" => "an object",
        "boolean" => "a boolean",
        "integer" => "an integer",
        "number" => "a number",
        _ => "nothing",
    }
}
