//! A row of the table: a requirement and the places of a definition that it owns.

use serde_json::Value;

use crate::protocol::{Problem, ProblemKind};
use crate::wire::Members;

/// The condition under which a row is exercised, and its share of the problems.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// The object is present.
    Object,
    /// One of the members is present and not null.
    Member,
    /// As `Member`; and the row owns only values that their set lacks.
    Value,
    /// As `Member`; and the row owns only the rule that a list of the members has an item.
    Filled,
    /// The object is present; and the row owns only missing members.
    There,
    /// The object is present; and the row owns only values that are not objects.
    Root,
}

/// A requirement with the places that it owns.
pub(super) struct Row {
    pub(super) requirement: &'static str,
    pub(super) definition: &'static str,
    /// The members, possibly with a path below them; empty for the whole object.
    members: &'static [&'static str],
    when: When,
}

/// Creates a row; a function, so that the tables stay narrow.
pub(super) const fn row(
    requirement: &'static str,
    definition: &'static str,
    members: &'static [&'static str],
    when: When,
) -> Row {
    Row { requirement, definition, members, when }
}

impl Row {
    /// Whether this value proves that the requirement is satisfied, if it has no problem.
    pub(super) fn is_exercised(&self, value: &Value) -> bool {
        !matches!(self.when, When::Member | When::Value | When::Filled)
            || self.members.iter().any(|m| value.member(m).is_some_and(|v| !v.is_null()))
    }

    /// Whether a place lies in the members of the row, in the object at `at`.
    pub(super) fn holds(&self, at: &str, place: &str) -> bool {
        let Some(below) = place.strip_prefix(at).and_then(|below| below.strip_prefix('/')) else { return false };
        let is_in =
            |member: &&str| below.strip_prefix(member).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.members.is_empty() || self.members.iter().any(is_in)
    }

    /// Whether the problem belongs to the row, in the object at `at`.
    pub(super) fn owns(&self, at: &str, problem: &Problem) -> bool {
        let Some(below) = problem.at.strip_prefix(at) else { return false };
        if at.is_empty() && below.is_empty() {
            return true;
        }
        if self.when == When::Root {
            return below.is_empty();
        }
        if self.when == When::There && problem.kind != ProblemKind::Missing {
            return false;
        }
        if self.when == When::Value && problem.kind != ProblemKind::NotInSet {
            return false;
        }
        if self.when == When::Filled {
            let is_member = |member: &&str| below.strip_prefix('/') == Some(*member);
            return problem.kind == ProblemKind::Other && self.members.iter().any(is_member);
        }
        if self.members.is_empty() {
            return below.is_empty() || below.starts_with('/');
        }
        self.members.iter().any(|member| {
            let deep = member.contains('/')
                || matches!(problem.kind, ProblemKind::Missing | ProblemKind::WrongType)
                // Version 2 wants at least one block, and at least one option.
                || matches!(self.definition, "PromptRequest" | "RequestPermissionRequest");
            let rest = below.strip_prefix('/').and_then(|below| below.strip_prefix(member));
            match (self.definition, rest) {
                // Only these objects themselves belong to their row; their contents have separate rows.
                (
                    "SessionNotification"
                    | "RequestPermissionRequest"
                    | "ListSessionsResponse"
                    | "PromptRequest"
                    | "NewSessionRequest"
                    | "LoadSessionRequest"
                    | "ResumeSessionRequest"
                    | "UpdateSessionNotification"
                    | "ContentChunk"
                    | "UserMessage"
                    | "AgentMessage"
                    | "AgentThought"
                    | "ToolCallContentChunk"
                    | "PlanUpdate",
                    Some(rest),
                ) => rest.is_empty() && deep,
                (_, Some(rest)) => rest.is_empty() || rest.starts_with('/'),
                (_, None) => false,
            }
        })
    }
}
