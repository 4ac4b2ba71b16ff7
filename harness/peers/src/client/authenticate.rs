//! Logins, in the agent and in a terminal, and the logout.

use serde_json::json;

use super::{
    agent_info::{AuthKind, AuthMethod},
    errors::Trouble,
    options::Feature,
    state::Client,
};

/// Logs in with the first method that the agent handles itself, or else with the first terminal method.
pub(super) async fn log_in(client: &Client) -> Result<(), Trouble> {
    let methods = &client.agent().auth_methods;
    let own = methods.iter().find(|method| matches!(method.kind, AuthKind::Agent));
    let in_terminal =
        |method: &&AuthMethod| matches!(method.kind, AuthKind::Terminal(_)) && client.has(Feature::AuthTerminal);
    let method = own.or_else(|| methods.iter().find(in_terminal));
    let method =
        method.ok_or_else(|| Trouble::Failed("the agent wants a login and offers none that can be done".into()))?;
    log_in_with(client, method).await
}

/// Logs in with a method that the user names.
pub(super) async fn authenticate(client: &Client, id: &str) -> Result<(), Trouble> {
    let method = client.agent().auth_methods.iter().find(|method| method.id == id);
    log_in_with(client, method.ok_or_else(|| Trouble::refused(format!("the agent has no login method `{id}`")))?).await
}

async fn log_in_with(client: &Client, method: &AuthMethod) -> Result<(), Trouble> {
    let id = &method.id;
    match &method.kind {
        // A login in a terminal applies only to a new connection.
        AuthKind::Terminal(login) if client.has(Feature::AuthTerminal) => match client.launcher.log_in(login).await {
            Ok(()) => Err(Trouble::LoggedIn),
            Err(error) => Err(Trouble::Failed(format!("the login `{id}` failed: {error}"))),
        },
        AuthKind::Agent => client.act(client.major.login, json!({"methodId": id})).await,
        _ => Err(Trouble::refused(format!("the login method `{id}` is neither the agent's nor for a terminal"))),
    }
}

pub(super) async fn log_out(client: &Client) -> Result<(), Trouble> {
    let method = client.major.logout;
    client.require(method, |takes| takes.logout)?;
    client.act(method, json!({})).await
}
