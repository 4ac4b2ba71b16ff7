//! Which cases share a conversation, and in which order.
//!
//! Cases that send the same `initialize` share one; what they do afterwards stays in sessions of their own. Cases that
//! change what later ones would see, whatever the agent does, come last. A case that is about the start of the process
//! is alone.
//!
//! Cases of a client share one if they answer `initialize` in the same way and the client starts with the same
//! settings.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::step::send;
use crate::case::model::{Action, Body, Case, Ids, IncomingBody, Outgoing, Presence, WireSetup};
use crate::case::template::Bindings;
use crate::requirement::{Level, Party, Requirement};
use crate::results::case_id;

/// The number of cases that justify another conversation, so that several jobs have work.
const WORTH_A_START: usize = 12;

/// Returns the conversations of a run: the positions of their cases, in the order of running.
///
/// A run may end at a time limit, so the parts of the large conversation that are worth most come first, then short
/// ones by what they add, and the others by their size. Requirements about what only the tester offers do not count
/// for these, since few programs use all of that.
pub(super) fn conversations(cases: &[Case], jobs: usize, alone: impl Fn(&Case) -> bool) -> Vec<Vec<usize>> {
    let mut planned = by_size(cases, jobs, alone);
    let begins = |conversation: &[usize]| opening(&cases[conversation[0]]);
    let is_large = |conversation: &&Vec<usize>| conversation.len() >= WORTH_A_START;
    let of_largest = planned.iter().filter(is_large).take_while(|part| begins(part) == begins(&planned[0])).count();
    let others = planned.split_off(leading(of_largest).min(planned.len()));
    let (mut short, long): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|conversation| conversation.len() < WORTH_A_START);
    // What comes late in a large conversation is not covered soon.
    let soon = planned.iter().flatten().map(|&index| &cases[index]).filter(|case| !is_late(case));
    let mut covered: HashSet<&String> = soon.flat_map(covers).collect();
    let further = |conversation: &[usize], covered: &HashSet<&String>| {
        further_worth(cases, conversation, covered, |case, one| {
            !one.applies_when.condition.requires_offer(case.subject.other())
        })
    };
    while let Some(next) = (0..short.len()).rev().max_by_key(|&at| further(&short[at], &covered))
        && further(&short[next], &covered) > 0
    {
        let next = short.remove(next);
        covered.extend(next.iter().flat_map(|&index| covers(&cases[index])));
        planned.push(next);
    }
    planned.extend(long);
    planned.extend(short);
    planned
}

/// Returns the number of parts of a conversation that begin at once, with the cases that cover most: all but one, so
/// that a job is left for short conversations.
fn leading(parts: usize) -> usize {
    (parts - parts.min(1)).max(1)
}

