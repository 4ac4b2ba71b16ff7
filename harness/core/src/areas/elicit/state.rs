//! The pages that the agent asked the user to visit, by their `elicitationId`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::areas::Event;
use crate::conversation::{Answer, CallSeen, Outcome};
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
pub struct State {
    known: BTreeMap<String, VisitState>,
    /// Whether there were more visits than are remembered.
    pub overflown: bool,
}

/// The most visits that are remembered.
const MOST: usize = 256;

impl State {
    /// Returns the state of the visit with this id; `None` if no request for it came.
    pub fn state(&self, id: &str) -> Option<VisitState> {
        self.known.get(id).copied()
    }

    /// Whether any visit is neither completed nor declined.
    pub fn any_outstanding(&self) -> bool {
        self.known.values().any(|visit| *visit != VisitState::Over)
    }

    pub(in crate::areas) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
        let Some(id) = call.text("elicitationId").filter(|_| event.from == Party::Agent) else { return };
        match (call.method, call.id) {
            ("elicitation/complete", None) => {
                if let Some(visit) = self.known.get_mut(id) {
                    *visit = VisitState::Over;
                }
            }
            // A request without a mode is a separate mistake, and still a request for a visit.
            ("elicitation/create", Some(_)) if call.text("mode") != Some("form") => {
                if self.known.len() < MOST || self.known.contains_key(id) {
                    self.known.insert(id.to_owned(), VisitState::Asked);
                } else {
                    self.overflown = true;
                }
            }
            _ => {}
        }
    }

    pub(in crate::areas) fn response(&mut self, answer: &Answer<'_>) {
        let request = answer.exchange.filter(|request| request.method == "elicitation/create");
        let Some(id) =
            request.filter(|request| request.text("mode") != Some("form")).and_then(|it| it.text("elicitationId"))
        else {
            return;
        };
        let agreed = matches!(answer.outcome, Outcome::Result(result) if result.member("action") == Some(&Value::from("accept")));
        if let Some(visit) = self.known.get_mut(id).filter(|visit| **visit == VisitState::Asked) {
            *visit = if agreed { VisitState::Agreed } else { VisitState::Over };
        }
    }
}
