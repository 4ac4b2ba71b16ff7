//! `authenticate` and `logout`.

use std::sync::atomic::{AtomicBool, Ordering};

use agent_client_protocol::{
    Error, UntypedMessage,
    v1::schema::{
        AuthMethod, AuthMethodAgent, AuthenticateRequest, AuthenticateResponse, CreateElicitationRequest,
        ElicitationFormMode, ElicitationRequestScope, ElicitationSchema, LogoutResponse, RequestId,
        StringPropertySchema,
    },
};
use serde_json::Value;

use super::{client::Client, reply::invalid_params};

/// Id of the only way to log in.
pub(super) const LOGIN: &str = "reference-login";

/// Returns the only login method.
pub(super) fn method() -> AuthMethod {
    let login = AuthMethodAgent::new(LOGIN, "Reference login").description("Succeeds without asking".to_owned());
    AuthMethod::Agent(login)
}

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

    /// Answers `authenticate`, which has this id.
    pub(super) async fn authenticate(
        &self,
        client: &Client,
        request: &AuthenticateRequest,
        id: RequestId,
    ) -> Result<AuthenticateResponse, Error> {
        if &*request.method_id.0 != LOGIN {
            return Err(invalid_params("unknown auth method"));
        }
        ask_for_name(client, id).await?;
        self.set(true);
        Ok(AuthenticateResponse::new())
    }

    /// Answers `logout`.
    pub(super) fn logout(&self) -> LogoutResponse {
        self.set(false);
        LogoutResponse::new()
    }
}

/// Asks the user for a name if the client has forms; the elicitation belongs to the request, since the login precedes every session.
async fn ask_for_name(client: &Client, request: RequestId) -> Result<(), Error> {
    if !client.capabilities().elicits_forms {
        return Ok(());
    }
    let schema = ElicitationSchema::new().property("name", StringPropertySchema::new(), true);
    let form = ElicitationFormMode::new(ElicitationRequestScope::new(request), schema);
    let question = UntypedMessage::new("elicitation/create", CreateElicitationRequest::new(form, "Who logs in?"))?;
    let answer = client.connection.send_request(question).block_task().await?;
    let accepted = answer.get("action").and_then(Value::as_str) == Some("accept");
    if accepted { Ok(()) } else { Err(Error::auth_required()) }
}