/// Returns the conversations of a run, large ones first, and then the cases that are alone.
fn by_size(cases: &[Case], jobs: usize, alone: impl Fn(&Case) -> bool) -> Vec<Vec<usize>> {
    let mut groups: Vec<(Value, Vec<usize>)> = Vec::new();
    let mut single = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        match opening(case).filter(|_| !alone(case)) {
            Some(params) => match groups.iter_mut().find(|(other, _)| *other == params) {
                Some((_, group)) => group.push(index),
                None => groups.push((params, vec![index])),
            },
            None => single.push(vec![index]),
        }
    }
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.len()));
    let (mut conversations, mut apart): (Vec<Vec<usize>>, Vec<_>) = Default::default();
    for (_, mut group) in groups {
        group.sort_by_key(|&index| place(&cases[index]));
        let parts = (group.len() / WORTH_A_START).clamp(1, jobs.max(1));
        let (usual, late) = group.split_at(group.partition_point(|&index| !is_late(&cases[index])));
        // The first results of a run are those of the few cases that cover most, the most first. Before them come some
        // with quick commands, which show whether it is worth waiting for a long one.
        let covering = covering(cases, usual, &[]);
        let mut usual = usual.to_vec();
        let quick = covering.iter().filter(|&&index| runs_quick_command(&cases[index])).take(2 * leading(parts));
        let quick: HashSet<usize> = quick.copied().collect();
        let place = |index| covering.iter().position(|&covers| covers == index).unwrap_or(covering.len());
        usual.sort_by_key(|&index| {
            let (case, place) = (&cases[index], place(index));
            let is_last = place == covering.len() && commands(case).any(takes_long);
            (!writes_as_usual(case), place == covering.len(), is_last, !quick.contains(&index), place)
        });
        let leads = |&index: &usize| writes_as_usual(&cases[index]) && covering.contains(&index);
        let (first, mut others) = usual.split_at(usual.partition_point(leads));
        let (size, leading) = (usual.len().div_ceil(parts), leading(parts));
        let telling = if parts > 1 { telling(cases, late, &usual) } else { Vec::new() };
        let late: Vec<usize> = late.iter().copied().filter(|index| !telling.contains(index)).collect();
        conversations.extend((0..parts).map(|part| {
            let first = if part < leading { first } else { &[] };
            let first: Vec<usize> = first.iter().skip(part).step_by(leading).copied().collect();
            // Neighbours share what the agent learned not to do.
            let (next, rest) = others.split_at(size.saturating_sub(first.len()).min(others.len()));
            others = rest;
            // Each part gets its share of the late cases, which wait for crashes.
            let late = late.iter().skip(part).step_by(parts);
            first.iter().chain(next).chain(late).copied().collect()
        }));
        apart.extend(Some(telling).filter(|cases| !cases.is_empty()));
    }
    conversations.extend(apart);
    conversations.extend(single);
    conversations
}

/// Returns a few of the late cases that add most to the usual ones, for a short conversation of their own. Many
/// programs make mistakes with lines that break the protocol, and these should not come at the end of a run.
fn telling(cases: &[Case], late: &[usize], usual: &[usize]) -> Vec<usize> {
    let alike = |index: &&usize| place(&cases[**index]) == (Some(Effect::None), true, false);
    let late: Vec<usize> = late.iter().filter(alike).copied().collect();
    let mut telling = covering(cases, &late, usual);
    telling.truncate(WORTH_A_START - 1);
    telling
}

/// Returns what a case covers: its requirements, and itself, since a mistake may show in one case only.
fn covers(case: &Case) -> impl Iterator<Item = &String> {
    case.requirements.iter().chain([&case.id])
}

/// Returns a few of these cases that together are for every MUST for which any of them is, for every requirement that
/// real programs break, and all that showed that, apart from what the cases `before` cover, with those that are worth
/// most first.
fn covering(cases: &[Case], among: &[usize], before: &[usize]) -> Vec<usize> {
    let mut chosen = Vec::new();
    let mut covered: HashSet<&String> = before.iter().flat_map(|&index| covers(&cases[index])).collect();
    // The case that adds most comes next; of equal ones the first, which `max_by_key` would pass over.
    while let Some(&next) = among.iter().rev().max_by_key(|&&index| further_worth_of(cases, index, &covered))
        && further_worth_of(cases, next, &covered) > 0
    {
        covered.extend(covers(&cases[next]));
        chosen.push(next);
    }
    chosen
}

fn further_worth_of(cases: &[Case], at: usize, covered: &HashSet<&String>) -> usize {
    further_worth(cases, &[at], covered, |_, _| true)
}

/// Returns what the cases at these positions are worth, apart from what is covered, and from requirements that do not
/// count.
fn further_worth(
    cases: &[Case],
    at: &[usize],
    covered: &HashSet<&String>,
    counts: impl Fn(&Case, &Requirement) -> bool,
) -> usize {
    let of_cases = at.iter().map(|&index| &cases[index]).flat_map(|case| covers(case).map(move |id| (id, case)));
    let further: HashMap<&String, &Case> = of_cases.filter(|(id, _)| !covered.contains(id)).collect();
    let worth = |(id, case): (&String, &Case)| {
        if *id == case.id {
            return mistakes_known(id);
        }
        let found = case.edition.catalogue.find(id).filter(|one| counts(case, one));
        found.map_or(0, |one| usize::from(one.level == Level::Must) + mistakes_known(id))
    };
    further.into_iter().map(worth).sum()
}

