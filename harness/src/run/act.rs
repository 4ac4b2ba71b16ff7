//! What the user of a client does, and what the process does that the client takes for its agent.

use serde_json::{Map, Value, json};

use super::script::{Report, Script};
use super::subject::Places;
use crate::case::model::{Act, AgentProcess};
use crate::profile::{Means, places};
use crate::requirement::Party;
use crate::trace::{Outcome, StepKind};

/// Gives the first prompt to a client that did not get it when it was started.
///
/// # Errors
///
/// That nobody said how this client is prompted.
pub(super) fn first_prompt(script: &mut Script<'_>) -> Result<(), String> {
    if script.case.subject == Party::Agent || script.subject.prompts_at_start() {
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
        Means::Keys(_) | Means::Hook(_) | Means::Person(_) => Err("not yet".to_owned()),
    }
}

fn has_place(text: &str, argument: &str) -> bool {
    [format!("{{{argument}}}"), format!("{{{argument}_json}}")].iter().any(|place| text.contains(place))
}

/// The places of an act: each argument by its name, and as JSON behind `_json`, beside those of the case.
fn places_of(script: &Script<'_>, act: &Act) -> Places {
    let mut places = script.places.clone();
    // What may be left out has a place all the same.
    for (name, none) in [("attach", json!([])), ("input", Value::Null)] {
        places.insert(format!("{name}_json"), none.to_string());
        places.insert(name.to_owned(), String::new());
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
