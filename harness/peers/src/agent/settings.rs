//! Modes, config options and slash commands, and their changes by the client.

use std::sync::Arc;

use agent_client_protocol::{
    Error,
    v1::schema::{
        AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, ConfigOptionUpdate, CurrentModeUpdate,
        SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue, SessionConfigSelectGroup,
        SessionConfigSelectOption, SessionMode, SessionModeState, SessionUpdate, SetSessionConfigOptionRequest,
        SetSessionConfigOptionResponse, SetSessionModeRequest, SetSessionModeResponse, UnstructuredCommandInput,
    },
};

use super::{
    Feature,
    server::{Agent, invalid},
    session::Session,
};

/// Mode of a new session.
pub(super) const FIRST_MODE: &str = "ask";
/// Model of a new session.
pub(super) const FIRST_MODEL: &str = "echo-1";

const MODES: [(&str, &str); 2] = [("ask", "Ask"), ("code", "Code")];
const MODELS: [(&str, &str); 2] = [("echo-1", "Echo 1"), ("echo-2", "Echo 2")];

impl Agent {
    /// Returns the modes of a session, if the agent has modes.
    pub(super) fn modes(&self, session: &Session) -> Option<SessionModeState> {
        let modes = MODES.map(|(id, name)| SessionMode::new(id, name));
        let current = session.record().mode.clone();
        self.options.with(Feature::Modes).then(|| SessionModeState::new(current, modes.into()))
    }

    /// Returns the config options of a session, if the agent has any.
    pub(super) fn config(&self, session: &Session) -> Option<Vec<SessionConfigOption>> {
        self.options.with(Feature::Config).then(|| self.full_config(session))
    }

    fn full_config(&self, session: &Session) -> Vec<SessionConfigOption> {
        let record = session.record();
        let models = MODELS.map(|(id, name)| SessionConfigSelectOption::new(id, name));
        let groups = vec![SessionConfigSelectGroup::new("echo", "Echo models", models.into())];
        let model = SessionConfigOption::select("model", "Model", record.model.clone(), groups)
            .category(SessionConfigOptionCategory::Model);
        let mut options = vec![model];
        if self.options.with(Feature::Modes) {
            let modes: Vec<_> = MODES.map(|(id, name)| SessionConfigSelectOption::new(id, name)).into();
            let mode = SessionConfigOption::select("mode", "Mode", record.mode.clone(), modes)
                .category(SessionConfigOptionCategory::Mode);
            options.insert(0, mode);
        }
        if self.client().boolean_options {
            options.push(SessionConfigOption::boolean("verbose", "Verbose", record.verbose));
        }
        options
    }

    /// Announces the slash commands.
    pub(super) fn announce_commands(&self, session: &Session) {
        if self.options.with(Feature::Commands) {
            self.notify(session, commands());
        }
    }

    /// Answers `session/set_mode` and keeps the config option in step.
    pub(super) fn set_mode(&self, request: &SetSessionModeRequest) -> Result<SetSessionModeResponse, Error> {
        self.require(Feature::Modes)?;
        let session = self.session(&request.session_id)?;
        check(&MODES, &request.mode_id.0, "unknown mode")?;
        session.record().mode = request.mode_id.to_string();
        self.save(&session);
        Ok(SetSessionModeResponse::new())
    }

    /// Tells the client the config options after one changed without its asking.
    pub(super) fn announce_config(&self, session: &Session) {
        if let Some(options) = self.config(session) {
            self.notify(session, SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(options)));
        }
    }

    /// Tells the client the mode after it changed by other means than `session/set_mode`.
    pub(super) fn announce_mode(&self, session: &Session) {
        if self.options.with(Feature::Modes) {
            let mode = session.record().mode.clone();
            self.notify(session, SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode)));
        }
    }

    /// Changes the mode on the agent's own initiative and announces it.
    pub(super) fn switch_mode(&self, session: &Session, mode: &str) -> Result<(), Error> {
        self.require(Feature::Modes)?;
        check(&MODES, mode, "unknown mode")?;
        mode.clone_into(&mut session.record().mode);
        self.announce_mode(session);
        self.announce_config(session);
        Ok(())
    }

    /// Answers `session/set_config_option`; an unknown option or value changes nothing.
    pub(super) fn set_config_option(
        &self,
        request: &SetSessionConfigOptionRequest,
    ) -> Result<(Arc<Session>, SetSessionConfigOptionResponse), Error> {
        self.require(Feature::Config)?;
        let session = self.session(&request.session_id)?;
        match (&*request.config_id.0, &request.value) {
            ("model", SessionConfigOptionValue::ValueId { value }) => {
                check(&MODELS, &value.0, "unknown model")?;
                session.record().model = value.to_string();
            }
            ("mode", SessionConfigOptionValue::ValueId { value }) if self.options.with(Feature::Modes) => {
                check(&MODES, &value.0, "unknown mode")?;
                session.record().mode = value.to_string();
            }
            ("verbose", SessionConfigOptionValue::Boolean { value }) if self.client().boolean_options => {
                session.record().verbose = *value;
            }
            ("model" | "mode" | "verbose", _) => return Err(invalid("the value does not fit this option")),
            _ => return Err(invalid("unknown config option")),
        }
        self.save(&session);
        let options = self.full_config(&session);
        Ok((session, SetSessionConfigOptionResponse::new(options)))
    }
}

/// Returns the announcement of all slash commands.
fn commands() -> SessionUpdate {
    let text = AvailableCommandInput::Unstructured(UnstructuredCommandInput::new("the text to say"));
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(vec![
        AvailableCommand::new("say", "Say a text").input(text),
        AvailableCommand::new("plan", "Make a plan and follow it"),
        AvailableCommand::new("usage", "Report the token usage"),
    ]))
}

fn check(values: &[(&str, &str)], value: &str, problem: &str) -> Result<(), Error> {
    if values.iter().any(|(id, _)| *id == value) { Ok(()) } else { Err(invalid(problem)) }
}