/// Returns how many programs in docs/subjects.md break the requirement with this id, or how many such mistakes the case
/// with this id was the first to show. The mistakes of some programs are a good guess at those of others.
fn mistakes_known(id: &str) -> usize {
    static MISTAKES: LazyLock<HashMap<&str, usize>> = LazyLock::new(|| {
        let line = |line: &'static str| {
            let (id, mistakes) = line.split_once(' ').expect("`ID MISTAKES`");
            (id, mistakes.parse().expect("a number"))
        };
        BROKEN.lines().map(line).collect()
    });
    MISTAKES.get(id).copied().unwrap_or(0)
}

/// The requirements that real programs break, each with the number of programs, and the cases that showed it, each with
/// the number of mistakes; `scripts/subjects` writes it.
const BROKEN: &str = include_str!("plan/broken.txt");

/// Returns the positions of cases that repeat others: the contexts of a case, and the shapes of a case that cost
/// further starts.
///
/// The latter are those in conversations that hold only shapes of case files whose other shapes share a larger
/// conversation. `shares` says whether the subject can share conversations.
pub fn repeated(cases: &[Case], shares: bool) -> Vec<usize> {
    let ids: HashSet<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    let is_context = |case: &Case| case.first_use().is_some_and(|first| ids.contains(first));
    let mut files = HashSet::new();
    let mut repeated = Vec::new();
    for mut conversation in by_size(cases, 1, |_| !shares) {
        conversation.retain(|&index| !is_context(&cases[index]));
        let is_repeated = |&index: &usize| {
            let id = &cases[index].id;
            case_id::has_shape(id) && files.contains(Case::file_of(id))
        };
        if conversation.iter().all(is_repeated) {
            repeated.extend(conversation);
        } else {
            files.extend(conversation.iter().map(|&index| Case::file_of(&cases[index].id)));
        }
    }
    repeated.extend((0..cases.len()).filter(|&index| is_context(&cases[index])));
    repeated
}

/// Returns the positions of a few cases of the conversation that holds the most, in the order of running, and after
/// them those of cases that cost little more than a start. Together they are for every MUST for which any of these
/// cases is, apart from contexts.
pub fn quick_cases(cases: &[Case]) -> Vec<usize> {
    let mut conversations = conversations(cases, 1, |_| false).into_iter();
    let mut quick = conversations.next().unwrap_or_default();
    quick.retain(|&index| cases[index].context.is_none());
    let chosen = covering(cases, &quick, &[]);
    quick.retain(|index| chosen.contains(index));
    // Agents most often break a MUST in their answer to `initialize`.
    let mut short: Vec<usize> = conversations.flatten().filter(|&index| only_initializes(&cases[index])).collect();
    let further = covering(cases, &short, &chosen);
    short.retain(|index| further.contains(index));
    quick.extend(short);
    quick
}

/// Returns the positions of a few cases of a client: one of each area, that adds most. `can_run` says
/// of a case whether the client has all acts and settings for it; `shares` says whether it can share conversations.
/// Then there are also the cases that together are for every MUST of the largest conversation.
pub fn quick_cases_of_client(cases: &[Case], shares: bool, can_run: impl Fn(&Case) -> bool) -> Vec<usize> {
    let is_candidate = |index: &usize| cases[*index].context.is_none() && can_run(&cases[*index]);
    let largest = if shares { conversations(cases, 1, |_| false).into_iter().next() } else { None };
    let mut quick: Vec<usize> = largest.unwrap_or_default().into_iter().filter(is_candidate).collect();
    let chosen = covering(cases, &quick, &[]);
    quick.retain(|index| chosen.contains(index));
    let area = |index: usize| cases[index].id.split('/').nth(2).unwrap_or_default();
    let mut areas: HashSet<&str> = quick.iter().map(|&index| area(index)).collect();
    let mut covered: HashSet<&String> = quick.iter().flat_map(|&index| &cases[index].requirements).collect();
    let candidates: Vec<usize> = (0..cases.len()).filter(is_candidate).collect();
    for &first in &candidates {
        if !areas.insert(area(first)) {
            continue;
        }
        let of_area = candidates.iter().rev().filter(|&&index| area(index) == area(first));
        if let Some(&best) = of_area.max_by_key(|&&index| further_worth_of(cases, index, &covered)) {
            covered.extend(&cases[best].requirements);
            quick.push(best);
        }
    }
    quick
}

