//! `authenticate`, logins in a terminal, and `logout`.

use agent_client_protocol::v1::schema::{AuthenticateRequest, LogoutRequest};
use serde_json::Value;

use super::{
    agent::{AuthKind, AuthMethod, TerminalLogin},
    options::Feature,
    state::{Client, Trouble},
};

/// Logs in with the first method that the agent handles itself, or else with the first terminal method.
pub(super) async fn log_in(client: &Client) -> Result<(), Trouble> {
    let methods = &client.agent().auth_methods;
    let own = methods.iter().find(|method| matches!(method.kind, AuthKind::Agent));
    let in_terminal = |method: &&AuthMethod| matches!(method.kind, AuthKind::Terminal(_)) && has_terminal(client);
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
        AuthKind::Terminal(login) if has_terminal(client) => log_in_in_terminal(client, id, login).await,
        AuthKind::Agent => {
            let request = AuthenticateRequest::new(id.clone());
            let answer = client.connection.call::<Value>("authenticate", request, |_| ()).await;
            answer.map(drop).map_err(|error| Trouble::failed("authenticate", &error))
        }
        _ => Err(Trouble::refused(format!("the login method `{id}` is neither the agent's nor for a terminal"))),
    }
}

/// Logs in with the agent's program in a terminal; the login applies only to a new connection.
async fn log_in_in_terminal(client: &Client, id: &str, login: &TerminalLogin) -> Result<(), Trouble> {
    match client.launcher.log_in(login).await {
        Ok(()) => Err(Trouble::LoggedIn),
        Err(error) => Err(Trouble::Failed(format!("the login `{id}` failed: {error}"))),
    }
}

fn has_terminal(client: &Client) -> bool {
    client.options.with(Feature::AuthTerminal)
}

/// Logs out.
pub(super) async fn log_out(client: &Client) -> Result<(), Trouble> {
    if client.agent().capabilities.auth.logout.is_none() {
        return Err(Trouble::refused("the agent does not advertise logout"));
    }
    let answer = client.connection.call::<Value>("logout", LogoutRequest::new(), |_| ()).await;
    answer.map(drop).map_err(|error| Trouble::failed("logout", &error))
}
