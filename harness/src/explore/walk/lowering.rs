//! Makes one case of the moves of a walk.

use std::collections::BTreeSet;
use std::time::Duration;

use super::fragment::{Fragment, Left, TURN, contains};
use super::turn::{act, binds, cancel, end, next_to, renumber, running_turn};
use super::{Move, Place};
use crate::case::model::{Action, Case, LimitOverrides, Step};
use crate::requirement::Party;

/// A walk while it is lowered.
#[derive(Debug, Clone)]
pub struct Lowering<'c> {
    cases: &'c [Case],
    /// The case so far; none before the first move.
    case: Option<Case>,
    /// The cases of the moves so far.
    played: Vec<&'c Case>,
    /// What the last move left.
    left: Left,
    /// The include that opened the current session; none if other moves cannot play in it.
    session: Option<&'c str>,
    /// The names that the opening of the current session bound.
    opening: BTreeSet<String>,
    /// The names that have a value.
    bound: BTreeSet<String>,
}

impl<'c> Lowering<'c> {
    /// Begins a walk; `cases` are all cases.
    pub const fn new(cases: &'c [Case]) -> Self {
        Self {
            cases,
            case: None,
            played: Vec::new(),
            left: Left::Process(Vec::new()),
            session: None,
            opening: BTreeSet::new(),
            bound: BTreeSet::new(),
        }
    }

    /// Returns the case; none without a move.
    pub fn into_case(self) -> Option<Case> {
        self.case
    }

    /// Checks whether this move can be the next one.
    ///
    /// # Errors
    ///
    /// A sentence that says why not.
    pub fn check(&self, fragment: &Fragment<'_>, step: &Move) -> Result<(), String> {
        let name = &step.case;
        if !self.played.iter().all(|played| fragment.fits(played, self.cases)) {
            return Err(format!("`{name}` needs another tester or other files than the moves before it"));
        }
        if self.left == Left::Nothing {
            return Err(format!("`{name}` cannot follow: the move before it leaves something unfinished"));
        }
        let fits_session = self.session.is_some() && self.session == fragment.opening();
        if step.place != Place::NewSession && !fits_session {
            return Err(format!("no session is open in which `{name}` can play; without the `+` it opens one"));
        }
        let is_running = matches!(&self.left, Left::Session(turns) if turns.as_slice() == [TURN]);
        if step.place == Place::SameTurn && !is_running {
            return Err(format!("no turn is running in which `{name}` can play; with one `+` it begins one"));
        }
        if step.cancel_after.is_some_and(|after| !fragment.cancels().contains(&after)) {
            return Err(format!("`{name}` has no turn to cancel there"));
        }
        Ok(())
    }

    /// Adds a move.
    ///
    /// # Errors
    ///
    /// As for [`check`](Self::check).
    pub fn add(&mut self, fragment: Fragment<'c>, step: &Move, is_last: bool) -> Result<(), String> {
        self.check(&fragment, step)?;
        let Fragment { case, initialized, opened } = fragment;
        let body = opened.map_or(initialized, |(opened, _)| opened);
        let from = match (step.place, case.subject) {
            (Place::NewSession, _) => initialized,
            // The last step of the opening is the prompt of the next turn.
            (Place::SameSession, Party::Client) => body - 1,
            (Place::SameSession, Party::Agent) | (Place::SameTurn, _) => body,
        };
        let mut steps = self.between(case, step.place, &case.steps[from]);
        let mut keeps = match step.place {
            Place::NewSession => BTreeSet::new(),
            Place::SameSession | Place::SameTurn => self.opening.clone(),
        };
        if step.place == Place::SameSession {
            keeps.remove(&format!("{TURN}-id"));
        }
        let forgotten: Vec<String> = self.bound.difference(&keeps).cloned().collect();
        if !forgotten.is_empty() {
            steps.push(next_to(&case.steps[from], Action::Forget(forgotten), "the names of other moves"));
        }
        if step.place == Place::NewSession {
            self.opening = case.steps[from..body].iter().flat_map(binds).collect();
        }
        let end = step.cancel_after.map_or(case.steps.len(), |after| body + after);
        // Another move may do what this one forbids until its end.
        let stays = |step: &&Step| is_last || !matches!(step.action, Action::Never(_));
        let mut played: Vec<Step> = case.steps[from..end].iter().filter(stays).cloned().collect();
        self.bound = keeps.into_iter().chain(played.iter().flat_map(binds)).collect();
        if case.subject == Party::Client && !self.played.is_empty() {
            renumber(&mut played, self.played.len() + 1);
        }
        if step.cancel_after.is_some() {
            played.iter_mut().for_each(|step| step.decides.clear());
            // The turn of a client began in the opening, which may not play again.
            let of_turn = &case.steps[if case.subject == Party::Client { initialized } else { body }..end];
            if let (Some(turn), Some(last)) = (running_turn(of_turn, case.subject), of_turn.last()) {
                played.extend(cancel(last, &turn, case.subject));
            }
        }
        steps.extend(played);
        self.merge(case, steps, step.cancel_after.is_none());
        self.played.push(case);
        self.left = match fragment.leaves(self.cases) {
            _ if case.subject == Party::Client && step.cancel_after.is_some() => Left::Session(Vec::new()),
            left => left,
        };
        self.session = fragment.opening().filter(|_| matches!(self.left, Left::Session(_)));
        Ok(())
    }