/// Whether the case is over with the answer to a legal `initialize`.
fn only_initializes(case: &Case) -> bool {
    let step = |action: &Action| match action {
        Action::Send(_) => send::initialize(action).is_some(),
        Action::Expect { .. } | Action::Never(_) | Action::Fence => true,
        _ => false,
    };
    case.context.is_none() && case.steps.iter().all(|one| step(&one.action))
}

/// Returns what an agent gets first in the case, if others may get the same; agents that refuse it can do no more in
/// these cases.
pub(super) fn opening_of_agent(case: &Case) -> Option<Value> {
    opening(case).filter(|_| case.subject == Party::Agent)
}

/// Returns how a case that can share a conversation begins: the params of `initialize` on the wire, or how the tester
/// answers that of a client and what decides the settings of the client. `None` if the case must be alone.
fn opening(case: &Case) -> Option<Value> {
    let shares = !case.is_walk()
        && !case.tester.page
        && case.steps.iter().all(|step| effect(&step.action, case.subject).is_some());
    let opening = match case.subject {
        Party::Agent => to_agent(case),
        Party::Client => from_client(case),
    };
    opening.filter(|_| shares)
}

fn to_agent(case: &Case) -> Option<Value> {
    let [first, second, ..] = case.steps.as_slice() else { return None };
    let (label, params) = send::initialize(&first.action)?;
    let answered = match &second.action {
        Action::Expect { line, presence: Presence::Must } => line.body.answers() == Some(label),
        _ => false,
    };
    let shares = answered && second.decides.is_empty();
    shares.then(|| Bindings::for_case(case, "", "").interpolate(params))
}

/// A client gets its MCP servers and directories at its start, with paths of the case. One that has to open no session,
/// or does not get the usual answer to `initialize`, is at its start all the time.
fn from_client(case: &Case) -> Option<Value> {
    let (first, rest) = case.steps.split_first()?;
    let is_plain = first.decides.is_empty() && case.user.mcp_servers.is_empty() && case.user.directories.is_empty();
    let initializes = |action: &Action| requires(action) == Some("initialize");
    let opens = || rest.iter().any(|step| requires(&step.action) == Some("session/new"));
    let setup = &case.tester;
    let is_usual =
        setup.mcp.is_empty() && !setup.by_hand.contains("initialize") && !setup.answers.contains_key("initialize");
    let is_of_whole = case.requirements.iter().any(|id| OF_THE_WHOLE.contains(&id.as_str()));
    let shares = is_plain
        && is_usual
        && !is_of_whole
        && !case.sent().any(takes_its_id)
        && initializes(&first.action)
        && !rest.iter().any(|step| initializes(&step.action))
        && opens();
    let permission = format!("{:?}", case.user.permission);
    let answer = json!([setup.capabilities, setup.info, setup.auth_methods, permission]);
    shares.then(|| Bindings::for_case(case, "", "").interpolate(&answer))
}

/// The requirements that the judge decides by a whole conversation: by all methods that were called in it, or by the
/// first message that names a session before the client can know it.
const OF_THE_WHOLE: [&str; 3] = ["prompt.session-first", "session.await-new", "terminal.all-methods"];

/// Whether the tester's request has an id of the client. In a long conversation, the tester may have used it before.
fn takes_its_id(line: &Outgoing) -> bool {
    matches!(&line.body, Body::Request { wire_id: Some(Value::String(id)), .. } if id.starts_with('<'))
}

/// Returns the method of the request that a step requires of the subject.
fn requires(action: &Action) -> Option<&str> {
    let Action::Expect { line, presence: Presence::Must } = action else { return None };
    match &line.body {
        IncomingBody::Call { label: Some(_), method, .. } => Some(method),
        _ => None,
    }
}

