//! The pages that the agent asked the user to visit, by their `elicitationId`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Exchange;
use crate::conversation::outcome::Outcome;
use crate::requirement::Party;
use crate::wire::Members;

/// The state of a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitState {
    /// The client has not answered.
    Asked,
    /// The user agreed, and the visit was not reported as completed yet.
    Agreed,
    /// It was completed or declined.
    Over,
}

/// The visits of a connection.
#[derive(Debug, Clone, Default)]
pub struct Visits {
    known: BTreeMap<String, VisitState>,
    /// Whether there were more visits than are remembered.
    pub overflown: bool,
}

/// The most visits that are remembered.
const MOST: usize = 256;

impl Visits {
    /// Returns the state of the visit with this id; `None` if no request for it came.
    #[must_use]
    pub fn state(&self, id: &str) -> Option<VisitState> {
        self.known.get(id).copied()
    }

    /// Whether any visit is neither completed nor declined.
    #[must_use]
    pub fn any_outstanding(&self) -> bool {
        self.known.values().any(|visit| *visit != VisitState::Over)
    }

    /// Records a request to visit a page.
    pub(super) fn ask(&mut self, request: &Exchange) {
        let Some(id) = id_of(request) else { return };
        if self.known.len() < MOST || self.known.contains_key(id) {
            self.known.insert(id.to_owned(), VisitState::Asked);
        } else {
            self.overflown = true;
        }
    }

    /// Records the user's answer to it.
    pub(super) fn answer(&mut self, request: &Exchange, outcome: Outcome<'_>) {
        let Some(visit) = id_of(request).and_then(|id| self.known.get_mut(id)) else { return };
        let agreed =
            matches!(outcome, Outcome::Result(result) if result.member("action") == Some(&Value::from("accept")));
        if *visit == VisitState::Asked {
            *visit = if agreed { VisitState::Agreed } else { VisitState::Over };
        }
    }

    /// Processes the params of `elicitation/complete`.
    pub(super) fn complete(&mut self, params: &Value) {
        let id = params.member("elicitationId").and_then(Value::as_str);
        if let Some(visit) = id.and_then(|id| self.known.get_mut(id)) {
            *visit = VisitState::Over;
        }
    }
}

fn id_of(request: &Exchange) -> Option<&str> {
    // A request without a mode is a separate mistake, and still a request for a visit.
    let asks = request.from == Party::Agent && request.text("mode") != Some("form");
    request.text("elicitationId").filter(|_| asks)
}