    /// The steps before those of a move: a client's user ends what was before, and begins what the move needs.
    fn between(&self, case: &Case, place: Place, at: &Step) -> Vec<Step> {
        if case.subject == Party::Agent || self.played.is_empty() || place == Place::SameTurn {
            return Vec::new();
        }
        let turns = match &self.left {
            Left::Session(turns) | Left::Process(turns) => turns.as_slice(),
            Left::Nothing => &[],
        };
        let mut steps: Vec<Step> =
            turns.iter().map(|turn| next_to(at, end(turn, "end_turn"), "the end of the turn")).collect();
        if place == Place::NewSession {
            steps.push(next_to(at, act("new-session", []), "the user opens a session"));
        }
        let prompt = act("prompt", [("text", &case.user.prompt)]);
        steps.push(next_to(at, prompt, "the user prompts"));
        steps
    }

    /// Adds the steps and the setup of a case.
    fn merge(&mut self, case: &Case, steps: Vec<Step>, decides: bool) {
        let initialized = case.steps.iter().take_while(|step| case.include_of(step) == Some("initialize")).count();
        let whole = self.case.get_or_insert_with(|| Case {
            steps: case.steps[..initialized].to_vec(),
            requirements: Vec::new(),
            needs: Vec::new(),
            workspace: Vec::new(),
            ..case.clone()
        });
        if contains(&case.tester.capabilities, &whole.tester.capabilities) {
            whole.tester.capabilities = case.tester.capabilities.clone();
        }
        whole.tester.by_hand.extend(case.tester.by_hand.iter().cloned());
        if case.subject == Party::Client {
            whole.tester.by_hand.insert("session/prompt".to_owned());
        }
        add_new(&mut whole.workspace, &case.workspace);
        add_new(&mut whole.needs, &case.needs);
        whole.limits = longer(whole.limits, case.limits);
        if decides {
            add_new(&mut whole.requirements, &case.requirements);
        }
        whole.steps.extend(steps);
    }
}

/// Adds the items that are not in a list yet.
fn add_new<T: Clone + PartialEq>(list: &mut Vec<T>, items: &[T]) {
    for item in items {
        if !list.contains(item) {
            list.push(item.clone());
        }
    }
}

/// The longer one of both limits; none where a case keeps the usual limit.
fn longer(one: LimitOverrides, other: LimitOverrides) -> LimitOverrides {
    let longer = |one: Option<Duration>, other: Option<Duration>| one.zip(other).map(|(one, other)| one.max(other));
    LimitOverrides {
        start: longer(one.start, other.start),
        answer: longer(one.answer, other.answer),
        turn: longer(one.turn, other.turn),
        exit: longer(one.exit, other.exit),
    }
}
