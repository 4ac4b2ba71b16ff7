//! The decisions of a case's steps: a step fails only the requirements that it names.

use crate::areas::common::NO_METHOD;
use crate::areas::support::{asks_first, is_usually_answered, waits_for_others};
use crate::conversation::{Conversation, Exchange, Session};
use crate::fact;
use crate::finding::Fact;
use crate::judge::step::{ended_unexplained, step_fact, step_text};
use crate::judge::tallies::Tallies;
use crate::requirement::{Flag, Party};
use crate::trace::{Outcome, StepEvent, StepKind};

/// JSON-RPC codes with which an agent refuses the message itself; any other error of a turn may come from its model.
const REFUSALS: [i64; 3] = [-32600, -32601, -32602];

/// Turns the outcome of a step into findings on the requirements that it decides.
pub(in crate::judge) fn judge_step(
    conversation: &Conversation,
    subject: Party,
    step: &StepEvent,
    case_requirements: &[String],
    n: usize,
    tallies: &mut Tallies,
) {
    if step.kind == StepKind::Needs && step.outcome == Outcome::NotApplicable {
        for requirement in case_requirements {
            tallies.ruling(requirement, n).not_applicable(step_fact(step, subject));
        }
    }
    for requirement in &step.decides {
        let has = |flag| conversation.edition.catalogue.has_flag(requirement, flag);
        if has(Flag::KnownMethod) && is_unknown_method(conversation, step) {
            continue;
        }
        let event = step.events.first().copied().unwrap_or(n);
        let mut ruling = tallies.ruling(requirement, event);
        match step.outcome {
            _ if conversation.edition.catalogue.is_probe(requirement) => ruling.note(probe_fact(step, subject)),
            Outcome::Done => ruling.pass(),
            Outcome::NotApplicable => ruling.not_applicable(step_fact(step, subject)),
            // An agent need not support the version of the case, and then the case expects what another version
            // forbids.
            _ if conversation.is_uncovered(subject) => ruling.not_applicable(step_fact(step, subject)),
            Outcome::Contradicted if step.kind == StepKind::Mcp && !shows_attempt(conversation, step) => {
                ruling.proved_by(&step.events).inconclusive(fact!(
                    "no-tool-call",
                    "{step}; the agent did not report a call of a tool of that server",
                    step = step_text(step, subject);
                    expectation = step.expected,
                    observation = step.observed
                ));
            }
            Outcome::Contradicted => match outside_cause(conversation, step) {
                Some(cause) => ruling.proved_by(&step.events).inconclusive(cause),
                None => ruling.proved_by(&step.events).fail(step_fact(step, subject)),
            },
            Outcome::Ended if conversation.initialized.is_some() && ended_unexplained(step, subject) => {
                ruling.proved_by(&with_cause_of_exit(conversation, step)).fail(step_fact(step, subject));
            }
            Outcome::TimedOut
                if was_passed_over(conversation, step, has(Flag::AnyRequest)) || was_left_out(conversation, step) =>
            {
                ruling.proved_by(&step.events).fail(fact!(
                    "unanswered-before-later",
                    "{step}, but answered a later request",
                    step = step_text(step, subject);
                    expectation = step.expected,
                    observation = step.observed
                ));
            }
            Outcome::TimedOut if has_stalled(conversation, step) => ruling.proved_by(&step.events).stalled(fact!(
                "stalled",
                "{step}; the {party} answered such a request before, and sent nothing since",
                step = step_text(step, subject),
                party = subject;
                expectation = step.expected,
                observation = step.observed
            )),
            Outcome::TimedOut
            | Outcome::Quiet
            | Outcome::Ended
            | Outcome::Missed
            | Outcome::LoginNeeded
            | Outcome::HarnessError => ruling.proved_by(&step.events).inconclusive(step_fact(step, subject)),
        }
    }
}

/// Returns the events of a step in which the subject exited, with those that may explain it: the last line that breaks
/// the protocol on purpose, and the last lines on standard error.
fn with_cause_of_exit(conversation: &Conversation, step: &StepEvent) -> Vec<usize> {
    let bad = conversation.deliberate.last();
    step.events.iter().chain(bad).chain(&conversation.stderr).copied().collect()
}

/// Whether the step shows that the subject does not know the method; then its answer to wrong params stays unknown.
fn is_unknown_method(conversation: &Conversation, step: &StepEvent) -> bool {
    step.events.iter().any(|event| matches!(conversation.errors.get(event), Some((_, NO_METHOD))))
}

