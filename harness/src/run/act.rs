//! What the user of a client does, and what the process does that the client takes for its agent.

use std::ffi::OsString;

use serde_json::{Map, Value, json};

use super::script::{Report, Script};
use super::subject::Places;
use super::{login, manual};
use crate::case::ACTS;
use crate::case::model::{Act, AgentProcess};
use crate::peer::process::{Launch, MergedProcess, ProcessGroup};
use crate::profile::{Means, person, places};
use crate::requirement::Party;
use crate::trace::{Observed, Outcome, StepKind};

/// Begins the part of the user: gives the first prompt to a client that did not get it when it was started.
///
/// # Errors
///
/// That nobody said how this client is prompted.
pub(super) fn begin(script: &mut Script<'_>) -> Result<(), String> {
    if script.case.subject == Party::Agent {
        return Ok(());
    }
    if script.subject.desk.is_some() {
        manual::begin(script);
        return Ok(());
    }
    // A client that nobody will write to is not to wait for it.
    let written_to = |means: &Means| matches!(means, Means::Line(_) | Means::Keys(_));
    if !script.subject.controls.acts.values().any(written_to) {
        script.driver.end_typing();
    }
    if script.subject.prompts_at_start() {
        return Ok(());
    }
    let text = Value::from(script.case.user.prompt.as_str());
    let act = Act { name: "prompt".to_owned(), arguments: Map::from_iter([("text".to_owned(), text)]) };
    attempt(script, &act)
}

/// Has the user of the client do something.
pub(super) fn perform(script: &mut Script<'_>, act: &Act) -> Report {
    match attempt(script, act) {
        Ok(()) => Report::new(StepKind::Act, Outcome::Done),
        Err(why) => Report { observed: Some(Observed::Problem(why)), ..Report::new(StepKind::Act, Outcome::Missed) },
    }
}

fn attempt(script: &mut Script<'_>, act: &Act) -> Result<(), String> {
    let name = &act.name;
    let Some(means) = script.subject.means(act) else {
        return Err(format!("nothing says how the user of this client does `{name}` (see --act)"));
    };
    let places = places_of(script, act);
    match means {
        Means::Line(text) => {
            all_told(act, &text)?;
            let mut line = places::fill(&text, &places).into_bytes();
            line.push(b'\n');
            script.driver.type_in(line);
            Ok(())
        }
        Means::Signal(signal) if script.driver.signal(&signal) => Ok(()),
        Means::Signal(signal) => Err(format!("there is no signal {signal}")),
        Means::Keys(text) => {
            script.driver.type_in(places::fill(&text, &places).into_bytes());
            Ok(())
        }
        Means::Hook(words) => {
            let words = words.iter().map(|word| places::fill(word, &places)).collect();
            hook(script, words)
        }
        Means::Person(_) if script.subject.person.is_none() => Err("nobody is there to do it".to_owned()),
        Means::Person(text) => {
            all_told(act, &text)?;
            script.instruct(places::fill(&text, &places).trim_end());
            Ok(())
        }
    }
}

/// Starts another program that acts on the client. It may take as long as what it sets off; with the case it is ended.
fn hook(script: &mut Script<'_>, words: Vec<String>) -> Result<(), String> {
    let mut words = words.into_iter().map(OsString::from);
    let program = words.next().unwrap_or_default();
    let launch = Launch { program, args: words.collect(), ..script.premises.launch.clone() };
    let started = launch.spawn_merged().map_err(|error| error.to_string())?;
    script.hooks.push(Hook::of(started));
    Ok(())
}

/// A program that acts on the client, and ends with the case.
pub(super) struct Hook {
    _group: ProcessGroup,
}

impl Hook {
    fn of(process: MergedProcess) -> Self {
        let MergedProcess { mut output, mut leader, group } = process;
        tokio::spawn(async move {
            // Nobody wants what it prints, but it must not wait for a reader.
            let _ = tokio::io::copy(&mut output, &mut tokio::io::sink()).await;
            let _ = leader.wait().await;
        });
        Self { _group: group }
    }
}

