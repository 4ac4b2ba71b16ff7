//! Changes of modes and config options.
//!
//! The mode is a config option too, so a change of one is also announced as a change of the other.

use agent_client_protocol::Error;
use serde_json::Value;

use super::{
    errors::invalid_params,
    session::Session,
    settings::{EFFORT, EFFORTS, MODE, MODEL, MODELS, MODES, VERBOSE},
    turn::Turn,
    update::Update,
};

pub(super) fn set_mode(session: &Session, mode: &str) -> Result<(), Error> {
    session.record().mode = known(&MODES, mode, "unknown mode")?;
    Ok(())
}

/// Changes the mode on the agent's own initiative and announces it.
pub(super) fn switch_mode(session: &Session, mode: &str) -> Result<(), Error> {
    set_mode(session, mode)?;
    session.update(Update::Mode(mode.to_owned()));
    session.update(Update::ConfigOptions(session.settings()));
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
    turn.session.update(Update::ConfigOptions(turn.session.settings()));
    Some(second)
}

/// Sets a config option; an unknown option or value changes nothing.
pub(super) fn set_config_option(session: &Session, option: &str, value: &Value) -> Result<(), Error> {
    match (option, value.as_str(), value.as_bool()) {
        (MODE, Some(mode), _) => set_mode(session, mode)?,
        (MODEL, Some(model), _) => session.record().model = known(&MODELS, model, "unknown model")?,
        (EFFORT, Some(effort), _) => session.record().effort = known(&EFFORTS, effort, "unknown effort")?,
        (VERBOSE, _, Some(value)) if session.client.capabilities().boolean_options => {
            session.record().verbose = value;
        }
        (MODE | MODEL | EFFORT | VERBOSE, ..) => return Err(invalid_params("the value does not fit this option")),
        _ => return Err(invalid_params("unknown config option")),
    }
    Ok(())
}

/// Returns a value that is one of those that are known.
fn known(values: &[(&str, &str)], value: &str, problem: &str) -> Result<String, Error> {
    let found = values.iter().find(|(id, _)| *id == value);
    found.map(|(id, _)| (*id).to_owned()).ok_or_else(|| invalid_params(problem))
}
