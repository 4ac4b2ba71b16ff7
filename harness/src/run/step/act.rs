//! The acts of a client's user, and of the process that the client takes for its agent.

use std::ffi::OsString;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

mod person;

use super::login;
use crate::case::ACTS;
use crate::case::model::{Act, Action, AgentProcess, Body, Outgoing, Step, UserPermission};
use crate::profile::places::Places;
use crate::profile::{Means, person as words, places};
use crate::requirement::Party;
use crate::run::case::{RunningCase, StepResult};
use crate::run::channel::{AgentOrder, Channel, Order};
use crate::run::timing::{BEFORE_ACT, BEFORE_CONFIRMING_ACT, SHOWN};
use crate::trace::{Observed, Outcome, StepKind};
use crate::transport::process::{Launch, MergedProcess};

/// Gives the first prompt to a client that did not get it at its start. In a process that served another case, it opens
/// a session first.
///
/// # Errors
///
/// No profile describes how to prompt this client.
pub(in crate::run) fn begin<C: Channel>(running: &mut RunningCase<'_, C>) -> Result<(), Observed> {
    if running.case.subject == Party::Agent {
        return Ok(());
    }
    if running.is_by_hand() {
        person::begin(running);
        return Ok(());
    }
    // A client that gets no input must not wait for it.
    let written_to = |means: &Means| matches!(means, Means::Line(_) | Means::Keys(_));
    if !running.subject.controls.acts.values().any(written_to) {
        running.channel.send(Order::EndTyping);
    }
    let goes_on = running.channel.state().goes_on;
    if goes_on {
        attempt(running, &Act { name: "new-session".to_owned(), arguments: Map::new() })?;
    }
    if running.subject.prompts_at_start() && !goes_on {
        return Ok(());
    }
    let text = Value::from(running.case.user.prompt.as_str());
    let act = Act { name: "prompt".to_owned(), arguments: Map::from_iter([("text".to_owned(), text)]) };
    attempt(running, &act)
}

/// Whether the client answers a fence after the last message of these steps. Otherwise its user may act on what was
/// there before that message.
pub(in crate::run) fn end_with_fence(steps: &[Step]) -> bool {
    let last = steps.iter().rev().map(|step| &step.action).find_map(|action| match action {
        Action::Fence => Some(true),
        Action::Send(_) | Action::Expect { .. } | Action::AnyOrder(_) => Some(false),
        _ => None,
    });
    last != Some(false)
}

/// Makes the user of the client do something.
pub(super) async fn perform<C: Channel>(running: &mut RunningCase<'_, C>, act: &Act) -> StepResult {
    let is_fenced = || end_with_fence(&running.case.steps[..running.current]);
    if running.subject.confirms {
        running.pass_time(Instant::now() + BEFORE_CONFIRMING_ACT).await;
    } else if running.subject.is_sole && !is_fenced() {
        running.pass_time(Instant::now() + BEFORE_ACT).await;
    }
    match attempt(running, act) {
        Ok(()) => StepResult::new(StepKind::Act, Outcome::Done),
        Err(why) => StepResult { observed: Some(why), ..StepResult::new(StepKind::Act, Outcome::Missed) },
    }
}

/// Sends messages. The user of a client without a setting for permissions then decides each request, as the case wants
/// it.
pub(super) async fn send<C: Channel>(running: &mut RunningCase<'_, C>, lines: &[Outgoing]) -> StepResult {
    let sent = running.send(lines);
    let kinds = match running.case.user.permission {
        UserPermission::Allow => ["allow_once", "allow_always"],
        UserPermission::Reject => ["reject_once", "reject_always"],
        UserPermission::Hold => return sent,
    };
    if !running.subject.is_asked() {
        return sent;
    }
    for line in lines {
        let Body::Request { label, method, .. } = &line.body else { continue };
        let Some(request) = running.inbox.requests.get(label).filter(|_| method == "session/request_permission") else {
            continue;
        };
        let options = request.params["options"].as_array().into_iter().flatten();
        let of_kind = |kind: &str| options.clone().find(|option| option["kind"] == kind).map(|it| &it["optionId"]);
        let Some(option) = kinds.into_iter().find_map(of_kind).cloned() else { continue };
        running.pass_time(Instant::now() + SHOWN).await;
        if running.inbox.is_answered(label) {
            continue;
        }
        let act = Act { name: "decide".to_owned(), arguments: Map::from_iter([("optionId".to_owned(), option)]) };
        if let Err(why) = attempt(running, &act) {
            return StepResult { observed: Some(why), ..StepResult::new(StepKind::Send, Outcome::Missed) };
        }
    }
    sent
}

