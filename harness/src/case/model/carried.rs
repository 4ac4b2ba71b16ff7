//! Which transports can carry a case.

use serde_json::Value;

use super::{Action, Case, Outgoing, Step};
use crate::requirement::{Catalogue, Party, Transport};

impl Case {
    /// Whether it can run over a transport, and is about what can happen there. Standard streams have neither requests
    /// of HTTP nor frames. Other transports carry whole messages only; HTTP carries nothing before `initialize`, and
    /// only ids of sessions that fit into a header. A walk that was cut off has no requirements of its own.
    pub fn fits(&self, transport: Transport, catalogue: &Catalogue) -> bool {
        let is_about = |id: &String| {
            catalogue.find(id).is_none_or(|known| known.applies_when.condition.is_possible_over(transport))
        };
        let has_subject = self.requirements.is_empty() || self.requirements.iter().any(is_about);
        has_subject && self.can_be_carried_by(transport)
    }

    fn can_be_carried_by(&self, transport: Transport) -> bool {
        let needs_stdio = || {
            self.steps.iter().any(|step| match &step.action {
                Action::Raw(_) | Action::AgentProcess(_) | Action::Login => true,
                Action::CloseStdin | Action::End | Action::Exit { .. } => true,
                Action::Send(lines) => lines.iter().any(|line| line.split.is_some()),
                _ => false,
            })
        };
        let has = |wanted: fn(&Action) -> bool| self.steps.iter().any(|step| wanted(&step.action));
        let needs_http = || has(|action| matches!(action, Action::Http(_)));
        let needs_frames = || has(|action| matches!(action, Action::Binary(_)));
        let first = || self.sent().next().map(Outgoing::method);
        match transport {
            Transport::Stdio => !needs_http() && !needs_frames(),
            Transport::WebSocket => !needs_stdio() && !needs_http(),
            Transport::Http => {
                let begins = self.subject == Party::Client || first() == Some(Some("initialize"));
                let is_plain = |step: &Step| match &step.action {
                    Action::Send(lines) => lines.iter().all(|line| line.value().is_none_or(has_plain_sessions)),
                    Action::Act(act) => has_plain_sessions(&Value::Object(act.arguments.clone())),
                    _ => true,
                };
                begins && !needs_stdio() && !needs_frames() && self.steps.iter().all(is_plain)
            }
        }
    }
}

/// Whether the ids of sessions in a value fit into a header of HTTP.
fn has_plain_sessions(value: &Value) -> bool {
    let fits = |id: &str| id.trim() == id && id.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    match value {
        Value::Object(members) => members.iter().all(|(name, value)| match value.as_str() {
            Some(id) if name == "sessionId" => fits(id),
            _ => has_plain_sessions(value),
        }),
        Value::Array(values) => values.iter().all(has_plain_sessions),
        _ => true,
    }
}
