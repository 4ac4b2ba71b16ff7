//! Walks through a payload together with its definition, and lists every member with the definition that owns it.
//!
//! JSON Schema alone cannot report a member in the wrong place, because the published schema never closes its objects.
//! The walk can: it follows references and unions to the definitions, which contain the names of the members.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use super::nodes::{Branch, NOTHING, Nodes};
use super::pointer::{below, escaped};
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
    /// The definition that a payload is compared with, if the object is the payload.
    root: Option<&'static str>,
    /// The definitions that its node refers to.
    inner: Arc<[&'static str]>,
}

impl Parts<'_> {
    /// Returns the places of the members that the definition contains.
    pub fn defined(&self) -> BTreeSet<String> {
        self.members.iter().filter(|member| member.known == Site::Defined).map(Member::at).collect()
    }
}

impl Object<'_> {
    /// Returns the definitions, from the outermost to the variant that its tag chose.
    pub fn definitions(&self) -> impl Iterator<Item = &'static str> {
        self.root.into_iter().chain(self.inner.iter().copied())
    }
}

impl Member<'_> {
    /// Returns the JSON pointer to the value. Each call builds it, since few members need one.
    pub fn at(&self) -> String {
        below(&self.object, &escaped(self.name))
    }
}

/// The parts of a payload that the schema describes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parts<'v> {
    /// The objects, each before those inside it.
    pub objects: Vec<Object<'v>>,
    /// Their members.
    pub members: Vec<Member<'v>>,
}

/// The relation of a member to the definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Site {
    /// The definition contains it.
    Defined,
    /// The definition contains the same name in another spelling.
    Misspelt(&'static str),
    /// Only another variant of the same union contains it, such as the `content` of a form that was declined.
    OtherVariant,
    /// The definition does not contain it, and the requirement on extensions forbids others.
    Custom,
}

/// The initial capacities of the lists, which are enough for most payloads.
const USUAL_OBJECTS: usize = 4;
const USUAL_MEMBERS: usize = 12;

/// The parts so far, and the JSON pointer to the current value.
struct Walk<'v> {
    parts: Parts<'v>,
    at: String,
}

impl Walk<'_> {
    /// Visits a value below the current one; `token` must be escaped.
    fn below(&mut self, token: &str, visit: impl FnOnce(&mut Self)) {
        let length = self.at.len();
        self.at.push('/');
        self.at.push_str(token);
        visit(self);
        self.at.truncate(length);
    }
}

