//! Walks a payload beside its definition and lists every member, with the definition that owns it.
//!
//! JSON Schema alone cannot say that a member has no business where it stands, because the published schema never closes
//! its objects. The walk can: it knows which members the definitions name, through references, unions and all.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::OnceLock;

use serde_json::{Map, Value};

use super::nodes::{Branch, NOTHING};
use super::pointer::{below, escaped};
use super::schema::Schema;
use super::shape::{Described, Shape, Shapes, Union};
use crate::wire::Members;

/// One member of an object of the protocol.
#[derive(Debug, Clone, PartialEq)]
pub struct Member<'v> {
    /// JSON pointer to the object that has the member.
    object: Rc<str>,
    /// The definition that the object follows.
    pub owner: &'static str,
    /// The name as it was sent.
    pub name: &'v str,
    /// The value as it was sent.
    pub value: &'v Value,
    /// Whether the definition names the member.
    pub known: Site,
}

/// One object of the protocol, with every definition that describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Object<'v> {
    /// JSON pointer to the object.
    pub at: Rc<str>,
    /// The object as it was sent.
    pub value: &'v Value,
    /// The definitions, from the outermost to the variant that its tag chose.
    pub definitions: Vec<&'static str>,
}

impl Member<'_> {
    /// Returns the JSON pointer to the value. Each call builds it, since few members need one.
    #[must_use]
    pub fn at(&self) -> String {
        below(&self.object, &escaped(self.name))
    }
}

/// What a payload is made of, as far as the schema describes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parts<'v> {
    /// The objects, each before those inside it.
    pub objects: Vec<Object<'v>>,
    /// Their members.
    pub members: Vec<Member<'v>>,
}

/// What the definition says of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Site {
    /// It is defined.
    Defined,
    /// It is not defined, but the same name in another spelling is.
    Misspelt(&'static str),
    /// It is not defined, and the definition is closed to others by the rule on extensions.
    Custom,
}

