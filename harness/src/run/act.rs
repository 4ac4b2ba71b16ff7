//! What the user of a client does, and what the process does that the client takes for its agent.

use std::ffi::OsString;

use serde_json::{Map, Value, json};

use super::script::{Report, Script};
use super::subject::Places;
use crate::case::ACTS;
use crate::case::model::{Act, AgentProcess};
use crate::peer::process::{Launch, MergedProcess, ProcessGroup};
use crate::profile::{Means, places};
use crate::requirement::Party;
use crate::trace::{Outcome, StepKind};

/// Begins the part of the user: gives the first prompt to a client that did not get it when it was started.
///
/// # Errors
///
/// That nobody said how this client is prompted.
pub(super) fn begin(script: &mut Script<'_>) -> Result<(), String> {
    if script.case.subject == Party::Agent {
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
        Err(seen) => Report { seen, ..Report::new(StepKind::Act, Outcome::Missed) },
    }
}

fn attempt(script: &mut Script<'_>, act: &Act) -> Result<(), String> {
    let name = &act.name;
    let Some(means) = script.subject.controls.acts.get(name) else {
        return Err(format!("nothing says how the user of this client does `{name}` (see --act)"));
    };
    let places = places_of(script, act);
    match means {
        Means::Line(text) => {
            if let Some(argument) = act.arguments.keys().find(|argument| !has_place(text, argument)) {
                return Err(format!(
                    "the line by which the user of this client does `{name}` has no place for `{argument}`"
                ));
            }
            let mut line = places::fill(text, &places).into_bytes();
            line.push(b'\n');
            script.driver.type_in(line);
            Ok(())
        }
        Means::Signal(signal) if script.driver.signal(signal) => Ok(()),
        Means::Signal(signal) => Err(format!("there is no signal {signal}")),
        Means::Keys(text) => {
            script.driver.type_in(places::fill(text, &places).into_bytes());
            Ok(())
        }
        Means::Hook(words) => {
            let words = words.iter().map(|word| places::fill(word, &places)).collect();
            hook(script, words)
        }
        Means::Person(_) => Err("nobody is there to do it".to_owned()),
    }
}

/// Starts another program that acts on the client. It may take as long as what it sets off; with the case it is ended.
fn hook(script: &mut Script<'_>, words: Vec<String>) -> Result<(), String> {
    let mut words = words.into_iter().map(OsString::from);
    let program = words.next().unwrap_or_default();
    let launch = Launch { program, args: words.collect(), ..script.launch.clone() };
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

fn has_place(text: &str, argument: &str) -> bool {
    [format!("{{{argument}}}"), format!("{{{argument}_json}}")].iter().any(|place| text.contains(place))
}

/// The places of an act: each argument by its name, and as JSON behind `_json`, beside those of the case.
fn places_of(script: &Script<'_>, act: &Act) -> Places {
    let mut places = script.places.clone();
    // What may be left out has a place all the same.
    let known = ACTS.into_iter().find(|(known, _)| *known == act.name).map_or(&[][..], |(_, arguments)| arguments);
    for name in known.iter().filter_map(|name| name.strip_prefix('?')) {
        let none = if name == "attach" { json!([]) } else { Value::Null };
        places.insert(name.to_owned(), String::new());
        places.insert(format!("{name}_json"), none.to_string());
    }
    for (name, value) in &act.arguments {
        let value = script.bindings.interpolate(value);
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        places.insert(format!("{name}_json"), value.to_string());
        places.insert(name.clone(), text);
    }
    places
}

/// Gives an order to the process that the client takes for its agent.
pub(super) fn order(script: &mut Script<'_>, order: &AgentProcess) -> Report {
    let connection = script.connection;
    match order {
        AgentProcess::Stderr(text) => {
            let text = text.render(&script.bindings).into_bytes();
            script.driver.agent_stderr(connection, text);
        }
        AgentProcess::CloseStdout => script.driver.close_input(connection),
        AgentProcess::Exit(code) => script.driver.exit_agent(connection, *code),
        AgentProcess::Linger => script.driver.agent_lingers(connection),
    }
    Report::new(StepKind::Act, Outcome::Done)
}