impl Nodes {
    /// Splits `value` into the parts that the definition describes; it skips free-form values.
    pub(super) fn parts<'v>(&self, definition: &str, value: &'v Value) -> Parts<'v> {
        let Some((owner, node)) = self.definition(definition) else { return Parts::default() };
        let parts = Parts { objects: Vec::with_capacity(USUAL_OBJECTS), members: Vec::with_capacity(USUAL_MEMBERS) };
        let mut walk = Walk { parts, at: String::new() };
        self.visit(Described { node, owner }, value, Some(owner), &mut walk);
        walk.parts
    }

    /// Visits the value at the current pointer; `root` is its definition if it is the payload.
    fn visit<'v>(&self, described: Described, value: &'v Value, root: Option<&'static str>, walk: &mut Walk<'v>) {
        match value {
            Value::Object(object) => self.visit_object(described, (value, object), root, walk),
            Value::Array(items) => {
                let shape = self.shape(described, None);
                for (index, item) in items.iter().enumerate() {
                    let described = self.meant(&shape.items, item).filter(|_| item.is_object() || item.is_array());
                    if let Some(described) = described {
                        walk.below(&index.to_string(), |walk| self.visit(described, item, None, walk));
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
        root: Option<&'static str>,
        walk: &mut Walk<'v>,
    ) {
        let shape = self.shape(described, Some(object));
        let at: Rc<str> = Rc::from(walk.at.as_str());
        if root.is_some() || !shape.definitions.is_empty() {
            walk.parts.objects.push(Object { at: Rc::clone(&at), value, root, inner: Arc::clone(&shape.definitions) });
        }
        for (name, value) in object {
            let defined = shape.members.iter().find(|(known, _)| known == name);
            let known = match defined {
                Some(_) => Site::Defined,
                None if shape.open || shape.members.is_empty() => continue,
                // "All types in the protocol include a `_meta` field", also where the schema does not list it.
                None if name == "_meta" => Site::Defined,
                None if self.names(described.node, name) => Site::OtherVariant,
                None => shape.misspelt(name).map_or(Site::Custom, Site::Misspelt),
            };
            let owner = defined.map_or(described.owner, |(_, described)| described.owner);
            walk.parts.members.push(Member { object: Rc::clone(&at), owner, name, value, known });
            if let Some((_, member)) = defined.filter(|_| value.is_object() || value.is_array()) {
                walk.below(&escaped(name), |walk| self.visit(*member, value, None, walk));
            }
        }
    }

    /// Returns the shape of an object with these members, or of a list, by a node. Most nodes have at most one union,
    /// and the branch that its tag chooses determines the shape, so these shapes are cached.
    fn shape(&self, described: Described, object: Option<&Map<String, Value>>) -> Cow<'_, Shape> {
        let collected = || {
            let (mut shape, mut definitions) = (Shape::default(), Vec::new());
            self.collect(described, object, &mut definitions, &mut shape);
            Shape { definitions: definitions.into(), ..shape }
        };
        let shapes = self.node(described.node).shapes.get_or_init(|| self.shapes(described.node));
        let choice = match shapes.union {
            Union::Several => return Cow::Owned(collected()),
            Union::None => 0,
            Union::One { node, at } => {
                let branches = &self.node(node).unions[at];
                let unchosen = branches.len() + usize::from(object.is_none());
                object.and_then(|object| chosen(branches, object)).unwrap_or(unchosen)
            }
        };
        Cow::Borrowed(shapes.by_choice[choice].get_or_init(collected))
    }

    /// Determines what the shapes of a node depend on, and makes room for them.
    fn shapes(&self, node: usize) -> Shapes {
        let union = self.union_of(node);
        let choices = match union {
            Union::Several => 0,
            Union::None => 1,
            // One for each branch, one for an object without a branch, and one for a list.
            Union::One { node, at } => self.node(node).unions[at].len() + 2,
        };
        Shapes { union, by_choice: std::iter::repeat_with(OnceLock::new).take(choices).collect() }
    }

    /// Returns the union in the rules of a node for the value itself, through references.
    fn union_of(&self, at: usize) -> Union {
        let node = self.node(at);
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

    /// Whether the rules of a node for the value itself name the member, in any branch of their unions.
    fn names(&self, node: usize, member: &str) -> bool {
        let node = self.node(node);
        let mut inner = node.reference.iter().map(|(_, node)| *node).chain(node.all.iter().copied());
        let mut branches = node.unions.iter().flatten().map(|branch| branch.node);
        node.properties.iter().any(|(name, _)| *name == member)
            || inner.any(|node| self.names(node, member))
            || branches.any(|node| self.names(node, member))
    }

    /// Returns the description that contains most of the item's members.
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

    /// Collects the rules of a node for an object with these members, or for a list, through references and unions.
    fn collect(
        &self,
        described: Described,
        object: Option<&Map<String, Value>>,
        definitions: &mut Vec<&'static str>,
        shape: &mut Shape,
    ) {
        let Described { node, owner } = described;
        let node = self.node(node);
        if let Some((owner, node)) = node.reference {
            definitions.push(owner);
            return self.collect(Described { node, owner }, object, definitions, shape);
        }
        // The properties of one node have unique names.
        let known = shape.members.len();
        for &(name, node) in &node.properties {
            if !shape.members[..known].iter().any(|(known, _)| *known == name) {
                shape.members.push((name, Described { node, owner }));
            }
        }
        shape.items.extend(node.items.map(|node| Described { node, owner }));
        shape.open |= node.open;
        for &node in &node.all {
            self.collect(Described { node, owner }, object, definitions, shape);
        }
        for union in &node.unions {
            self.collect_union(union, owner, object, definitions, shape);
        }
    }

    fn collect_union(
        &self,
        branches: &[Branch],
        owner: &'static str,
        object: Option<&Map<String, Value>>,
        definitions: &mut Vec<&'static str>,
        shape: &mut Shape,
    ) {
        let untagged = || branches.iter().filter(|branch| branch.tag.is_none());
        if let Some(branch) = object.and_then(|object| chosen(branches, object)) {
            self.collect(Described { node: branches[branch].node, owner }, object, definitions, shape);
        } else if untagged().next().is_some() {
            // A tag may be present where its absence means the same, or name a variant that the sender invented.
            let tags = || branches.iter().filter_map(|branch| branch.tag);
            shape.members.extend(tags().map(|tag| (tag.name, Described { node: NOTHING, owner })));
            for branch in untagged() {
                self.collect(Described { node: branch.node, owner }, object, definitions, shape);
            }
            // The tag itself is a member of the union, even if it names no tagged branch.
            shape.members.extend(tags().map(|tag| (tag.name, Described { node: tag.node, owner })));
        } else if object.is_some() {
            // An unknown variant: another requirement covers its tag, and its members are unknown.
            shape.open = true;
        }
    }
}

/// Returns the branch of a union with the tag of an object.
fn chosen(branches: &[Branch], object: &Map<String, Value>) -> Option<usize> {
    // The branches of a union use the same member as their tag, so it is looked up once.
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

    fn unknown_members(definition: &str, value: &Value) -> Vec<String> {
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
            unknown_members("SessionNotification", &update),
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
        assert!(parts.objects[0].definitions().eq(["SessionNotification"]));
        assert!(parts.objects[1].definitions().eq(["SessionUpdate", "ToolCall"]));
    }

    #[test]
    fn items_of_a_union_of_lists_follow_the_kind_they_look_like() {
        let option = json!({ "value": "a", "name": "A", "own": 1 });
        let group = json!({ "group": "g", "name": "G", "options": [{ "value": "b", "name": "B" }] });
        let select = |options: Value| json!({ "currentValue": "a", "options": options });
        assert_eq!(unknown_members("SessionConfigSelect", &select(json!([option]))), ["/options/0/own Custom"]);
        assert!(unknown_members("SessionConfigSelect", &select(json!([group]))).is_empty());
    }

    #[test]
    fn members_of_other_variants_are_not_custom() {
        let declined = json!({ "action": "decline", "content": null, "own": 1 });
        assert_eq!(unknown_members("CreateElicitationResponse", &declined), ["/content OtherVariant", "/own Custom"]);
        let cancelled = json!({ "outcome": { "outcome": "cancelled", "optionId": "yes", "_meta": {} } });
        assert_eq!(unknown_members("RequestPermissionResponse", &cancelled), ["/outcome/optionId OtherVariant"]);
    }

    #[test]
    fn an_unknown_variant_is_not_entered() {
        let update = json!({ "sessionId": "s", "update": { "sessionUpdate": "_mine", "free": 1 } });
        assert!(unknown_members("SessionNotification", &update).is_empty());
    }
}
