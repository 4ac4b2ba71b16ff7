//! Where a subject stops answering, as observed in this run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use super::known_openings::Useless;
use crate::case::model::{Body, Case};
use crate::requirement::Party;
use crate::sync::lock;

/// The requests without whose answers a case of an agent can do little, and the number of cases that have to wait for
/// one. Several cases run at once, and on a busy machine the first turns of all of them may be slow.
const NEEDED: [(&str, usize); 2] = [("session/new", ENOUGH), ("session/prompt", 2 * ENOUGH)];

/// Where a subject leaves requests unanswered until the time limit. This only saves time: further cases of the same
/// kind would wait as long and decide as little.
#[derive(Debug, Clone, Default)]
pub struct KnownHangs(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// The needed requests that the agent ever answered, if they were legal.
    answered: BTreeSet<&'static str>,
    /// The cases in which it did not answer them.
    unanswered: BTreeMap<&'static str, Vec<String>>,
    /// The cases with an unanswered request, by context.
    by_context: BTreeMap<String, Vec<String>>,
}

/// The number of cases that have to hang. One alone may have another reason.
const ENOUGH: usize = 2;

impl KnownHangs {
    /// Records a request of the tester that was answered, if it was legal: an agent may refuse at once what it need
    /// not understand.
    pub(in crate::run) fn note_answer(&self, method: &str) {
        self.known().answered.extend(needed(method));
    }

    /// Records a request of the tester that was not answered before the time limit.
    pub(in crate::run) fn note_silence(&self, case: &Case, method: &str) {
        let mut known = self.known();
        if let Some(method) = needed(method).filter(|_| case.subject == Party::Agent) {
            add(known.unanswered.entry(method).or_default(), &case.id);
        }
        if let Some(context) = &case.context {
            add(known.by_context.entry(context.clone()).or_default(), &case.id);
        }
    }

    /// Returns why a case would only wait for a time limit.
    pub(in crate::run) fn useless(&self, case: &Case) -> Option<Useless> {
        let known = self.known();
        let sends = |wanted: &str| {
            case.sent().any(|line| matches!(&line.body, Body::Request { method, .. } if method == wanted))
        };
        let enough = |cases: &&Vec<String>, number: usize| cases.len() >= number && !cases.contains(&case.id);
        for (method, number) in NEEDED.into_iter().filter(|_| case.subject == Party::Agent) {
            let silent = known.unanswered.get(method).filter(|cases| enough(cases, number));
            if let Some(cases) = silent.filter(|_| !known.answered.contains(method) && sends(method)) {
                return Some(Useless::NoAnswer { method, case: cases[0].clone(), others: cases.len() - 1 });
            }
        }
        let context = case.context.as_ref()?;
        let hung = known.by_context.get(context).filter(|cases| enough(cases, ENOUGH))?;
        Some(Useless::Hangs { party: case.subject, context: context.clone(), cases: hung[..ENOUGH].to_vec() })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.0)
    }
}

/// Returns the method if it is one of those that a case needs.
fn needed(method: &str) -> Option<&'static str> {
    NEEDED.into_iter().map(|(needed, _)| needed).find(|needed| *needed == method)
}

fn add(cases: &mut Vec<String>, id: &str) {
    if !cases.iter().any(|known| known == id) {
        cases.push(id.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::embedded_case;
    use crate::edition::V1;

    fn case(id: &str) -> Case {
        embedded_case(id, &V1).expect("a case")
    }

    #[test]
    fn two_cases_without_a_session_are_enough_unless_another_has_one() {
        const SESSION: &str = NEEDED[0].0;
        let (known, next) = (KnownHangs::default(), case("v1/agent/prompt/text"));
        for id in ["v1/agent/fs/read", "v1/agent/fs/read"] {
            known.note_silence(&case(id), SESSION);
        }
        assert_eq!(known.useless(&next), None, "one case");
        known.note_silence(&case("v1/agent/fs/write"), SESSION);
        assert!(known.useless(&next).is_some_and(|why| why.case() == "v1/agent/fs/read"));
        assert_eq!(known.useless(&case("v1/agent/init/handshake")), None, "it needs no session");
        known.note_answer(SESSION);
        assert_eq!(known.useless(&next), None, "the agent can open sessions");
    }

    #[test]
    fn four_prompts_without_an_answer_are_enough_unless_another_has_one() {
        let (known, next) = (KnownHangs::default(), case("v1/agent/prompt/text"));
        known.note_answer("session/new");
        for id in ["v1/agent/fs/read", "v1/agent/fs/write", "v1/agent/tool/read", "v1/agent/cancel/after-turn"] {
            assert_eq!(known.useless(&next), None);
            known.note_silence(&case(id), "session/prompt");
        }
        let why = known.useless(&next).expect("four prompts").to_string();
        assert_eq!(why, "the agent did not answer session/prompt in v1/agent/fs/read and in 3 other cases");
        assert_eq!(known.useless(&case("v1/agent/session/new")), None, "it has no prompt");
        known.note_answer("session/prompt");
        assert_eq!(known.useless(&next), None, "the agent ends turns");
    }

    #[test]
    fn two_hangs_in_a_context_skip_its_other_cases() {
        let (known, next) = (KnownHangs::default(), case("v1/agent/prompt/text@after-cancel"));
        known.note_answer("session/new");
        known.note_answer("session/prompt");
        for id in ["v1/agent/fs/read@after-cancel", "v1/agent/fs/write", "v1/agent/fs/write@after-load"] {
            known.note_silence(&case(id), "session/prompt");
        }
        assert_eq!(known.useless(&next), None, "one hang in this context");
        known.note_silence(&case("v1/agent/fs/write@after-cancel"), "session/prompt");
        let why = known.useless(&next).expect("two hangs");
        let text = "the agent left a request unanswered in v1/agent/fs/read@after-cancel and v1/agent/fs/write@after-cancel, in the same \
                    context";
        assert_eq!(why.to_string(), text);
        assert_eq!(known.useless(&case("v1/agent/prompt/text")), None, "the first use");
    }
}
