//! Small forms in case files: lists of one, durations, labels.

use std::borrow::Cow;
use std::time::Duration;

use jiff::SignedDuration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads a member that is present, even if it is `null`.
pub(super) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// One string or a list of strings.
#[derive(Debug, Clone, Default)]
pub struct OneOrMany {
    /// The strings, each with its JSON pointer below the member (empty for a lone string).
    pub items: Vec<(String, String)>,
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = match Value::deserialize(deserializer)? {
            Value::String(one) => vec![(String::new(), one)],
            Value::Array(several) => {
                let texts = several.into_iter().enumerate();
                texts.map(|(i, text)| (format!("/{i}"), text.as_str().unwrap_or_default().to_owned())).collect()
            }
            _ => return Err(serde::de::Error::custom("expected a string or a list of strings")),
        };
        Ok(Self { items })
    }
}

impl JsonSchema for OneOrMany {
    fn schema_name() -> Cow<'static, str> {
        "OneOrMany".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "array"], "items": { "type": "string" } })
    }
}

/// The content of a file below the working directory.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum ContentFile {
    /// A text.
    Text(String),
    /// Bytes in base64, for a file that is not UTF-8.
    Bytes {
        /// The bytes.
        base64: String,
    },
    /// A symbolic link.
    Link {
        /// The file or folder that it leads to, relative to the working directory.
        link: String,
    },
}

impl JsonSchema for ContentFile {
    fn schema_name() -> Cow<'static, str> {
        "ContentFile".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The content of a file: a text, bytes, or the target of a symbolic link.",
            "type": ["string", "object"],
            "additionalProperties": false,
            "properties": {
                "base64": { "type": "string", "description": "Bytes in base64, for a file that is not UTF-8." },
                "link": { "type": "string", "description": "The target of a symbolic link, relative to the working directory." },
            },
            "minProperties": 1,
            "maxProperties": 1,
        })
    }
}

/// A duration as text.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(
    rename = "Duration",
    title = "duration",
    description = "a duration is a whole number with a unit: `500ms`, `20s` or `2m`",
    extend("pattern" = "^[0-9]{1,7}(ms|s|m)$")
)]
pub struct DurationText(pub String);

impl DurationText {
    /// Returns the duration; the schema has checked the form of the text.
    pub fn duration(&self) -> Duration {
        parse_duration(&self.0).unwrap_or_default()
    }
}

/// Reads a duration with its unit, such as `500ms`, `20s` or `2m`.
///
/// # Errors
///
/// The text has another form or the duration is negative.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let signed = text.parse::<SignedDuration>().ok();
    let duration = signed.and_then(|signed| Duration::try_from(signed).ok());
    duration.ok_or_else(|| format!("`{text}` is not a duration; write it like 500ms, 20s or 2m"))
}

/// The name of a request within a case.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(
    title = "label",
    description = "the `id` of a line is a label of this case: small letters, digits and hyphens; the id on the wire is `wire-id`",
    extend("pattern" = "^[a-z][a-z0-9-]*$")
)]
pub struct Label(pub String);

/// The name of an MCP server of a case. It becomes part of paths, some of which must be short.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(
    title = "name of a server",
    description = "the name of an MCP server has small letters, digits and hyphens, sixteen at most",
    extend("pattern" = "^[a-z][a-z0-9-]{0,15}$")
)]
pub struct ServerName(pub String);
