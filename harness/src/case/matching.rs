//! Compares a value of the subject with a pattern, and returns the first difference.

use std::fmt;
use std::path::Path;

use serde_json::{Map, Value};

use crate::case::pattern::{Pattern, PatternNode, ValueKind, shorten};
use crate::case::template::Bindings;
use crate::protocol::is_absolute;

/// The first difference between a pattern and a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The place in the value, as a JSON pointer; empty for the whole.
    pub pointer: String,
    /// The expectation of the pattern.
    pub expected: String,
    /// The actual value, shortened.
    pub found: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.pointer.is_empty() { "the value" } else { &self.pointer };
        write!(f, "{at}: expected {}, found {}", self.expected, self.found)
    }
}

impl Pattern {
    /// Compares a value with the pattern. New names are bound only if the whole value matches.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub fn matches(&self, value: &Value, bindings: &mut Bindings, exact: bool) -> Result<(), Mismatch> {
        for (name, value) in Walk::compare(&self.node, value, bindings, exact)? {
            bindings.set(name, value);
        }
        Ok(())
    }
}

/// A comparison in progress.
struct Walk<'a> {
    bound: &'a Bindings,
    fresh: Vec<(String, Value)>,
    exact: bool,
    pointer: String,
}

impl<'a> Walk<'a> {
    /// Compares a value with a pattern; returns new names with their values.
    fn compare(
        node: &PatternNode,
        value: &Value,
        bound: &'a Bindings,
        exact: bool,
    ) -> Result<Vec<(String, Value)>, Mismatch> {
        let mut walk = Walk { bound, fresh: Vec::new(), exact, pointer: String::new() };
        walk.node(node, value)?;
        Ok(walk.fresh)
    }

    fn lookup(&self, name: &str) -> Option<&Value> {
        self.bound.get(name).or_else(|| self.fresh.iter().find(|(known, _)| known == name).map(|(_, value)| value))
    }

    fn mismatch(&self, node: &PatternNode, found: String) -> Mismatch {
        let expected = node.describe(&|name| self.lookup(name).cloned());
        Mismatch { pointer: self.pointer.clone(), expected, found }
    }

    fn at<T>(&mut self, token: &str, act: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(&token.replace('~', "~0").replace('/', "~1"));
        let result = act(self);
        self.pointer.truncate(length);
        result
    }

    fn node(&mut self, node: &PatternNode, value: &Value) -> Result<(), Mismatch> {
        let fits = match (node, value) {
            (PatternNode::Object(want), Value::Object(have)) => return self.object(want, have),
            (PatternNode::Array(want), Value::Array(have)) if want.len() == have.len() => {
                return want
                    .iter()
                    .zip(have)
                    .enumerate()
                    .try_for_each(|(i, (node, value))| self.at(&i.to_string(), |walk| walk.node(node, value)));
            }
            (PatternNode::Array(_), Value::Array(have)) => {
                return Err(self.mismatch(node, format!("a list of {}: {}", have.len(), shorten(value))));
            }
            (PatternNode::Part { before, items, after }, Value::Array(have)) => self.part(*before, items, *after, have),
            (PatternNode::Object(_) | PatternNode::Array(_) | PatternNode::Part { .. } | PatternNode::Absent, _) => {
                false
            }
            (PatternNode::Kind(kind), value) => kind.fits(value),
            (PatternNode::Literal(want), value) => same(want, value),
            (PatternNode::Text(want), Value::String(have)) => {
                let wanted = want.render_with(|name| self.lookup(name));
                wanted == *have || want.first_name().is_some_and(is_folder) && is_same_path(&wanted, have)
            }
            (PatternNode::Contains(want), Value::String(have)) => {
                have.contains(&want.render_with(|name| self.lookup(name)))
            }
            (PatternNode::Text(_) | PatternNode::Contains(_), _) => false,
            (PatternNode::OneOf(choices), value) => choices.iter().any(|choice| is_choice(choice, value)),
            (PatternNode::Not(inner), value) => {
                // Names that an inner pattern would bind must not leave a negation.
                let known = self.fresh.len();
                let matched = self.node(inner, value).is_ok();
                self.fresh.truncate(known);
                !matched
            }
            (PatternNode::Name(name), value) => match self.lookup(name) {
                Some(Value::String(folder)) if is_folder(name) => {
                    value.as_str().is_some_and(|path| is_same_path(folder, path))
                }
                Some(bound) => same(bound, value),
                None => {
                    self.fresh.push((name.clone(), value.clone()));
                    true
                }
            },
        };
        if fits { Ok(()) } else { Err(self.mismatch(node, shorten(value))) }
    }

    /// Whether the list contains the items in sequence, at an end where no others may follow; the first place counts.
    fn part(&mut self, before: bool, items: &[PatternNode], after: bool, have: &[Value]) -> bool {
        let Some(spare) = have.len().checked_sub(items.len()) else { return false };
        let starts = if before && !after { spare..=spare } else { 0..=spare };
        starts.into_iter().take_while(|start| before || *start == 0).any(|start| {
            let known = self.fresh.len();
            let fits = items.iter().zip(&have[start..]).all(|(node, value)| self.node(node, value).is_ok());
            if !fits {
                self.fresh.truncate(known);
            }
            fits
        })
    }

    fn object(&mut self, want: &[(String, PatternNode)], have: &Map<String, Value>) -> Result<(), Mismatch> {
        for (key, node) in want {
            self.at(key, |walk| match have.get(key) {
                Some(value) => walk.node(node, value),
                None if *node == PatternNode::Absent => Ok(()),
                None => Err(walk.mismatch(node, "nothing".to_owned())),
            })?;
        }
        let extra = have.iter().find(|(key, _)| self.exact && want.iter().all(|(known, _)| known != *key));
        match extra {
            Some((key, value)) => self.at(key, |walk| Err(walk.mismatch(&PatternNode::Absent, shorten(value)))),
            None => Ok(()),
        }
    }
}

/// Whether a name stands for a folder of the case.
fn is_folder(name: &str) -> bool {
    ["cwd", "home", "start"].contains(&name)
}

/// Whether two paths have the same parts: programs may write a folder with a slash at its end, or as `/./`.
fn is_same_path(one: &str, other: &str) -> bool {
    Path::new(one) == Path::new(other)
}

impl ValueKind {
    fn fits(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Any, _)
            | (Self::String, Value::String(_))
            | (Self::Number, Value::Number(_))
            | (Self::Bool, Value::Bool(_))
            | (Self::Object, Value::Object(_))
            | (Self::Array, Value::Array(_)) => true,
            (Self::Int, Value::Number(n)) => n.is_i64() || n.is_u64() || n.as_f64().is_some_and(|f| f.fract() == 0.0),
            (Self::AbsolutePath, Value::String(path)) => is_absolute(path),
            (Self::NonEmpty, Value::String(text)) => !text.is_empty(),
            (Self::NonEmpty, Value::Array(items)) => !items.is_empty(),
            (Self::NonEmpty, Value::Object(members)) => !members.is_empty(),
            _ => false,
        }
    }
}

/// Whether a value is the one written as `choice`: a string, or another scalar in its JSON spelling.
fn is_choice(choice: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => text == choice,
        other => serde_json::from_str::<Value>(choice).is_ok_and(|wanted| same(&wanted, other)),
    }
}

/// Compares values as JSON does: 1 and 1.0 are the same number, and the order of members does not matter.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || (a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}
