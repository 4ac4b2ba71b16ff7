//! How an agent takes the `initialize` requests of a run.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::Value;

use crate::requirement::Party;
use crate::run::limits::Limits;
use crate::run::timing::{LATER_STARTS, START_AFTER_SILENCE, STARTS_AFTER_SILENCE};
use crate::sync::lock;
use crate::trace::{Event, Outcome, What};
use crate::wire::{Content, Envelope, read_line};

/// How an agent takes the `initialize` requests of a run. This only saves time: no case can do more than its
/// `initialize` with a request that the agent refuses or leaves unanswered.
#[derive(Debug, Clone, Default)]
pub struct KnownOpenings(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    openings: Vec<Opening>,
    /// The longest time that the agent took to agree to a request, or to start first.
    slowest: Duration,
    is_ever_silent: bool,
}

/// A request, and what several processes did with it.
#[derive(Debug)]
struct Opening {
    params: Value,
    is_agreed: bool,
    failures: usize,
    /// How the first failure went.
    useless: Useless,
}

/// Why a case leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Useless {
    /// The agent refuses its `initialize`, or leaves it unanswered.
    Opening {
        /// The first case that sent it.
        case: String,
        /// Whether the agent answered with an error, instead of not at all.
        is_refused: bool,
    },
    /// The agent leaves every request of a method unanswered that the case needs.
    NoAnswer {
        /// The method.
        method: &'static str,
        /// The first case that sent it.
        case: String,
        /// The number of other cases that did.
        others: usize,
    },
    /// The subject leaves requests unanswered in the context of the case.
    Hangs {
        /// The subject.
        party: Party,
        /// The context.
        context: String,
        /// The cases that show it.
        cases: Vec<String>,
    },
}

impl Useless {
    /// Returns the first case that shows it.
    pub fn case(&self) -> &str {
        match self {
            Self::Opening { case, .. } | Self::NoAnswer { case, .. } => case,
            Self::Hangs { cases, .. } => cases.first().map(String::as_str).unwrap_or_default(),
        }
    }
}

impl fmt::Display for Useless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opening { case, is_refused } => {
                let what = if *is_refused { "refused" } else { "did not answer" };
                write!(f, "the agent {what} the same initialize in {case}")
            }
            Self::NoAnswer { method, case, others } => {
                let others = if *others == 1 { "another case".to_owned() } else { format!("{others} other cases") };
                write!(f, "the agent did not answer {method} in {case} and in {others}")
            }
            Self::Hangs { party, cases, .. } => {
                write!(f, "the {party} left a request unanswered in {}, in the same context", cases.join(" and "))
            }
        }
    }
}

/// What an agent did with the `initialize` of a process.
#[derive(Debug, PartialEq, Eq)]
enum Taken {
    Agreed {
        after: Duration,
    },
    Refused,
    /// It gave no answer before the time limit.
    Silent,
}

/// The number of processes that have to fail at the same request. One alone may have another reason.
const ENOUGH: usize = 2;

impl KnownOpenings {
    /// Returns how a request with these params failed, if it did in several processes and in no other way in any.
    pub(in crate::run) fn useless(&self, params: &Value) -> Option<Useless> {
        let known = self.known();
        let opening = known.openings.iter().find(|opening| opening.params == *params)?;
        (!opening.is_agreed && opening.failures >= ENOUGH).then(|| opening.useless.clone())
    }

    /// Records what the agent did with these params, from the events of a process that began with this case.
    pub(in crate::run) fn note(&self, params: &Value, case: &str, events: &[Event]) {
        let Some(taken) = taken(events.iter()) else { return };
        let mut known = self.known();
        if let Taken::Agreed { after } = taken {
            known.slowest = known.slowest.max(after);
        }
        known.is_ever_silent |= taken == Taken::Silent;
        let is_agreed = matches!(taken, Taken::Agreed { .. });
        match known.openings.iter_mut().find(|opening| opening.params == *params) {
            Some(opening) => {
                opening.is_agreed |= is_agreed;
                opening.failures += usize::from(!is_agreed);
            }
            None => known.openings.push(Opening {
                params: params.clone(),
                is_agreed,
                failures: usize::from(!is_agreed),
                useless: Useless::Opening { case: case.to_owned(), is_refused: taken == Taken::Refused },
            }),
        }
    }

    /// Records the first start of the run, which took this long.
    pub(crate) fn note_first_start(&self, took: Duration) {
        let mut known = self.known();
        known.slowest = known.slowest.max(took);
    }

    /// Returns the limits that fit a program which starts as slowly as this one did. A case that need not be alone
    /// waits less for an answer to `initialize` once the agent has left such a request unanswered and has shown how
    /// fast it agrees to others.
    pub(in crate::run) fn limits(&self, usual: Limits, is_alone: bool) -> Limits {
        let known = self.known();
        // A lower limit than usual is a wish of the user.
        let is_wish = usual.start < Limits::default().start;
        let start = if is_wish { usual.start } else { usual.start.max(LATER_STARTS * known.slowest) };
        let answer = usual.answer.max(known.slowest);
        if is_alone || !known.is_ever_silent || known.slowest.is_zero() {
            return Limits { start, answer, ..usual };
        }
        let short = START_AFTER_SILENCE.max(STARTS_AFTER_SILENCE * known.slowest);
        Limits { start: start.min(short), answer, ..usual }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.0)
    }
}

