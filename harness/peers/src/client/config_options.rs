//! `session/set_mode` and `session/set_config_option`.

use std::sync::Arc;

use serde_json::json;

use super::{act::OptionValue, errors::Trouble, options::Feature, session::ConfigOption, state::Client};

/// Sets a mode: through its config option if the agent has options, which replace the older modes.
///
/// > Clients that support config options **SHOULD** use `configOptions` exclusively and ignore `modes`
pub(super) async fn set_mode(client: &Arc<Client>, mode: String) -> Result<(), Trouble> {
    let session = client.sessions.current()?;
    let settings = client.sessions.read(&session, |session| session.settings.clone()).unwrap_or_default();
    match settings.options.iter().find(|option| option.is_mode) {
        Some(option) => set_option(client, &option.id, OptionValue::Choice(mode)).await,
        None if !settings.options.is_empty() => Err(Trouble::refused("the agent has no config option for modes")),
        None if !settings.modes.contains(&mode) => Err(Trouble::refused(format!("the session has no mode `{mode}`"))),
        None => client.act("session/set_mode", json!({"sessionId": session, "modeId": mode})).await,
    }
}

/// Changes a config option to one of its values.
pub(super) async fn set_option(client: &Arc<Client>, id: &str, value: OptionValue) -> Result<(), Trouble> {
    let session = client.sessions.current()?;
    let find = |options: &[ConfigOption]| options.iter().find(|option| option.id == id).cloned();
    let option = client.sessions.read(&session, |session| find(&session.settings.options)).flatten();
    let option = option.ok_or_else(|| Trouble::refused(format!("the session has no option `{id}`")))?;
    check(client, &option, &value)?;
    let mut params = json!({"sessionId": session, "configId": id});
    let kind = if matches!(value, OptionValue::Flag(_)) { Some("boolean") } else { client.major.choice_type };
    if let Some(kind) = kind {
        params["type"] = kind.into();
    }
    params["value"] = json!(value);
    let noted = Arc::clone(client);
    let answer = client.connection.call("session/set_config_option", params, move |answer| {
        if let Ok(answer) = answer {
            let options = ConfigOption::read_all(&answer["configOptions"], noted.major.option_id);
            noted.sessions.change(&session, |session| session.settings.options = options);
        }
    });
    answer.await.map(drop).map_err(|error| Trouble::failed("session/set_config_option", &error))
}

/// Refuses a value that the option does not have.
fn check(client: &Client, option: &ConfigOption, value: &OptionValue) -> Result<(), Trouble> {
    let id = &option.id;
    match (&option.values, value) {
        (None, OptionValue::Flag(_)) if !client.has(Feature::ConfigBoolean) => {
            Err(Trouble::refused(format!("`{id}` is boolean, which is not advertised")))
        }
        (None, OptionValue::Flag(_)) => Ok(()),
        (Some(values), OptionValue::Choice(choice)) if values.contains(choice) => Ok(()),
        (Some(_), OptionValue::Choice(choice)) => Err(Trouble::refused(format!("`{id}` has no value `{choice}`"))),
        _ => Err(Trouble::refused(format!("`{id}` takes no value of that type"))),
    }
}
