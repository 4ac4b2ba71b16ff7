//! The kinds of requests that an agent sends, as observed in this run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::sync::lock;

/// The kinds of requests that an agent sends, as observed in this run. This only saves time: cases that await a request
/// of a kind which never came give it less time. No requirement fails because an optional request does not come.
#[derive(Debug, Clone, Default)]
pub struct KnownCalls(Arc<Mutex<BTreeMap<String, Seen>>>);

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    came: bool,
    missed: usize,
}

/// The number of waits without success after which a kind of request is not expected any more.
const ENOUGH: usize = 2;

impl KnownCalls {
    /// Whether several waits for requests of this kind passed without success, and none came in any case.
    pub(in crate::run) fn never_come(&self, method: &str) -> bool {
        let known = lock(&self.0);
        known.get(kind(method)).is_some_and(|seen| !seen.came && seen.missed >= ENOUGH)
    }

    /// Records the end of a wait for this request, and whether one of its kind came in the case.
    pub(in crate::run) fn note(&self, method: &str, came: bool) {
        let mut known = lock(&self.0);
        let seen = known.entry(kind(method).to_owned()).or_default();
        seen.came |= came;
        seen.missed += usize::from(!came);
    }
}

/// Whether both requests are of one kind.
pub(in crate::run) fn same_kind(one: &str, other: &str) -> bool {
    kind(one) == kind(other)
}

/// Returns the kind of a request: an agent that creates no terminal does not wait for the exit in one either.
fn kind(method: &str) -> &str {
    match method.split_once('/') {
        Some((kind @ ("fs" | "terminal" | "elicitation"), _)) => kind,
        _ => method,
    }
}

#[cfg(test)]
mod tests {
    use super::KnownCalls;

    #[test]
    fn only_a_kind_that_never_came_is_not_expected() {
        let known = KnownCalls::default();
        known.note("terminal/create", false);
        assert!(!known.never_come("terminal/kill"), "one wait is not enough");
        known.note("terminal/wait_for_exit", false);
        assert!(known.never_come("terminal/kill"));
        assert!(!known.never_come("session/request_permission"), "another kind");
        known.note("terminal/create", true);
        assert!(!known.never_come("terminal/kill"));
    }
}
