//! Checks what a case needs the subject to advertise, as early as possible.

use serde_json::Value;

use crate::case::model::{Need, NeedRoot};
use crate::requirement::Party;
use crate::run::case::inbox::answers;
use crate::run::case::{RunningCase, StepResult};
use crate::run::channel::Channel;
use crate::trace::{Observed, Outcome, StepEvent, StepKind, What};

impl<C: Channel> RunningCase<'_, C> {
    /// Checks whether the subject advertises what the case needs, as soon as that is known; true if it does not.
    pub(in crate::run) fn needs_unmet(&mut self) -> bool {
        for (index, need) in self.case.needs.iter().enumerate() {
            if self.met[index] {
                continue;
            }
            let Some((event, root)) = self.need_root(need.root) else { continue };
            if !is_met(need, &root) {
                let text = format!("needs: {}{}", if need.unmet { "not " } else { "" }, need.text);
                let observed = Some(Observed::Capability { need: need.text.clone(), advertised: need.unmet });
                let result = StepResult::new(StepKind::Needs, Outcome::NotApplicable);
                let result = StepResult { events: vec![event], observed, ..result };
                self.channel.record(What::Step(StepEvent { text, ..result.event() }));
                return true;
            }
            self.met[index] = true;
        }
        false
    }

    fn need_root(&self, root: NeedRoot) -> Option<(usize, Value)> {
        let adapter = self.case.edition.adapter;
        if root == NeedRoot::Client {
            let initialize = self.inbox.messages.iter().rev().find(|seen| seen.value["method"] == "initialize")?;
            let params = initialize.value.get("params").unwrap_or(&Value::Null);
            return Some((initialize.n, adapter.capabilities(Party::Client, params).cloned().unwrap_or_default()));
        }
        let method = if root == NeedRoot::Session { "session/new" } else { "initialize" };
        let asked = self.inbox.requests.values().find(|asked| asked.method == method)?;
        let seen = self.inbox.messages[asked.from..].iter().find(|seen| answers(&seen.value, &asked.id))?;
        let result = seen.value.get("result")?;
        let value = if root == NeedRoot::Agent {
            adapter.capabilities(Party::Agent, result).cloned().unwrap_or_default()
        } else {
            result.clone()
        };
        Some((seen.n, value))
    }
}

/// Whether the object that the need refers to meets it.
pub(in crate::run) fn is_met(need: &Need, root: &Value) -> bool {
    let value = need.path.iter().try_fold(root, |value, key| value.get(key));
    let there = value.is_some_and(|value| {
        !matches!(value, Value::Null | Value::Bool(false)) && value.as_array().is_none_or(|list| !list.is_empty())
    });
    there != need.unmet
}
