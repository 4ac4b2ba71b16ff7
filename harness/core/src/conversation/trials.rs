//! The answered requests of a case. Those that differ in one thing show by contrast why some of them are refused.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;

use super::{Conversation, Exchange};
use crate::conversation::outcome::Outcome;
use crate::conversation::timing::between;
use crate::requirement::Party;
use crate::wire::Members;

/// A request with its answer.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The event of the answer.
    pub n: usize,
    /// The time of the answer, in microseconds since the start of the trace.
    pub us: u64,
    /// The request.
    pub exchange: Rc<Exchange>,
    /// The code of an error; 0 if it has none.
    pub error: Option<i64>,
    /// Whether the turn in which it was sent still ran when it was answered.
    pub in_turn: bool,
    /// Whether the client had changed the mode or an option of its session.
    pub was_set: bool,
    /// Whether it sets the mode or an option of its session to the value that it has already.
    pub to_current: bool,
    /// Whether it sets the mode or an option of its session to a value that the session lists.
    pub to_listed: bool,
    /// Whether a login came last, or a logout; `None` before both.
    pub logged_in: Option<bool>,
    /// Whether it was sent in an open session that its client has closed, or is closing, since then.
    pub closed: bool,
    /// The facts about the turn, if this is a prompt whose turn ends with the answer.
    pub turn: Option<TurnTrial>,
}

/// A turn, as far as it may explain its end.
#[derive(Debug, Clone)]
pub struct TurnTrial {
    /// Whether the agent did anything in it; see [`super::TurnLog::acted`].
    pub acted: bool,
    /// The last way in which the client stopped it.
    pub stop: Option<Stop>,
    /// Whether the client answered a request of the agent with a result.
    pub served: bool,
    /// Whether such a result had a `_meta`.
    pub meta_answer: bool,
    /// Whether the client did not know an extension method of the agent.
    pub lacked_extension: bool,
}

/// The way in which the client stopped a turn.
#[derive(Debug, Clone, Copy)]
pub struct Stop {
    /// The message that stopped it.
    pub by: StoppedBy,
    /// The event of that message.
    pub n: usize,
    /// The time from then to the answer.
    pub ago: Duration,
    /// Whether the turn had output before.
    pub begun: bool,
}

/// The message that stopped a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoppedBy {
    /// `session/cancel`.
    Cancel,
    /// `$/cancel_request`.
    CancelRequest,
    /// `session/close`.
    Close,
}

/// The most requests that are remembered.
const MOST: usize = 1024;

/// The answered requests of a case, oldest first; empty for a recording, whose requests may have reasons that it does
/// not show.
#[derive(Debug, Default)]
pub struct Trials(VecDeque<Trial>);

impl Trials {
    /// Returns the requests of a party.
    pub fn of(&self, sender: Party) -> impl DoubleEndedIterator<Item = &Trial> {
        self.0.iter().filter(move |trial| trial.exchange.from == sender)
    }

    /// Returns a proof that requests are refused because of a property: at least two that have it were all refused, and
    /// at least two that are `alike` and do not have it were all answered with a result. The proof is a refused
    /// one, with the events of its answer and of three others.
    pub fn contrast(
        &self,
        has: impl Fn(&Trial) -> bool,
        is_refused: impl Fn(&Trial) -> bool,
        alike: impl Fn(&Trial, &Trial) -> bool,
    ) -> Option<(&Trial, [usize; 4])> {
        self.0.iter().filter(|trial| has(trial) && is_refused(trial)).find_map(|first| {
            let group = self.0.iter().filter(|other| alike(first, other));
            let (with, without): (Vec<&Trial>, Vec<&Trial>) = group.partition(|other| has(other));
            let refused = with.iter().all(|trial| is_refused(trial));
            let accepted = without.iter().all(|trial| trial.error.is_none());
            match (with.as_slice(), without.as_slice()) {
                ([one, two, ..], [third, fourth, ..]) if refused && accepted => {
                    Some((first, [one.n, two.n, third.n, fourth.n]))
                }
                _ => None,
            }
        })
    }
}

impl Trial {
    /// Whether it has the same method and params as another request, apart from one member of the params.
    pub fn is_like(&self, other: &Self, apart_from: &str) -> bool {
        let members = |trial: &Self| trial.exchange.params.as_object().map(|params| params.len()).unwrap_or_default();
        let has = |trial: &Self| usize::from(trial.exchange.params.member(apart_from).is_some());
        self.exchange.from == other.exchange.from
            && self.exchange.method == other.exchange.method
            && members(self) - has(self) == members(other) - has(other)
            && self
                .exchange
                .params
                .as_object()
                .into_iter()
                .flatten()
                .all(|(name, value)| name == apart_from || other.exchange.params.member(name) == Some(value))
    }