impl Schema {
    /// Takes `value` apart as far as the definition describes it; what the protocol leaves free is not entered.
    #[must_use]
    pub fn parts<'v>(&self, definition: &str, value: &'v Value) -> Parts<'v> {
        let mut parts = Parts::default();
        if let Some((owner, node)) = self.nodes().definition(definition) {
            let root: Rc<str> = Rc::from("");
            self.visit(Described { node, owner }, value, &root, &mut parts);
            if let Some(root) = parts.objects.first_mut().filter(|root| root.at.is_empty()) {
                root.definitions.insert(0, owner);
            } else if value.is_object() {
                parts.objects.insert(0, Object { at: root, value, definitions: vec![owner] });
            }
        }
        parts
    }

    fn visit<'v>(&self, described: Described, value: &'v Value, at: &Rc<str>, into: &mut Parts<'v>) {
        match value {
            Value::Object(object) => self.visit_object(described, (value, object), at, into),
            Value::Array(items) => {
                let shape = self.shape(described, None);
                for (index, item) in items.iter().enumerate() {
                    if let Some(described) = self.meant(&shape.items, item) {
                        self.visit(described, item, &below(at, &index.to_string()).into(), into);
                    }
                }
            }
            _ => {}
        }
    }

    fn visit_object<'v>(
        &self,
        described: Described,
        (value, object): (&'v Value, &'v Map<String, Value>),
        at: &Rc<str>,
        into: &mut Parts<'v>,
    ) {
        let shape = self.shape(described, Some(object));
        if !shape.definitions.is_empty() {
            let definitions = shape.definitions.clone();
            into.objects.push(Object { at: Rc::clone(at), value, definitions });
        }
        for (name, value) in object {
            let defined = shape.members.iter().find(|(known, _)| known == name);
            let known = match defined {
                Some(_) => Site::Defined,
                None if shape.open || shape.members.is_empty() => continue,
                None => shape.misspelt(name).map_or(Site::Custom, Site::Misspelt),
            };
            let owner = defined.map_or(described.owner, |(_, described)| described.owner);
            into.members.push(Member { object: Rc::clone(at), owner, name, value, known });
            if let Some((_, member)) = defined.filter(|_| value.is_object() || value.is_array()) {
                self.visit(*member, value, &below(at, &escaped(name)).into(), into);
            }
        }
    }

    /// What the node says about an object with these members, or about a list. Most nodes have one union at most, and the
    /// branch that its tag chooses settles the shape; so these shapes are kept.
    fn shape(&self, described: Described, object: Option<&Map<String, Value>>) -> Cow<'_, Shape> {
        let collected = || {
            let mut shape = Shape::default();
            self.collect(described, object, &mut shape);
            shape
        };
        let shapes = self.nodes().node(described.node).shapes.get_or_init(|| self.shapes(described.node));
        let choice = match shapes.union {
            Union::Several => return Cow::Owned(collected()),
            Union::None => 0,
            Union::One { node, at } => {
                let branches = &self.nodes().node(node).unions[at];
                let unchosen = branches.len() + usize::from(object.is_none());
                object.and_then(|object| chosen(branches, object)).unwrap_or(unchosen)
            }
        };
        Cow::Borrowed(shapes.by_choice[choice].get_or_init(collected))
    }

    /// Finds out what the shapes of a node depend on, and makes room for them.
    fn shapes(&self, node: usize) -> Shapes {
        let union = self.union_of(node);
        let choices = match union {
            Union::Several => 0,
            Union::None => 1,
            // Each branch, no branch for an object, and a list.
            Union::One { node, at } => self.nodes().node(node).unions[at].len() + 2,
        };
        Shapes { union, by_choice: std::iter::repeat_with(OnceLock::new).take(choices).collect() }
    }

    /// The union in what a node says of the value itself, through references and all.
    fn union_of(&self, at: usize) -> Union {
        let node = self.nodes().node(at);
        if let Some((_, node)) = node.reference {
            return self.union_of(node);
        }
        let own = (0..node.unions.len()).map(|union| {
            let mut branches = node.unions[union].iter().map(|branch| self.union_of(branch.node));
            if branches.any(|inner| inner != Union::None) { Union::Several } else { Union::One { node: at, at: union } }
        });
        let of_all = node.all.iter().map(|all| self.union_of(*all));
        own.chain(of_all).fold(Union::None, |known, next| match (known, next) {
            (union, Union::None) | (Union::None, union) => union,
            _ => Union::Several,
        })
    }

    /// The one of several descriptions that knows most of the item's members.
    fn meant(&self, items: &[Described], item: &Value) -> Option<Described> {
        let known = |described: &Described| {
            let Some(object) = item.as_object() else { return 0 };
            let shape = self.shape(*described, Some(object));
            object.keys().filter(|name| shape.members.iter().any(|(member, _)| member == name)).count()
        };
        match items {
            [only] => Some(*only),
            several => several.iter().copied().rev().max_by_key(known),
        }
    }

    /// Gathers what the node says about an object with these members, or about a list, through references and unions.
    fn collect(&self, described: Described, object: Option<&Map<String, Value>>, shape: &mut Shape) {
        let Described { node, owner } = described;
        let node = self.nodes().node(node);
        if let Some((owner, node)) = node.reference {
            shape.definitions.push(owner);
            return self.collect(Described { node, owner }, object, shape);
        }
        // The properties of one node have different names.
        let known = shape.members.len();
        for &(name, node) in &node.properties {
            if !shape.members[..known].iter().any(|(known, _)| *known == name) {
                shape.members.push((name, Described { node, owner }));
            }
        }
        shape.items.extend(node.items.map(|node| Described { node, owner }));
        shape.open |= node.open;
        for &node in &node.all {
            self.collect(Described { node, owner }, object, shape);
        }
        for union in &node.unions {
            self.collect_union(union, owner, object, shape);
        }
    }

    fn collect_union(
        &self,
        branches: &[Branch],
        owner: &'static str,
        object: Option<&Map<String, Value>>,
        shape: &mut Shape,
    ) {
        let untagged = || branches.iter().filter(|branch| branch.tag.is_none());
        if let Some(branch) = object.and_then(|object| chosen(branches, object)) {
            self.collect(Described { node: branches[branch].node, owner }, object, shape);
        } else if untagged().next().is_some() {
            // A tag may be spelt out where its absence means the same, or name a variant of the sender's.
            let tags = || branches.iter().filter_map(|branch| branch.tag);
            shape.members.extend(tags().map(|tag| (tag.name, Described { node: NOTHING, owner })));
            for branch in untagged() {
                self.collect(Described { node: branch.node, owner }, object, shape);
            }
            // The tag itself is a member of the union, also where it names none of the tagged branches.
            shape.members.extend(tags().map(|tag| (tag.name, Described { node: tag.node, owner })));
        } else if object.is_some() {
            // An unknown variant: another rule speaks about its tag, and nothing is known about its members.
            shape.open = true;
        }
    }
}

