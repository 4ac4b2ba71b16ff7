//! Modes, config options and slash commands, and their changes.
//!
//! The mode is a config option too, so a change of one is also announced as a change of the other.

use agent_client_protocol::{
    Error,
    v1::schema::{
        AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, ConfigOptionUpdate, CurrentModeUpdate,
        SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue, SessionConfigSelectGroup,
        SessionConfigSelectOption, SessionMode, SessionModeState, SessionUpdate, UnstructuredCommandInput,
    },
};

use super::{client::Client, reply::invalid_params, session::Session};

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

/// Returns the modes of a session.
pub(super) fn modes(session: &Session) -> SessionModeState {
    let modes = MODES.map(|(id, name)| SessionMode::new(id, name));
    SessionModeState::new(session.record().mode.clone(), modes.into())
}

/// Returns the config options of a session; only some clients support boolean ones.
pub(super) fn config_options(client: &Client, session: &Session) -> Vec<SessionConfigOption> {
    let record = session.record();
    let modes: Vec<_> = MODES.map(|(id, name)| SessionConfigSelectOption::new(id, name)).into();
    let models = MODELS.map(|(id, name)| SessionConfigSelectOption::new(id, name));
    let groups = vec![SessionConfigSelectGroup::new("echo", "Echo models", models.into())];
    let mut options = vec![
        SessionConfigOption::select(MODE, "Mode", record.mode.clone(), modes)
            .category(SessionConfigOptionCategory::Mode),
        SessionConfigOption::select(MODEL, "Model", record.model.clone(), groups)
            .category(SessionConfigOptionCategory::Model),
    ];
    if client.capabilities().boolean_options {
        options.push(SessionConfigOption::boolean(VERBOSE, "Verbose", record.verbose));
    }
    options
}

/// Sets the mode of a session.
pub(super) fn set_mode(session: &Session, mode: &str) -> Result<(), Error> {
    session.record().mode = known(&MODES, mode, "unknown mode")?;
    Ok(())
}

/// Changes the mode on the agent's own initiative and announces it.
pub(super) fn switch_mode(client: &Client, session: &Session, mode: &str) -> Result<(), Error> {
    set_mode(session, mode)?;
    announce_mode(client, session);
    announce_config_options(client, session);
    Ok(())
}

/// Returns whether another model can take over when that of the session fails.
pub(super) fn has_fallback(session: &Session) -> bool {
    session.record().model == MODELS[0].0
}

/// Replaces the failed model of a session by the second one, announces that, and returns its id.
pub(super) fn fall_back(client: &Client, session: &Session) -> &'static str {
    let (model, _) = MODELS[1];
    model.clone_into(&mut session.record().model);
    announce_config_options(client, session);
    model
}

/// Sets a config option; an unknown option or value changes nothing.
pub(super) fn set_config_option(
    client: &Client,
    session: &Session,
    option: &str,
    value: &SessionConfigOptionValue,
) -> Result<(), Error> {
    match (option, value) {
        (MODE, SessionConfigOptionValue::ValueId { value }) => set_mode(session, &value.0)?,
        (MODEL, SessionConfigOptionValue::ValueId { value }) => {
            session.record().model = known(&MODELS, &value.0, "unknown model")?;
        }
        (VERBOSE, SessionConfigOptionValue::Boolean { value }) if client.capabilities().boolean_options => {
            session.record().verbose = *value;
        }
        (MODE | MODEL | VERBOSE, _) => return Err(invalid_params("the value does not fit this option")),
        _ => return Err(invalid_params("unknown config option")),
    }
    Ok(())
}

/// Sends the mode.
pub(super) fn announce_mode(client: &Client, session: &Session) {
    let mode = session.record().mode.clone();
    client.update(session, SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode)));
}

/// Sends the config options.
pub(super) fn announce_config_options(client: &Client, session: &Session) {
    let update = ConfigOptionUpdate::new(config_options(client, session));
    client.update(session, SessionUpdate::ConfigOptionUpdate(update));
}

/// Sends the slash commands.
pub(super) fn announce_commands(client: &Client, session: &Session) {
    let text = AvailableCommandInput::Unstructured(UnstructuredCommandInput::new("the text to say"));
    let commands = vec![
        AvailableCommand::new("say", "Say a text").input(text),
        AvailableCommand::new("plan", "Make a plan and follow it"),
        AvailableCommand::new("usage", "Report the token usage"),
    ];
    client.update(session, SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands)));
}

/// Returns a value that is one of those that are known.
pub(super) fn known(values: &[(&str, &str)], value: &str, problem: &str) -> Result<String, Error> {
    let found = values.iter().find(|(id, _)| *id == value);
    found.map(|(id, _)| (*id).to_owned()).ok_or_else(|| invalid_params(problem))
}
