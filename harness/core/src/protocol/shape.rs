//! The shapes of the values that a schema describes: members, items and definitions.

use std::sync::{Arc, OnceLock};

/// A node in the definition that owns it.
#[derive(Clone, Copy)]
pub(super) struct Described {
    pub node: usize,
    pub owner: &'static str,
}

/// The shapes of the values that a node describes.
pub(super) struct Shapes {
    /// The union whose chosen branch determines the shape.
    pub union: Union,
    /// The shapes by the branch; then that of an object without a branch, and that of a list.
    pub by_choice: Box<[OnceLock<Shape>]>,
}

/// The unions in the rules of a node for one value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Union {
    None,
    /// This one of a node.
    One {
        node: usize,
        at: usize,
    },
    Several,
}

/// The rules of a schema for an object with certain members, or for a list.
#[derive(Clone, Default)]
pub(super) struct Shape {
    pub members: Vec<(&'static str, Described)>,
    /// The rules for the items of a list; several if a union has several kinds of list.
    pub items: Vec<Described>,
    pub definitions: Arc<[&'static str]>,
    pub open: bool,
}

impl Shape {
    pub(super) fn misspelt(&self, name: &str) -> Option<&'static str> {
        // Names with a leading underscore belong to extensions (`_meta`) and are not misspelt.
        let wanted = (!name.starts_with('_')).then(|| plain_name(name))?;
        self.members
            .iter()
            .map(|(known, _)| *known)
            .find(|known| !known.starts_with('_') && plain_name(known) == wanted)
    }
}

/// Returns the name of a member in a form that is the same for all of its spellings.
pub(crate) fn plain_name(name: &str) -> String {
    name.replace(['_', '-'], "").to_lowercase()
}
