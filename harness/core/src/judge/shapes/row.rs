//! A row of the table: which requirement owns which places of a definition.

use serde_json::Value;

use crate::protocol::{Problem, ProblemKind};
use crate::wire::Members;

/// When a row counts as exercised, and what it owns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Whenever the object is there.
    Object,
    /// When one of the members is there and not null.
    Member,
    /// Whenever the object is there; and the row owns nothing but that its members are.
    There,
    /// Whenever the object is there; and the row owns nothing but that it is an object.
    Root,
}

/// A requirement with what it owns.
pub(super) struct Row {
    pub(super) requirement: &'static str,
    pub(super) definition: &'static str,
    /// The members that it is about, possibly with a path below them; empty for all of the object.
    members: &'static [&'static str],
    when: When,
}

/// Makes a row; a function, so that the tables stay narrow.
pub(super) const fn row(
    requirement: &'static str,
    definition: &'static str,
    members: &'static [&'static str],
    when: When,
) -> Row {
    Row { requirement, definition, members, when }
}

impl Row {
    /// Whether this value shows that the requirement holds, when nothing is wrong with it.
    pub(super) fn is_exercised(&self, value: &Value) -> bool {
        self.when != When::Member || self.members.iter().any(|m| value.member(m).is_some_and(|v| !v.is_null()))
    }

    /// Whether the problem belongs to the row, in the object that stands at `at`.
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
        if self.members.is_empty() {
            return below.is_empty() || below.starts_with('/');
        }
        self.members.iter().any(|member| {
            let deep = member.contains('/')
                || matches!(problem.kind, ProblemKind::Missing | ProblemKind::WrongType)
                // Version 2 wants at least one block.
                || self.definition == "PromptRequest";
            let rest = below.strip_prefix('/').and_then(|below| below.strip_prefix(member));
            match (self.definition, rest) {
                // Only these objects themselves belong to their row; what is inside them has rows of its own.
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
