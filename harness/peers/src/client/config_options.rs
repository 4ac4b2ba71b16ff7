//! `session/set_mode` and `session/set_config_option`.

use std::sync::Arc;

use agent_client_protocol::v1::schema::{
    SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue, SessionConfigSelect,
    SessionConfigSelectOptions, SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use serde_json::Value;

use super::{
    act::OptionValue,
    options::Feature,
    session::{Choices, Session},
    state::{Client, Trouble},
};

/// Sets a mode: through its config option if the agent has options, which replace the older modes.
///
/// > Clients that support config options **SHOULD** use `configOptions` exclusively and ignore `modes`
pub(super) async fn set_mode(client: &Client, mode: &str) -> Result<(), Trouble> {
    let session = current(client)?;
    let choices = session.choices();
    let options = choices.options.as_deref().unwrap_or_default();
    let is_mode = |option: &&SessionConfigOption| option.category == Some(SessionConfigOptionCategory::Mode);
    match options.iter().find(is_mode) {
        Some(option) => set_option(client, &option.id.0, OptionValue::Choice(mode.to_owned())).await,
        None if !options.is_empty() => Err(Trouble::refused("the agent has no config option for modes")),
        None => set_listed_mode(client, &session, &choices, mode).await,
    }
}

async fn set_listed_mode(
    client: &Client,
    session: &Arc<Session>,
    choices: &Choices,
    mode: &str,
) -> Result<(), Trouble> {
    let mut listed = choices.modes.iter().flat_map(|modes| &modes.available_modes);
    let Some(listed) = listed.find(|listed| *listed.id.0 == *mode) else {
        return Err(Trouble::refused(format!("the session has no mode `{mode}`")));
    };
    let (changed, id) = (Arc::clone(session), listed.id.clone());
    let request = SetSessionModeRequest::new(session.id.clone(), id.clone());
    let answer = client.connection.call::<Value>("session/set_mode", request, move |answer| {
        if answer.is_ok() {
            changed.change(|choices| choices.modes.iter_mut().for_each(|modes| modes.current_mode_id = id.clone()));
        }
    });
    answer.await.map(drop).map_err(|error| Trouble::failed("session/set_mode", &error))
}

/// Changes a config option to one of its values.
pub(super) async fn set_option(client: &Client, id: &str, value: OptionValue) -> Result<(), Trouble> {
    let session = current(client)?;
    let choices = session.choices();
    let option = choices.options.iter().flatten().find(|option| *option.id.0 == *id);
    let option = option.ok_or_else(|| Trouble::refused(format!("the session has no option `{id}`")))?;
    let value = allowed(client, option, value)?;
    let changed = Arc::clone(&session);
    let request = SetSessionConfigOptionRequest::new(session.id.clone(), id.to_owned(), value);
    let answer = client.connection.call::<Value>("session/set_config_option", request, move |answer| {
        if let Ok(answer) = answer {
            changed.change(|choices| choices.options = Choices::read(answer).options);
        }
    });
    answer.await.map(drop).map_err(|error| Trouble::failed("session/set_config_option", &error))
}

fn current(client: &Client) -> Result<Arc<Session>, Trouble> {
    client.sessions.current().ok_or_else(|| Trouble::refused("no session is open"))
}

/// Converts the user's value to one that the option has.
fn allowed(
    client: &Client,
    option: &SessionConfigOption,
    value: OptionValue,
) -> Result<SessionConfigOptionValue, Trouble> {
    let id = &option.id.0;
    match (&option.kind, value) {
        (SessionConfigKind::Boolean(_), OptionValue::Flag(_)) if !client.has(Feature::ConfigBoolean) => {
            Err(Trouble::refused(format!("`{id}` is boolean, which is not advertised")))
        }
        (SessionConfigKind::Boolean(_), OptionValue::Flag(flag)) => Ok(SessionConfigOptionValue::boolean(flag)),
        (SessionConfigKind::Select(select), OptionValue::Choice(choice)) if has_value(select, &choice) => {
            Ok(SessionConfigOptionValue::value_id(choice))
        }
        (SessionConfigKind::Select(_), OptionValue::Choice(choice)) => {
            Err(Trouble::refused(format!("`{id}` has no value `{choice}`")))
        }
        _ => Err(Trouble::refused(format!("`{id}` takes no value of that type"))),
    }
}

/// Returns whether a select option has a value, in any group.
fn has_value(select: &SessionConfigSelect, value: &str) -> bool {
    match &select.options {
        SessionConfigSelectOptions::Ungrouped(options) => options.iter().any(|option| *option.value.0 == *value),
        SessionConfigSelectOptions::Grouped(groups) => {
            groups.iter().flat_map(|group| &group.options).any(|option| *option.value.0 == *value)
        }
        _ => false,
    }
}