/// The branch of a union whose tag an object has.
fn chosen(branches: &[Branch], object: &Map<String, Value>) -> Option<usize> {
    // The branches of a union have the same member as their tag, which is looked up once.
    let (mut name, mut value) = ("", None);
    branches.iter().position(|branch| {
        branch.tag.is_some_and(|tag| {
            if tag.name != name {
                (name, value) = (tag.name, object.member(tag.name));
            }
            value == Some(tag.value)
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::v1;

    fn strangers(definition: &str, value: &Value) -> Vec<String> {
        let parts = v1().stable.parts(definition, value);
        parts.members.iter().filter(|m| m.known != Site::Defined).map(|m| format!("{} {:?}", m.at(), m.known)).collect()
    }

    #[test]
    fn members_without_a_definition_are_told_from_free_payloads() {
        let update = json!({ "sessionId": "s", "session_id": "s", "update": {
            "sessionUpdate": "tool_call", "toolCallId": "t", "title": "x", "vendor": 1,
            "rawInput": { "anything": { "goes": true } }, "_meta": { "mine": 1 },
            "content": [{ "type": "diff", "path": "/a", "newText": "", "old_text": "" }],
            "locations": [{ "path": "/a", "lineNumber": 3 }] } });
        assert_eq!(
            strangers("SessionNotification", &update),
            [
                "/session_id Misspelt(\"sessionId\")",
                "/update/vendor Custom",
                "/update/content/0/old_text Misspelt(\"oldText\")",
                "/update/locations/0/lineNumber Custom",
            ]
        );
    }

    #[test]
    fn owners_tell_which_definition_a_path_belongs_to() {
        let value = json!({ "sessionId": "s", "path": "notes.txt" });
        let parts = v1().stable.parts("ReadTextFileRequest", &value);
        assert!(parts.members.iter().any(|m| m.owner == "ReadTextFileRequest" && m.name == "path"));
        let update =
            json!({ "sessionId": "s", "update": { "sessionUpdate": "tool_call", "toolCallId": "t", "title": "x" } });
        let parts = v1().stable.parts("SessionNotification", &update);
        assert_eq!(parts.objects[1].definitions, ["SessionUpdate", "ToolCall"]);
    }

    #[test]
    fn items_of_a_union_of_lists_follow_the_kind_they_look_like() {
        let option = json!({ "value": "a", "name": "A", "own": 1 });
        let group = json!({ "group": "g", "name": "G", "options": [{ "value": "b", "name": "B" }] });
        let select = |options: Value| json!({ "currentValue": "a", "options": options });
        assert_eq!(strangers("SessionConfigSelect", &select(json!([option]))), ["/options/0/own Custom"]);
        assert!(strangers("SessionConfigSelect", &select(json!([group]))).is_empty());
    }

    #[test]
    fn an_unknown_variant_is_not_entered() {
        let update = json!({ "sessionId": "s", "update": { "sessionUpdate": "_mine", "free": 1 } });
        assert!(strangers("SessionNotification", &update).is_empty());
    }
}
