//! Modes and config options of the current session.

use std::sync::Arc;

use agent_client_protocol::v1::schema::{
    SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue, SessionConfigSelect,
    SessionConfigSelectOptions, SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use serde_json::Value;

use super::{
    Fault, Feature,
    act::OptionValue,
    session::{Choices, Session},
    state::Client,
    user::Trouble,
};

/// Chooses a mode: through its config option where the agent has options, which replace the older modes.
///
/// > Clients that support config options **SHOULD** use `configOptions` exclusively and ignore `modes`
pub(super) async fn set_mode(client: &Arc<Client>, mode: &str) -> Result<(), Trouble> {
    let session = current(client)?;
    let choices = session.choices();
    let options = choices.options.as_deref().unwrap_or_default();
    if let Some(option) = options.iter().find(|option| is_mode_option(option) && !client.commits(Fault::ModesPreferred))
    {
        return set_option(client, &option.id.0, OptionValue::Choice(mode.to_owned())).await;
    }
    let has_options = !options.is_empty() && !client.commits(Fault::ModesPreferred);
    if has_options || client.commits(Fault::NoModesFallback) {
        return Err(Trouble::refused("the agent has no config option for modes"));
    }
    set_listed_mode(client, &session, &choices, mode).await
}

async fn set_listed_mode(
    client: &Arc<Client>,
    session: &Arc<Session>,
    choices: &Choices,
    mode: &str,
) -> Result<(), Trouble> {
    let listed = choices.modes.iter().flat_map(|modes| &modes.available_modes).find(|listed| *listed.id.0 == *mode);
    let wanted = match listed {
        Some(listed) if client.commits(Fault::ModeNameSent) => listed.name.clone(),
        Some(listed) => listed.id.0.to_string(),
        None if client.commits(Fault::ModeUnlisted) => mode.to_owned(),
        None => return Err(Trouble::refused(format!("the session has no mode `{mode}`"))),
    };
    let changed = Arc::clone(session);
    let request = SetSessionModeRequest::new(session.id.clone(), wanted.clone());
    let answer = client.call::<Value>("session/set_mode", request, move |answer| {
        if answer.is_ok() {
            changed.change(|choices| {
                choices.modes.iter_mut().for_each(|modes| modes.current_mode_id = wanted.clone().into())
            });
        }
    });
    answer.await.map(|_| ()).map_err(|error| Trouble::failed("session/set_mode", &error))
}

/// Changes a config option to one of its values.
pub(super) async fn set_option(client: &Arc<Client>, id: &str, value: OptionValue) -> Result<(), Trouble> {
    let session = current(client)?;
    let choices = session.choices();
    let option = choices.options.iter().flatten().find(|option| *option.id.0 == *id && is_offered(client, option));
    let value = match option {
        Some(option) => allowed(client, option, value)?,
        None if client.commits(Fault::OptionUnlisted) => plain(value),
        None => return Err(Trouble::refused(format!("the session has no option `{id}`"))),
    };
    let changed = Arc::clone(&session);
    let ignores = client.commits(Fault::ConfigResponseIgnored);
    let request = SetSessionConfigOptionRequest::new(session.id.clone(), id.to_owned(), value);
    let answer = client.call::<Value>("session/set_config_option", request, move |answer| {
        if let (Ok(answer), false) = (answer, ignores) {
            changed.change(|choices| choices.options = Choices::read(answer).options);
        }
    });
    answer.await.map(|_| ()).map_err(|error| Trouble::failed("session/set_config_option", &error))
}

/// Does what some faults do as soon as a session is open.
pub(super) async fn after_opening(client: &Arc<Client>) -> Result<(), Trouble> {
    let session = current(client)?;
    let choices = session.choices();
    if client.commits(Fault::ModeUnoffered) && choices.modes.is_none() {
        let request = SetSessionModeRequest::new(session.id.clone(), "default");
        // The answer makes no difference.
        let _ = client.call::<Value>("session/set_mode", request, |_| ()).await;
    }
    Ok(())
}

fn current(client: &Client) -> Result<Arc<Session>, Trouble> {
    client.current().ok_or_else(|| Trouble::refused("no session is open"))
}

fn is_mode_option(option: &SessionConfigOption) -> bool {
    matches!(option.category, Some(SessionConfigOptionCategory::Mode))
}

/// Tells whether the user may see an option; a fault hides those of unknown categories.
fn is_offered(client: &Client, option: &SessionConfigOption) -> bool {
    let is_known = matches!(
        option.category,
        Some(
            SessionConfigOptionCategory::Mode
                | SessionConfigOptionCategory::Model
                | SessionConfigOptionCategory::ThoughtLevel
        )
    );
    is_known || !client.commits(Fault::UnknownCategoryDropped)
}

/// Turns what the user wants into a value that the option has.
fn allowed(
    client: &Client,
    option: &SessionConfigOption,
    value: OptionValue,
) -> Result<SessionConfigOptionValue, Trouble> {
    let id = &option.id.0;
    match (&option.kind, value) {
        (SessionConfigKind::Boolean(_), OptionValue::Flag(flag)) => {
            if client.options.with(Feature::ConfigBoolean) || client.commits(Fault::BooleanRegardless) {
                return Ok(SessionConfigOptionValue::boolean(flag));
            }
            Err(Trouble::refused(format!("`{id}` is boolean, which is not advertised")))
        }
        (SessionConfigKind::Select(select), OptionValue::Choice(choice)) => {
            let found = values(select).into_iter().find(|(value, _)| *value == choice);
            match found {
                Some((_, name)) if client.commits(Fault::OptionNameSent) => {
                    Ok(SessionConfigOptionValue::value_id(name))
                }
                None if !client.commits(Fault::OptionUnlisted) => {
                    Err(Trouble::refused(format!("`{id}` has no value `{choice}`")))
                }
                _ => Ok(SessionConfigOptionValue::value_id(choice)),
            }
        }
        _ => Err(Trouble::refused(format!("`{id}` takes no value of that type"))),
    }
}

fn plain(value: OptionValue) -> SessionConfigOptionValue {
    match value {
        OptionValue::Flag(flag) => SessionConfigOptionValue::boolean(flag),
        OptionValue::Choice(choice) => SessionConfigOptionValue::value_id(choice),
    }
}

/// Lists the values of a select option with their names, without regard to groups.
fn values(select: &SessionConfigSelect) -> Vec<(String, String)> {
    let options: Vec<_> = match &select.options {
        SessionConfigSelectOptions::Ungrouped(options) => options.iter().collect(),
        SessionConfigSelectOptions::Grouped(groups) => groups.iter().flat_map(|group| &group.options).collect(),
        _ => Vec::new(),
    };
    options.iter().map(|option| (option.value.0.to_string(), option.name.clone())).collect()
}
