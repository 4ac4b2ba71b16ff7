//! Modes, config options and slash commands, and their changes.
//!
//! The mode is a config option too, so a change of one is also announced as a change of the other.

use agent_client_protocol::Error;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{errors::invalid_params, session::Session, turn::Turn, update::Update};

/// Id of the config option for the mode.
pub(super) const MODE: &str = "mode";
/// Id of the config option for the model.
pub(super) const MODEL: &str = "model";
/// Id of the boolean config option.
pub(super) const VERBOSE: &str = "verbose";
/// The modes: id and name of each.
pub(super) const MODES: [(&str, &str); 2] = [("ask", "Ask"), ("code", "Code")];
/// The models: id and name of each.
pub(super) const MODELS: [(&str, &str); 2] = [("echo-1", "Echo 1"), ("echo-2", "Echo 2")];
/// The slash commands: name, description and hint for the input of each.
pub(super) const COMMANDS: [(&str, &str, Option<&str>); 3] = [
    ("say", "Say a text", Some("the text to say")),
    ("plan", "Make a plan and follow it", None),
    ("usage", "Report the token usage", None),
];

/// The settings of a session that its client can change.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Settings {
    pub mode: String,
    pub model: String,
    /// `None` if the client does not support boolean config options.
    pub verbose: Option<bool>,
}

/// Returns the settings of a session.
pub(super) fn of(session: &Session) -> Settings {
    let verbose = session.client.capabilities().boolean_options;
    let record = session.record();
    Settings { mode: record.mode.clone(), model: record.model.clone(), verbose: verbose.then_some(record.verbose) }
}

/// Sets the mode of a session.
pub(super) fn set_mode(session: &Session, mode: &str) -> Result<(), Error> {
    session.record().mode = known(&MODES, mode, "unknown mode")?;
    Ok(())
}

/// Changes the mode on the agent's own initiative and announces it.
pub(super) fn switch_mode(session: &Session, mode: &str) -> Result<(), Error> {
    set_mode(session, mode)?;
    session.update(Update::Mode(mode.to_owned()));
    session.update(Update::ConfigOptions(of(session)));
    Ok(())
}

/// Replaces the failed model by the second one, announces that, and returns its id; `None` if no other model can take
/// over.
///
/// Version 2 has a stop reason for a failed model, so the agent lets the turn end there.
pub(super) fn fall_back(turn: &Turn) -> Option<&'static str> {
    let [(first, _), (second, _)] = MODELS;
    if turn.client.is_v2() || turn.session.record().model != first {
        return None;
    }
    second.clone_into(&mut turn.session.record().model);
    turn.session.update(Update::ConfigOptions(of(&turn.session)));
    Some(second)
}

/// Sets a config option; an unknown option or value changes nothing.
pub(super) fn set_config_option(session: &Session, option: &str, value: &Value) -> Result<(), Error> {
    match (option, value.as_str(), value.as_bool()) {
        (MODE, Some(mode), _) => set_mode(session, mode)?,
        (MODEL, Some(model), _) => session.record().model = known(&MODELS, model, "unknown model")?,
        (VERBOSE, _, Some(value)) if session.client.capabilities().boolean_options => {
            session.record().verbose = value;
        }
        (MODE | MODEL | VERBOSE, ..) => return Err(invalid_params("the value does not fit this option")),
        _ => return Err(invalid_params("unknown config option")),
    }
    Ok(())
}

/// Returns a value that is one of those that are known.
fn known(values: &[(&str, &str)], value: &str, problem: &str) -> Result<String, Error> {
    let found = values.iter().find(|(id, _)| *id == value);
    found.map(|(id, _)| (*id).to_owned()).ok_or_else(|| invalid_params(problem))
}