/// Looks whether a text has a place for every argument of the act, so that nothing of it is lost.
fn all_told(act: &Act, text: &str) -> Result<(), String> {
    let has_place =
        |argument: &str| ["", "_json", "_name"].iter().any(|form| text.contains(&format!("{{{argument}{form}}}")));
    match act.arguments.keys().find(|argument| !has_place(argument)) {
        Some(argument) => {
            let name = &act.name;
            Err(format!("the words by which the user of this client does `{name}` have no place for `{argument}`"))
        }
        None => Ok(()),
    }
}

/// The places of an act: each argument by its name, as JSON behind `_json` and as people see it behind `_name`, beside
/// those of the case.
fn places_of(script: &Script<'_>, act: &Act) -> Places {
    let mut places = script.premises.places.clone();
    // What may be left out has a place all the same.
    let known = ACTS.into_iter().find(|(known, _)| *known == act.name).map_or(&[][..], |(_, arguments)| arguments);
    for name in known.iter().filter_map(|name| name.strip_prefix('?')) {
        let none = if name == "attach" { json!([]) } else { Value::Null };
        places.insert(name.to_owned(), String::new());
        places.insert(format!("{name}_json"), none.to_string());
        places.insert(format!("{name}_name"), String::new());
    }
    for (name, value) in &act.arguments {
        let value = script.bindings.interpolate(value);
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        places.insert(format!("{name}_json"), value.to_string());
        places.insert(format!("{name}_name"), shown(script, &value).unwrap_or_else(|| text.clone()));
        places.insert(name.clone(), text);
    }
    places
}

/// What people see of an argument: the name that the tester gave to what has this id, or words for what is attached.
fn shown(script: &Script<'_>, value: &Value) -> Option<String> {
    if let Some(attached) = value.as_array() {
        let words: Vec<_> = attached.iter().filter_map(|name| person::attachment(name.as_str()?)).collect();
        return Some(words.join(" and "));
    }
    script.driver.recorder.told(Party::Agent).rev().find_map(|message| name_in(&message, value.as_str()?))
}

/// The name of what has this id, somewhere in a value.
fn name_in(value: &Value, id: &str) -> Option<String> {
    const IDS: [&str; 6] = ["id", "optionId", "modeId", "value", "sessionId", "methodId"];
    match value {
        Value::Array(items) => items.iter().find_map(|item| name_in(item, id)),
        Value::Object(members) => {
            let has_id = IDS.iter().any(|key| members.get(*key).and_then(Value::as_str) == Some(id));
            let name = ["name", "title"].iter().find_map(|key| members.get(*key)?.as_str());
            let own = name.filter(|_| has_id).map(str::to_owned);
            own.or_else(|| members.values().find_map(|member| name_in(member, id)))
        }
        _ => None,
    }
}

/// Gives an order to the process that the client takes for its agent.
pub(super) fn order(script: &mut Script<'_>, order: &AgentProcess) -> Report {
    if let Some(running) = script.login {
        return login::order(script, running, order);
    }
    let connection = script.connection;
    match order {
        AgentProcess::Stderr(text) => {
            let text = text.render(&script.bindings).into_bytes();
            script.driver.agent_stderr(connection, text);
        }
        AgentProcess::CloseStdout => script.driver.close_input(connection),
        AgentProcess::Exit(code) => script.driver.exit_agent(connection, *code),
        AgentProcess::Linger => script.driver.agent_lingers(connection),
        AgentProcess::Kill => script.driver.kill_agent(connection),
        AgentProcess::Stdout(_) => {
            let observed = Some(Observed::Problem("no login runs that could print something".to_owned()));
            return Report { observed, ..Report::new(StepKind::Act, Outcome::Missed) };
        }
    }
    Report::new(StepKind::Act, Outcome::Done)
}