fn attempt<C: Channel>(running: &mut RunningCase<'_, C>, act: &Act) -> Result<(), Observed> {
    let Some(means) = running.subject.means(act) else {
        return Err(Observed::ActUnknown { act: act.name.clone() });
    };
    let places = places_of(running, act);
    match means {
        Means::Line(text) => {
            check_placeholders(act, &text)?;
            let mut line = places::fill(&text, &places).into_bytes();
            line.push(b'\n');
            running.channel.send(Order::Type(line));
            Ok(())
        }
        Means::Signal(signal) => {
            let sent = running.channel.send(Order::Signal(signal.clone()));
            sent.map(drop).ok_or_else(|| Observed::Problem(format!("unknown signal {signal}")))
        }
        Means::Keys(text) => {
            running.channel.send(Order::Type(places::fill(&text, &places).into_bytes()));
            Ok(())
        }
        Means::Hook(words) => {
            let words = words.iter().map(|word| places::fill(word, &places)).collect();
            hook(running, words).map_err(Observed::Problem)
        }
        Means::Person(_) if running.subject.person.is_none() => {
            Err(Observed::Problem("no person is at the terminal to do it".to_owned()))
        }
        Means::Person(text) => {
            check_placeholders(act, &text)?;
            running.chosen_by_person = matches!(act.name.as_str(), "decide" | "answer");
            running.instruct(places::fill(&text, &places).trim_end());
            Ok(())
        }
    }
}

/// Starts another program that acts on the client. It may run as long as the act takes, and is ended with the case.
fn hook<C: Channel>(running: &mut RunningCase<'_, C>, words: Vec<String>) -> Result<(), String> {
    let mut words = words.into_iter().map(OsString::from);
    let program = words.next().unwrap_or_default();
    let launch = Launch { program, args: words.collect(), ..running.env.start.launch.clone() };
    let started = launch.spawn_merged().map_err(|error| error.to_string())?;
    let MergedProcess { mut output, mut leader, group } = started;
    tokio::spawn(async move {
        // The output is not used, but the program must not block on a full pipe.
        let _ = tokio::io::copy(&mut output, &mut tokio::io::sink()).await;
        let _ = leader.wait().await;
    });
    running.hooks.push(group);
    Ok(())
}

/// Checks that a text has a placeholder for every argument of the act, so that no argument is lost.
fn check_placeholders(act: &Act, text: &str) -> Result<(), Observed> {
    let has_place = |argument: &str| {
        ["", "_json", "_name", "_number"].iter().any(|form| text.contains(&format!("{{{argument}{form}}}")))
    };
    match act.arguments.keys().find(|argument| !has_place(argument)) {
        Some(argument) => Err(Observed::ActUnknown { act: format!("{} with {{{argument}}}", act.name) }),
        None => Ok(()),
    }
}

