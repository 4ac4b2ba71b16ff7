//! The definitions of a schema, prepared once for the walk.

use std::sync::OnceLock;

use serde_json::Value;

use super::names::NameMap;
use super::shape::Shapes;

/// All nodes of a schema file.
pub(super) struct Nodes {
    list: Vec<Node>,
    definitions: NameMap<&'static str, (&'static str, usize)>,
}

/// The rules of one node for objects and lists. Other nodes are named by their place in the list.
#[derive(Default)]
pub(super) struct Node {
    /// The definition that it refers to, and its node; then the other fields are ignored.
    pub reference: Option<(&'static str, usize)>,
    pub properties: Vec<(&'static str, usize)>,
    pub items: Option<usize>,
    /// Whether other members are allowed.
    pub open: bool,
    pub all: Vec<usize>,
    pub unions: Vec<Vec<Branch>>,
    /// The shapes of the described values that were needed so far.
    pub shapes: OnceLock<Shapes>,
}

/// One branch of a union.
pub(super) struct Branch {
    pub node: usize,
    pub tag: Option<Tag>,
}

/// The constant member that identifies a branch.
#[derive(Clone, Copy)]
pub(super) struct Tag {
    pub name: &'static str,
    pub value: &'static Value,
    /// The node of the constant.
    pub node: usize,
}

/// The node without rules.
pub(super) const NOTHING: usize = 0;

impl Nodes {
    pub(super) fn of(root: &'static Value) -> Self {
        let named = root.get("$defs").and_then(Value::as_object).into_iter().flatten();
        let places = named.clone().zip(NOTHING + 1..);
        let definitions: NameMap<_, _> = places.map(|((name, _), at)| (name.as_str(), (name.as_str(), at))).collect();
        let list = (0..=definitions.len()).map(|_| Node::default()).collect();
        let mut nodes = Self { list, definitions };
        for ((_, value), at) in named.zip(NOTHING + 1..) {
            nodes.list[at] = nodes.read(value);
        }
        nodes
    }

    pub(super) fn node(&self, at: usize) -> &Node {
        &self.list[at]
    }

    /// Finds a definition by its name: the name as in the schema, and the node.
    pub(super) fn definition(&self, name: &str) -> Option<(&'static str, usize)> {
        self.definitions.get(name).copied()
    }

    fn read(&mut self, value: &'static Value) -> Node {
        let list = |name: &str| value.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let reference = value.get("$ref").and_then(Value::as_str);
        let properties = value.get("properties").and_then(Value::as_object).into_iter().flatten();
        Node {
            reference: reference.and_then(|reference| self.definition(reference.strip_prefix("#/$defs/")?)),
            properties: properties.map(|(name, value)| (name.as_str(), self.add(value))).collect(),
            items: value.get("items").map(|items| self.add(items)),
            open: value.get("additionalProperties").is_some_and(|more| more != &Value::Bool(false)) || is_any(value),
            all: list("allOf").iter().map(|all| self.add(all)).collect(),
            unions: ["oneOf", "anyOf"]
                .into_iter()
                .map(|union| list(union).iter().map(|branch| self.branch(branch)).collect::<Vec<_>>())
                .filter(|branches| !branches.is_empty())
                .collect(),
            shapes: OnceLock::new(),
        }
    }

    fn add(&mut self, value: &'static Value) -> usize {
        let node = self.read(value);
        self.list.push(node);
        self.list.len() - 1
    }

    fn branch(&mut self, value: &'static Value) -> Branch {
        let node = self.add(value);
        let properties = value.get("properties").and_then(Value::as_object).into_iter().flatten();
        let mut constants = properties.filter_map(|(name, value)| Some((name.as_str(), value.get("const")?)));
        let tag = constants.next().and_then(|(name, value)| {
            let (_, node) = self.list[node].properties.iter().find(|(property, _)| *property == name)?;
            Some(Tag { name, value, node: *node })
        });
        Branch { node, tag }
    }
}

/// Whether a schema allows every value, such as the branch of a union for all that the protocol does not define.
fn is_any(schema: &Value) -> bool {
    const SAYS_NOTHING: [&str; 3] = ["title", "description", "default"];
    match schema {
        Value::Bool(any) => *any,
        Value::Object(rules) => {
            rules.keys().all(|rule| SAYS_NOTHING.contains(&rule.as_str()) || rule.starts_with("x-"))
        }
        _ => false,
    }
}
