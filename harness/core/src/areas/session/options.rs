//! Area `session`: options that the client sets in another session.

use super::state::{OptionSet, values_in};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, Opening, current_values};
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("session.new.independent", On::Response(option_of_another_session)).only(&[SET]),
    Check::agent("resume.options-current", On::Response(listed_by_resume)).only(&[SET]),
];

const SET: &str = "session/set_config_option";

/// "Each session maintains its own context, conversation history, and state": an option that the client set in one
/// session keeps its value in another one.
///
/// Correct but unusual: an agent whose options depend on each other, which changes them in a turn or announces the
/// change, or which makes the last choice its default or shares one model among its sessions. So the client must have
/// made the same request twice in an older session without a turn: the other option had its own value in the first
/// answer, and in the second one the value that the client set elsewhere between them. And a session that the agent
/// created after that has the option's own value, too.
fn option_of_another_session(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = answer.result_of(SET).filter(|(request, _)| !request.deliberate) else { return };
    let (Some(id), Some(now)) = (exchange.session(), values_in(result)) else { return };
    let Some((session, own)) = ctx.conversation.session(id).zip(ctx.areas.session.options(id)) else { return };
    let is_new = session.opening == Opening::New && !session.was_reopened && session.prompts == 0;
    let is_alone =
        ctx.conversation.open_of(Party::Client).all(|open| open.session() != Some(id) || open.n == exchange.n);
    let (option, value) = (exchange.text("configId").unwrap_or_default(), exchange.params.member("value"));
    let is_same = |set: &OptionSet| set.option == option && Some(&set.value) == value;
    let Some(first) = own.set.first().filter(|_| is_new && is_alone && session.mode_set.is_none()) else { return };
    if !own.set.iter().all(is_same) {
        return;
    }
    let known = session.options.as_deref().map(current_values).unwrap_or_default();
    let others = ctx.areas.session.all_options().filter(|(other, _)| *other != id);
    let elsewhere = others.flat_map(|(_, options)| &options.set).filter(|set| {
        let before = first.values.get(&set.option);
        let is_accepted = set.values.get(&set.option) == Some(&set.value);
        let is_other_value = before.is_some_and(|before| *before != set.value);
        set.n > first.n && set.option != option && is_accepted && is_other_value
    });
    for set in elsewhere {
        let before = first.values.get(&set.option);
        if known.get(set.option.as_str()).copied() != before {
            continue;
        }
        match now.get(&set.option) {
            kept if kept == before => ruling.pass(),
            Some(changed) if *changed == set.value => {
                let mut begun = ctx.areas.session.all_options().filter_map(|(_, options)| options.begun.as_ref());
                let is_own = begun.any(|(begun, values)| *begun > set.n && values.get(&set.option) == before);
                let fact = fact!(
                    "option-of-another-session",
                    "the agent reports {actual} for the option `{option}`, which the client set in another session; \
                    expected {expected}",
                    actual = changed, option = set.option, expected = before;
                    session_id = id
                );
                // Without a newer session, the choice may be the new default of the agent. In a recording, another
                // client may have made it.
                ruling.proved_by(&[first.n, set.n, exchange.n]).fail_if(is_own && ctx.conversation.whole, fact);
            }
            _ => {}
        }
    }
}

/// The answer to `session/resume` lists the "current session configuration options".
///
/// Correct but unusual: an agent that does not keep the options of a session, restores them later and announces that,
/// changes them in a turn, or has options that depend on each other. So this fails only if the answer lists another
/// value than the one that the client chose, and the next answer about the options has the chosen one, without a turn
/// or an update between them. The session did not begin with the chosen value, and the client set another option to the
/// value that it had.
fn listed_by_resume(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = answer.result_of(SET).filter(|(request, _)| !request.deliberate) else { return };
    let (Some(id), Some(now)) = (exchange.session(), values_in(result)) else { return };
    let Some((session, own)) = ctx.conversation.session(id).zip(ctx.areas.session.options(id)) else { return };
    let Some(resumed) = own.resumed.as_ref().filter(|resumed| resumed.prompts == session.prompts) else { return };
    let option = exchange.text("configId").unwrap_or_default();
    if exchange.n < resumed.n || resumed.values.get(option) != exchange.params.member("value") {
        return;
    }
    let is_last = |at: usize| own.set[at + 1..].iter().all(|later| later.option != own.set[at].option);
    for set in own.set.iter().enumerate().filter(|(at, _)| is_last(*at)).map(|(_, set)| set) {
        let began_otherwise = own.begun.as_ref().is_some_and(|(_, values)| values.get(&set.option) != Some(&set.value));
        let is_chosen = set.option != option && set.values.get(&set.option) == Some(&set.value);
        if !began_otherwise || !is_chosen || now.get(&set.option) != Some(&set.value) {
            continue;
        }
        match resumed.values.get(&set.option) {
            Some(listed) if *listed == set.value => ruling.pass(),
            Some(listed) => ruling.proved_by(&[set.n, resumed.n, exchange.n]).fail_in_case(fact!(
                "option-before-resume",
                "the agent answered session/resume with {actual} for the option `{option}`, which the client had set to \
                {expected}, and listed {expected} again in its next answer; expected it in both",
                actual = listed, option = set.option, expected = set.value;
                session_id = id
            )),
            None => {}
        }
    }
}