/// Returns the placeholders of an act: each argument by its name, as JSON with `_json`, for people with `_name`, and
/// with `_number` by its place in the list that the tester sent, in addition to those of the case.
fn places_of<C: Channel>(running: &RunningCase<'_, C>, act: &Act) -> Places {
    let mut places = running.env.places.clone();
    if let Some(cwd) = places.get("cwd").map(|cwd| Value::from(cwd.as_str())) {
        places.insert("cwd_json".to_owned(), cwd.to_string());
    }
    // An optional argument has a placeholder even if it is absent.
    let known = ACTS.into_iter().find(|(known, _)| *known == act.name).map_or(&[][..], |(_, arguments)| arguments);
    for name in known.iter().filter_map(|name| name.strip_prefix('?')) {
        let none = if name == "attach" { json!([]) } else { Value::Null };
        places.insert(name.to_owned(), String::new());
        places.insert(format!("{name}_json"), none.to_string());
        places.insert(format!("{name}_name"), String::new());
    }
    for (name, value) in &act.arguments {
        let value = running.bindings.interpolate(value);
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        places.insert(format!("{name}_json"), value.to_string());
        let (shown, number) = shown(running, &value);
        places.insert(format!("{name}_name"), shown.unwrap_or_else(|| text.clone()));
        places.extend(number.map(|number| (format!("{name}_number"), number.to_string())));
        places.insert(name.clone(), text);
    }
    places
}

/// Describes an argument for people: the name that the tester gave to the object with this id, or words for an
/// attachment; and the number of that object in its list, from 1.
fn shown<C: Channel>(running: &RunningCase<'_, C>, value: &Value) -> (Option<String>, Option<usize>) {
    if let Some(attached) = value.as_array() {
        let words: Vec<_> = attached.iter().filter_map(|name| words::attachment(name.as_str()?)).collect();
        return (Some(words.join(" and ")), None);
    }
    let mut messages = running.channel.state().recorder.messages_of(Party::Agent).rev();
    let found = value.as_str().and_then(|id| messages.find_map(|message| named(&message, id, None)));
    found.map_or((None, None), |(name, number)| (Some(name), number))
}

/// Finds the object with this id in a value, which has this number in its list; returns its name and number.
fn named(value: &Value, id: &str, number: Option<usize>) -> Option<(String, Option<usize>)> {
    const IDS: [&str; 6] = ["id", "optionId", "modeId", "value", "sessionId", "methodId"];
    match value {
        Value::Array(items) => (1..).zip(items).find_map(|(number, item)| named(item, id, Some(number))),
        Value::Object(members) => {
            let has_id = IDS.iter().any(|key| members.get(*key).and_then(Value::as_str) == Some(id));
            let name = ["name", "title"].iter().find_map(|key| members.get(*key)?.as_str());
            let own = name.filter(|_| has_id).map(|name| (name.to_owned(), number));
            own.or_else(|| members.values().find_map(|member| named(member, id, None)))
        }
        _ => None,
    }
}

/// Gives an order to the process that the client takes for its agent.
pub(super) fn order<C: Channel>(running: &mut RunningCase<'_, C>, order: &AgentProcess) -> StepResult {
    if let Some(login) = running.login {
        return login::order(running, login, order);
    }
    let connection = running.connection;
    let order = match order {
        AgentProcess::Stderr(text) => AgentOrder::Stderr(text.render(&running.bindings).into_bytes()),
        AgentProcess::Exit(code) => AgentOrder::Exit(*code),
        AgentProcess::Linger => AgentOrder::Linger,
        AgentProcess::Kill => AgentOrder::Kill,
        AgentProcess::CloseStdout => {
            running.channel.send(Order::CloseInput(connection));
            return StepResult::new(StepKind::Act, Outcome::Done);
        }
        AgentProcess::Stdout(_) => {
            let observed = Some(Observed::Problem("no login is running".to_owned()));
            return StepResult { observed, ..StepResult::new(StepKind::Act, Outcome::Missed) };
        }
    };
    running.channel.send(Order::AgentProcess(connection, order));
    StepResult::new(StepKind::Act, Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_has_its_name_and_its_number_in_the_menu() {
        let options = json!([{ "optionId": "no", "name": "No" }, { "optionId": "yes", "name": "Yes" }]);
        let request = json!({ "params": { "sessionId": "yes", "toolCall": { "title": "T" }, "options": options } });
        assert_eq!(named(&request, "yes", None), Some(("Yes".to_owned(), Some(2))));
        let info = json!({ "update": { "sessionId": "s", "title": "Work" } });
        assert_eq!(named(&info, "s", None), Some(("Work".to_owned(), None)));
        assert_eq!(named(&request, "other", None), None);
    }
}