/// Whether the agent's first response in these events is an error; it answers `initialize`.
pub(in crate::run) fn refuses_initialize<'e>(events: impl Iterator<Item = &'e Event>) -> bool {
    taken(events) == Some(Taken::Refused)
}

/// Returns what the agent did with the first request in these events, if that can be told.
fn taken<'e>(events: impl Iterator<Item = &'e Event>) -> Option<Taken> {
    let mut sent = None;
    for event in events {
        match &event.what {
            What::Line { from: Party::Client, .. } => {
                sent.get_or_insert(event.us);
            }
            What::Line { from: Party::Agent, bytes, .. } => {
                let Content::One { value, .. } = read_line(bytes) else { continue };
                match Envelope::of(&value) {
                    Envelope::Response { id: Some(id), .. } if !id.is_null() => {
                        let after = Duration::from_micros(event.us.saturating_sub(sent.unwrap_or(event.us)));
                        let is_error = value.get("error").is_some();
                        return Some(if is_error { Taken::Refused } else { Taken::Agreed { after } });
                    }
                    _ => {}
                }
            }
            What::Step(step) if step.outcome == Outcome::TimedOut => return sent.map(|_| Taken::Silent),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::trace::Trace;

    const SECOND: Duration = Duration::from_secs(1);
    const LIMIT: Duration = Duration::from_secs(30);

    /// Returns the limit for `initialize` in a shared conversation.
    fn limit(known: &KnownOpenings, start: Duration) -> Duration {
        known.limits(Limits { start, ..Limits::default() }, false).start
    }

    /// Builds the trace of an `initialize` with this answer after a second, or with none before the time limit.
    fn trace(answer: Option<&str>) -> Trace {
        let header = r#"{"format":"acp-conformance-trace/2","suite":"0","edition":"v1@2026-11-20","subject":"agent"}"#;
        let asks =
            json!({ "n": 0, "us": 0, "from": "client", "line": r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"# });
        let next = match answer {
            Some(answer) => {
                let line = format!(r#"{{"jsonrpc":"2.0","id":0,{answer}}}"#);
                json!({ "n": 1, "us": 1_000_000, "from": "agent", "line": line })
            }
            None => {
                let step = json!({ "kind": "must", "line": 1, "text": "", "outcome": "timed-out" });
                json!({ "n": 1, "us": 30_000_000, "step": step })
            }
        };
        Trace::read(format!("{header}\n{asks}\n{next}\n").as_bytes()).expect("a trace")
    }

    fn refuses() -> Trace {
        trace(Some(r#""error":{"code":-32602,"message":"no"}"#))
    }

    fn agrees() -> Trace {
        trace(Some(r#""result":{}"#))
    }

    #[test]
    fn only_a_request_that_fails_in_two_processes_and_in_each_is_useless() {
        for (failing, is_refused) in [(refuses(), true), (trace(None), false)] {
            let mut by_client = failing.clone();
            for event in &mut by_client.events {
                if let What::Line { from, .. } = &mut event.what {
                    *from = Party::Client;
                }
            }
            by_client.events.retain(|event| matches!(event.what, What::Line { .. }));
            let (known, params) = (KnownOpenings::default(), json!({ "protocolVersion": 1 }));
            known.note(&params, "a", &failing.events);
            known.note(&params, "b", &by_client.events);
            assert_eq!(known.useless(&params), None, "one failure");
            known.note(&params, "c", &failing.events);
            assert_eq!(known.useless(&params), Some(Useless::Opening { case: "a".to_owned(), is_refused }));
            assert_eq!(known.useless(&json!({})), None, "another request");
            known.note(&params, "d", &agrees().events);
            assert_eq!(known.useless(&params), None, "it agreed once");
        }
    }

    #[test]
    fn limit_for_initialize_is_shorter_once_the_agent_is_silent_to_one_and_agrees_to_another() {
        let (known, params) = (KnownOpenings::default(), json!({}));
        known.note(&params, "a", &agrees().events);
        known.note(&params, "a", &refuses().events);
        assert_eq!(limit(&known, LIMIT), LIMIT, "each has an answer");
        known.note(&params, "a", &trace(None).events);
        assert_eq!(limit(&known, LIMIT), STARTS_AFTER_SILENCE * SECOND);
        assert_eq!(limit(&known, SECOND), SECOND, "a limit of the user");
        let silent = KnownOpenings::default();
        silent.note(&params, "a", &trace(None).events);
        assert_eq!(limit(&silent, LIMIT), LIMIT, "its usual time is unknown");
    }

    #[test]
    fn limits_fit_a_program_that_starts_slowly() {
        let known = KnownOpenings::default();
        known.note_first_start(60 * SECOND);
        let limits = known.limits(Limits::default(), true);
        assert_eq!((limits.start, limits.answer), (180 * SECOND, 60 * SECOND));
        assert_eq!(limit(&known, SECOND), SECOND, "a limit of the user");
    }
}
