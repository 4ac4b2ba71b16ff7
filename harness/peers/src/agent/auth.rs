//! Logging in and out.

use std::sync::atomic::{AtomicBool, Ordering};

use agent_client_protocol::{Error, RawJsonRpcId};
use serde_json::json;

use super::{client::Client, elicitation, errors::invalid_params};

/// Id, name and description of the only way to log in.
pub(super) const LOGIN: [&str; 3] = ["reference-login", "Reference login", "Succeeds without asking"];

/// The login of the user.
#[derive(Debug)]
pub(super) struct Login {
    is_in: AtomicBool,
}

impl Login {
    pub(super) fn new(is_in: bool) -> Self {
        Self { is_in: AtomicBool::new(is_in) }
    }

    /// Fails with -32000 unless the user is logged in.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.is_in.load(Ordering::Relaxed) { Ok(()) } else { Err(Error::auth_required()) }
    }

    /// Notes that the user logged in or out.
    pub(super) fn set(&self, is_in: bool) {
        self.is_in.store(is_in, Ordering::Relaxed);
    }

    /// Logs in, after asking the user for a name if the client has forms.
    pub(super) async fn log_in(&self, client: &Client, method: &str, request: RawJsonRpcId) -> Result<(), Error> {
        if method != LOGIN[0] {
            return Err(invalid_params("unknown auth method"));
        }
        if client.capabilities().elicits_forms {
            // The login precedes every session, so the elicitation belongs to the request.
            let question = elicitation::form("requestId", json!(request), "Who logs in?", elicitation::name(&[]))?;
            let answer = client.connection.send_request(question).block_task().await?;
            if answer["action"] != "accept" {
                return Err(Error::auth_required());
            }
        }
        self.set(true);
        Ok(())
    }
}