/// The place of a case in its conversation.
///
/// An agent may fail to survive a line that breaks the protocol; then only cases of the same kind need another process.
/// The first case sends `initialize`, so it should write as most do.
fn place(case: &Case) -> (Option<Effect>, bool, bool) {
    let effect = case.steps.iter().skip(1).filter_map(|step| effect(&step.action, case.subject)).max();
    (effect, breaks_the_protocol(case) || refuses(case), !writes_as_usual(case))
}

/// Whether a case comes after those that do not change the process.
fn is_late(case: &Case) -> bool {
    place(case) >= (Some(Effect::None), true, false)
}

/// The effect of a step on later cases of the process, in increasing order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    None,
    Restarts,
    Authenticates,
    InitializesAgain,
    LogsOut,
    Ends,
}

/// The acts of a client's user that change more than sessions.
const ACTS_ON_THE_PROCESS: [&str; 3] = ["authenticate", "logout", "quit"];

/// What a step changes for the process; `None` for a step that needs a conversation of its own.
fn effect(action: &Action, subject: Party) -> Option<Effect> {
    let of_line = |body: &Body| match body {
        Body::Request { method, .. } => match method.as_str() {
            "authenticate" | "auth/login" => Effect::Authenticates,
            "initialize" => Effect::InitializesAgain,
            "logout" | "auth/logout" => Effect::LogsOut,
            _ => Effect::None,
        },
        Body::Notification { .. } | Body::Result { .. } | Body::Error { .. } => Effect::None,
    };
    match action {
        Action::Send(lines) => lines.iter().map(|line| of_line(&line.body)).max(),
        Action::Expect { .. }
        | Action::AnyOrder(_)
        | Action::Never(_)
        | Action::Fence
        | Action::Reply(_)
        | Action::File(_)
        | Action::Process(_)
        | Action::Mcp(_)
        | Action::Forget(_)
        | Action::Raw(_) => Some(Effect::None),
        Action::Act(act) => (!ACTS_ON_THE_PROCESS.contains(&act.name.as_str())).then_some(Effect::None),
        // The exit code of a client may tell of any case before.
        Action::CloseStdin | Action::End | Action::Exit { .. } => (subject == Party::Agent).then_some(Effect::Ends),
        Action::Restart => Some(Effect::Restarts),
        // A request next to the messages may end the connection.
        Action::Http(_) | Action::Binary(_) => None,
        Action::Page(_) | Action::AgentProcess(_) | Action::Login => None,
    }
}

/// Whether the tester writes integer ids and no `_meta`.
fn writes_as_usual(case: &Case) -> bool {
    let WireSetup { ids, meta } = case.tester.wire;
    ids == Ids::Integer && !meta
}

/// The commands that the case asks for.
fn commands(case: &Case) -> impl Iterator<Item = &Value> {
    case.sent().filter_map(|line| match &line.body {
        Body::Request { params: Some(params), .. } => params.pointer("/prompt/command"),
        _ => None,
    })
}

/// Whether a command takes long. An agent that runs it without a terminal of the client makes the case wait for its
/// end. If quick commands have shown that before, the wait is short.
fn takes_long(command: &Value) -> bool {
    command == "sleep"
}

/// Whether the case asks for quick commands and lets them end.
fn runs_quick_command(case: &Case) -> bool {
    let cancels =
        |line: &Outgoing| matches!(&line.body, Body::Notification { method, .. } if method == "session/cancel");
    commands(case).next().is_some() && !commands(case).any(takes_long) && !case.sent().any(cancels)
}

/// Whether the case sends lines that break the protocol.
fn breaks_the_protocol(case: &Case) -> bool {
    case.steps.iter().any(|step| match &step.action {
        Action::Raw(_) => true,
        Action::Send(lines) => lines.iter().any(|line| line.illegal || line.split.is_some()),
        _ => false,
    })
}

/// Whether the tester answers a client with an error. A client may exit after some.
fn refuses(case: &Case) -> bool {
    case.subject == Party::Client && case.sent().any(|line| matches!(line.body, Body::Error { .. }))
}

#[cfg(test)]
mod tests;