    /// Whether it is a prompt, and the agent did nothing in its turn.
    pub fn did_nothing(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| !turn.acted)
    }

    /// Whether it is a prompt of the same session as another one.
    pub fn is_turn_beside(&self, other: &Self) -> bool {
        self.turn.is_some() && other.turn.is_some() && self.exchange.session() == other.exchange.session()
    }
}

impl Conversation {
    /// Records the answer to a request, before the conversation changes by it.
    pub(crate) fn note_trial(&mut self, (n, us): (usize, u64), exchange: &Rc<Exchange>, outcome: Outcome<'_>) {
        if !self.whole || exchange.deliberate {
            return;
        }
        let session = exchange.session().and_then(|id| self.session(id));
        let turn = session.and_then(|session| session.turn.as_ref());
        let trial = Trial {
            n,
            us,
            exchange: Rc::clone(exchange),
            error: match outcome {
                Outcome::Result(_) => None,
                Outcome::Error(_) => Some(outcome.error_code().unwrap_or_default()),
            },
            in_turn: turn.is_some_and(|turn| exchange.turn == Some(turn.n)),
            was_set: session.is_some_and(|session| session.was_set),
            to_current: session.is_some_and(|session| session.has_setting(exchange)),
            to_listed: session.is_some_and(|session| session.lists_setting(exchange)),
            closed: self.is_closing(exchange),
            logged_in: match &self.login {
                login if login.done.is_some() => Some(true),
                login => login.undone.map(|_| false),
            },
            turn: self.turn_trial((n, us), exchange),
        };
        if self.trials.0.len() == MOST {
            self.trials.0.pop_front();
        }
        self.trials.0.push_back(trial);
    }

    fn is_closing(&self, exchange: &Exchange) -> bool {
        let Some(id) = exchange.session() else { return false };
        let mut open = self.open_of(Party::Client).filter(|open| open.method == "session/close" && open.n > exchange.n);
        let closed = self.session(id).and_then(|session| session.closed).is_some_and(|closed| closed > exchange.n);
        closed || open.any(|open| open.session() == Some(id))
    }

    fn turn_trial(&self, (_, us): (usize, u64), exchange: &Exchange) -> Option<TurnTrial> {
        let id = exchange.session()?;
        let turn = self.session(id)?.turn.as_ref().filter(|turn| turn.n == exchange.n && !turn.overlapped)?;
        let log = self.session(id)?.log.as_ref().filter(|log| log.n == exchange.n)?;
        let request =
            self.cancel_requests_of(Party::Client).find(|cancel| cancel.id == exchange.id && cancel.n > turn.n);
        let close = turn.closed.and_then(|n| {
            let open = self.open_of(Party::Client).find(|open| open.n == n).map(|open| open.us);
            open.or_else(|| {
                self.trials.of(Party::Client).find(|trial| trial.exchange.n == n).map(|trial| trial.exchange.us)
            })
        });
        let stops = [
            log.at_cancel.as_ref().map(|at| (StoppedBy::Cancel, at.n, at.us)),
            request.map(|cancel| (StoppedBy::CancelRequest, cancel.n, cancel.us)),
            turn.closed.zip(close).map(|(n, us)| (StoppedBy::Close, n, us)),
        ];
        let last = stops.into_iter().flatten().max_by_key(|(_, n, _)| *n);
        let asked = || self.trials.of(Party::Agent).filter(|trial| trial.exchange.n > exchange.n);
        Some(TurnTrial {
            acted: log.acted,
            stop: last.map(|(by, n, stopped)| Stop {
                by,
                n,
                ago: between(stopped, us),
                begun: turn.first_output.is_some_and(|output| output < n),
            }),
            served: asked().any(|trial| trial.error.is_none()),
            meta_answer: turn.meta_answer.is_some(),
            lacked_extension: asked()
                .any(|trial| trial.exchange.method.starts_with('_') && trial.error == Some(-32601)),
        })
    }
}

/// Whether a member of params is an object with something in it.
pub fn has_entries(params: &Value, name: &str) -> bool {
    params.member(name).and_then(Value::as_object).is_some_and(|object| !object.is_empty())
}
