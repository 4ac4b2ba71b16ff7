//! Runs the transcript of a case, and records how its steps went.

#[cfg(test)]
mod tests;

use tokio::time::Instant;

use super::case::{RunningCase, StepResult, own_fault};
use super::channel::Channel;
use super::step::{self, act};
use super::timing::{AFTERMATH, RELEASE_TERMINALS};
use crate::case::model::{Action, IncomingBody, Step};
use crate::requirement::Party;
use crate::run::case::cannot_act;
use crate::trace::{Expected, Observed, Outcome, StepEvent, StepKind, What};

/// Whether the transcript continues after a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    Stop,
}

/// Runs the steps in order, up to the first one that prevents the others.
pub(super) async fn run<C: Channel>(running: &mut RunningCase<'_, C>) {
    let case = running.case;
    let mut whole = true;
    // A process that served another case has shown what it advertises. Without this, the session that the user of a
    // client opens for this case could come during the next one.
    if running.needs_unmet() {
        return record_nevers(running, false);
    }
    if let Err(why) = act::begin(running) {
        running.channel.record(What::Step(cannot_act(why)));
        return;
    }
    for (index, step) in case.steps.iter().enumerate() {
        running.current = index;
        let result = step::run(running, index, step).await;
        let next = note(running, index, step, result);
        if let Some(fault) = running.channel.state().own_fault.clone() {
            running.channel.record(What::Step(own_fault(fault)));
            return;
        }
        if running.needs_unmet() || next == Next::Stop {
            whole = false;
            break;
        }
    }
    if running.subject.confirms && running.unmet.is_none() {
        // What showed in a longer conversation may come a moment after the last line.
        running.pass_time(Instant::now() + AFTERMATH).await;
    }
    if whole && case.subject == Party::Client {
        whole = is_alive(running).await;
    }
    if whole && running.channel.state().holds_terminals && !running.input_closed {
        wait_for_release(running).await;
    }
    record_nevers(running, whole);
}

/// Ends the transcript of a client with a fence, to distinguish one that crashed or hangs from one that is silent.
async fn is_alive<C: Channel>(running: &mut RunningCase<'_, C>) -> bool {
    let last = running.case.steps.last();
    let fenced = last.is_some_and(|step| matches!(step.action, Action::Fence | Action::End | Action::Exit { .. }));
    // A client may exit once its turn is over.
    if fenced || running.input_closed || !running.channel.state().in_turn(running.connection) {
        return true;
    }
    let result = running.fence(running.limits.answer).await;
    let alive = matches!(result.outcome, Outcome::Done | Outcome::Quiet);
    let event = StepEvent { text: "a sign of life at the end".to_owned(), ..result.event() };
    running.channel.record(What::Step(event));
    alive
}

/// Gives an agent the time to release its terminals, and then proves with a fence that it had that time.
async fn wait_for_release<C: Channel>(running: &mut RunningCase<'_, C>) {
    let released = |running: &RunningCase<'_, C>| {
        let state = running.channel.state();
        state.over || !state.holds_terminals
    };
    if running.until(Instant::now() + RELEASE_TERMINALS, released).await {
        return;
    }
    let result = running.fence(running.limits.answer).await;
    let event = StepEvent { text: "a fence before the end".to_owned(), ..result.event() };
    running.channel.record(What::Step(event));
}

/// Records how a step went. A line that was sent as written needs no event, since it is in the trace; neither does a
/// check that passed and decides nothing. An act of a user is in no line.
fn note<C: Channel>(running: &mut RunningCase<'_, C>, index: usize, step: &Step, result: StepResult) -> Next {
    let next = match result.outcome {
        Outcome::Missed if matches!(result.kind, StepKind::Send | StepKind::Act | StepKind::Must) => Next::Stop,
        Outcome::Done | Outcome::Missed | Outcome::Quiet => Next::GoOn,
        // A check decides only its requirement; the conversation continues as written.
        Outcome::Contradicted if is_check(result.kind) => Next::GoOn,
        _ => Next::Stop,
    };
    let matched = matches!(result.kind, StepKind::Must | StepKind::Optional) && !result.events.is_empty();
    let informative = matched || matches!(result.kind, StepKind::Fence | StepKind::Act) || !step.decides.is_empty();
    let silent = result.outcome == Outcome::Done && !informative;
    // A wrong text or file without a requirement of its own counts as an unmet optional step.
    let undecided = result.outcome == Outcome::Contradicted && step.decides.is_empty();
    let unmet = result.outcome == Outcome::Missed || undecided;
    if !silent && result.kind != StepKind::Never {
        // A person may have chosen something else than the case asked for.
        let by_mistake = running.chosen_by_person && result.outcome == Outcome::Contradicted;
        record(running, step, result, running.unmet.is_none() && !by_mistake);
    }
    running.unmet = running.unmet.or(unmet.then_some(index));
    next
}

fn record<C: Channel>(running: &mut RunningCase<'_, C>, step: &Step, result: StepResult, decides: bool) {
    let intent = if result.outcome == Outcome::Done { None } else { running.intent.clone() };
    let event = StepEvent {
        intent,
        line: step.place.line,
        include: running.case.include_of(step).map(str::to_owned),
        text: step.text.clone(),
        decides: if decides { step.decides.clone() } else { Vec::new() },
        ..result.event()
    };
    running.channel.record(What::Step(event));
}

/// Records for every forbidden line whether it came. Its absence proves something only if the transcript ran to its end
/// with all optional steps met.
fn record_nevers<C: Channel>(running: &mut RunningCase<'_, C>, whole: bool) {
    let case = running.case;
    for (index, step) in case.steps.iter().enumerate() {
        let Action::Never(line) = &step.action else { continue };
        let events = running.inbox.forbidden(line, index, &running.bindings);
        let message = running.inbox.describe(line);
        let expected = Some(match &line.body {
            IncomingBody::Call { params: Some(params), .. } => {
                Expected::NoMessageWith { message, params: running.bindings.interpolate(params.written()) }
            }
            _ => Expected::NoMessage(message),
        });
        let (outcome, observed, decides) = if events.is_empty() && running.had_weak_fence {
            (Outcome::Quiet, Some(Observed::NoMessageSoFar), whole && running.unmet.is_none())
        } else if events.is_empty() {
            (Outcome::Done, None, whole && running.unmet.is_none())
        } else {
            (Outcome::Contradicted, Some(Observed::Message), running.unmet.is_none_or(|unmet| index < unmet))
        };
        record(running, step, StepResult { kind: StepKind::Never, outcome, events, expected, observed }, decides);
    }
}

/// Whether a step of this kind checks something outside the conversation.
const fn is_check(kind: StepKind) -> bool {
    matches!(kind, StepKind::Reply | StepKind::File | StepKind::Process | StepKind::Page | StepKind::Mcp)
}