/// Whether the step waited for the answer to a request that needs no user and no model, and a later one was answered.
/// Only a requirement on any request counts requests that some programs leave unanswered.
fn was_passed_over(conversation: &Conversation, step: &StepEvent, of_any: bool) -> bool {
    let waited_for = |open: &Exchange| step.events.contains(&open.n) && !open.deliberate;
    // A client that did the same before without its user does not wait for its user now.
    let alone =
        |method: &str| !waits_for_others(method) && (!asks_first(method) || conversation.served.contains(method));
    let usual = |open: &Exchange| of_any || is_usually_answered(conversation, open.from.other(), &open.method);
    let passed = |open: &Exchange| alone(&open.method) && usual(open) && conversation.fence.is_some_and(|n| n > open.n);
    // Only the tester's requests are awaited, whichever party it is.
    conversation.open.values().any(|open| waited_for(open) && passed(open))
}

/// Whether the step waited for the answer to a question of the agent, and the client answered such questions of the
/// case that came before and after it. The user has answered each, or the case would not require the answer.
fn was_left_out(conversation: &Conversation, step: &StepEvent) -> bool {
    let Some(open) = conversation.open_of(Party::Agent).find(|open| step.events.contains(&open.n)) else {
        return false;
    };
    let answered = || {
        let of_case = conversation.trials.of(Party::Agent).map(|trial| &trial.exchange);
        of_case.filter(|other| other.method == open.method && conversation.is_of_case(other.n))
    };
    answered().any(|other| other.n < open.n) && answered().any(|other| other.n > open.n)
}

/// Whether the subject sent nothing after the awaited request, although it answered a fence before. Then it is not a
/// subject that ignores such requests.
fn has_stalled(conversation: &Conversation, step: &StepEvent) -> bool {
    let Some(open) = conversation.open.values().find(|open| step.events.contains(&open.n)) else { return false };
    let last = conversation.last_line.get(&open.from.other());
    let silent = last.is_none_or(|&(n, _)| n < open.n)
        && conversation.stdout_ended.is_none()
        && conversation.shutting_down.is_none();
    silent && conversation.fence.is_some_and(|fence| fence < open.n)
}

/// Whether the agent tried to call the tool that the case asked for. An agent may connect to a server only then, and a
/// model may not do what it was asked.
fn shows_attempt(conversation: &Conversation, step: &StepEvent) -> bool {
    step.events.iter().any(|event| conversation.tool_reports.contains(event))
}

/// Whether this event ends a turn in which the agent did anything. It accepted the prompt then, whatever its error
/// says.
fn ended_accepted_turn(conversation: &Conversation, event: usize) -> bool {
    conversation.turn_logs().any(|(_, turn)| turn.acted && turn.ended.is_some_and(|(n, _)| n == event))
}

/// Returns an error that may not be the subject's own: a missing login, an unreachable model, or the sessions of
/// earlier cases.
fn outside_cause(conversation: &Conversation, step: &StepEvent) -> Option<Fact> {
    let (event, (method, code)) =
        step.events.iter().find_map(|event| Some((*event, conversation.errors.get(event)?)))?;
    if conversation.edition.methods.knows(Party::Agent, method) {
        // A client needs neither a login nor a model for its services.
        return None;
    }
    if *code == -32000 {
        return Some(fact!(
            "login-needed",
            "the agent answered {method} with error {code}, which asks for a login",
            method,
            code
        ));
    }
    let is_of_earlier = |session: &Session| session.closed.is_none() && !conversation.is_of_case(session.known);
    if method == "session/new" && conversation.sessions.values().any(is_of_earlier) {
        return Some(fact!(
            "refused-beside-others",
            "the agent answered {method} with error {code} while sessions of earlier cases were open; it may have room \
            for no other",
            method,
            code
        ));
    }
    let refuses = REFUSALS.contains(code) && !ended_accepted_turn(conversation, event);
    let from_the_model = method == "session/prompt" && !refuses;
    from_the_model.then(|| {
        fact!(
            "maybe-model-error",
            "the agent ended the turn with error {code}, which may come from its model",
            code;
            method = method
        )
    })
}

/// Returns the observation of a step about something that the specification leaves open.
fn probe_fact(step: &StepEvent, subject: Party) -> Fact {
    if step.outcome == Outcome::Done { Fact::holds() } else { step_fact(step, subject) }
}
