//! The pages that the agent asked the user to visit, by their `elicitationId`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Exchange;
use crate::judge::outcome::Outcome;
use crate::requirement::Party;
use crate::wire::Members;

/// How far a visit has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitState {
    /// The client has not answered.
    Asked,
    /// The user agreed, and nobody has told that the visit is completed.
    Agreed,
    /// It was completed, or the user will not make it.
    Over,
}

/// The visits of a connection.
#[derive(Debug, Clone, Default)]
pub struct Visits {
    known: BTreeMap<String, VisitState>,
    /// Whether there were more than are remembered.
    pub overflown: bool,
}

/// The bound on the visits that are remembered.
const MOST: usize = 256;

impl Visits {
    /// How far the visit with this id has come; none if nobody asked for it.
    #[must_use]
    pub fn state(&self, id: &str) -> Option<VisitState> {
        self.known.get(id).copied()
    }

    /// Whether any visit is neither completed nor turned down.
    #[must_use]
    pub fn any_outstanding(&self) -> bool {
        self.known.values().any(|visit| *visit != VisitState::Over)
    }

    /// Takes in a request to visit a page.
    pub(super) fn ask(&mut self, request: &Exchange) {
        let Some(id) = id_of(request) else { return };
        if self.known.len() < MOST || self.known.contains_key(id) {
            self.known.insert(id.to_owned(), VisitState::Asked);
        } else {
            self.overflown = true;
        }
    }

    /// Takes in what the user said to it.
    pub(super) fn answer(&mut self, request: &Exchange, outcome: Outcome<'_>) {
        let Some(visit) = id_of(request).and_then(|id| self.known.get_mut(id)) else { return };
        let agreed =
            matches!(outcome, Outcome::Result(result) if result.member("action") == Some(&Value::from("accept")));
        if *visit == VisitState::Asked {
            *visit = if agreed { VisitState::Agreed } else { VisitState::Over };
        }
    }

    /// Takes in the params of `elicitation/complete`.
    pub(super) fn complete(&mut self, params: &Value) {
        let id = params.member("elicitationId").and_then(Value::as_str);
        if let Some(visit) = id.and_then(|id| self.known.get_mut(id)) {
            *visit = VisitState::Over;
        }
    }
}

fn id_of(request: &Exchange) -> Option<&str> {
    // A request without a mode has a fault of its own, and is one for a visit all the same.
    let asks = request.from == Party::Agent && request.text("mode") != Some("form");
    request.text("elicitationId").filter(|_| asks)
}
