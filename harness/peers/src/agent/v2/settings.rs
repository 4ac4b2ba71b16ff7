//! Config options and slash commands, and their changes.

use agent_client_protocol::{
    Error,
    v2::schema::{
        AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, Command, ConfigOptionUpdate,
        SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue, SessionConfigSelectGroup,
        SessionConfigSelectOption, SessionUpdate, TextCommandInput,
    },
};

use super::session::Session;
use crate::agent::{
    reply::invalid_params,
    settings::{MODE, MODEL, MODELS, MODES, VERBOSE, known},
};

/// Returns the config options of a session.
pub(super) fn config_options(session: &Session) -> Vec<SessionConfigOption> {
    let record = session.record();
    let modes: Vec<_> = MODES.map(|(id, name)| SessionConfigSelectOption::new(id, name)).into();
    let models = MODELS.map(|(id, name)| SessionConfigSelectOption::new(id, name));
    let groups = vec![SessionConfigSelectGroup::new("echo", "Echo models", models.into())];
    vec![
        SessionConfigOption::select(MODE, "Mode", record.mode.clone(), modes)
            .category(SessionConfigOptionCategory::Mode),
        SessionConfigOption::select(MODEL, "Model", record.model.clone(), groups)
            .category(SessionConfigOptionCategory::Model),
        SessionConfigOption::boolean(VERBOSE, "Verbose", record.verbose),
    ]
}

/// Sets a config option; an unknown option or value changes nothing.
pub(super) fn set(session: &Session, option: &str, value: &SessionConfigOptionValue) -> Result<(), Error> {
    match (option, value) {
        (MODE, SessionConfigOptionValue::Id { value }) => {
            session.record().mode = known(&MODES, &value.0, "unknown mode")?;
        }
        (MODEL, SessionConfigOptionValue::Id { value }) => {
            session.record().model = known(&MODELS, &value.0, "unknown model")?;
        }
        (VERBOSE, SessionConfigOptionValue::Boolean { value }) => session.record().verbose = *value,
        (MODE | MODEL | VERBOSE, _) => return Err(invalid_params("the value does not fit this option")),
        _ => return Err(invalid_params("unknown config option")),
    }
    Ok(())
}

/// Changes the mode on the agent's own initiative and announces it.
pub(super) fn switch_mode(session: &Session, mode: &str) -> Result<(), Error> {
    session.record().mode = known(&MODES, mode, "unknown mode")?;
    let update = ConfigOptionUpdate::new(config_options(session));
    session.update(SessionUpdate::ConfigOptionUpdate(update));
    Ok(())
}

/// Returns the slash commands.
pub(super) fn commands() -> Vec<AvailableCommand> {
    let text = AvailableCommandInput::Text(TextCommandInput::new("the text to say"));
    let commands = [
        Command::new("say", "Say a text").input(text),
        Command::new("plan", "Make a plan and follow it"),
        Command::new("usage", "Report the token usage"),
    ];
    commands.map(AvailableCommand::Command).into()
}

/// Sends the slash commands.
pub(super) fn announce_commands(session: &Session) {
    session.update(SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands())));
}
