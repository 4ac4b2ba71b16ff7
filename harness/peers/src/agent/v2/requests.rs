//! The requests and notifications of the client, and their answers.
//!
//! The SDK handles one message after the other, so slow work runs in separate tasks.

use std::sync::{Arc, OnceLock};

use agent_client_protocol::{
    Client as ClientRole, Error,
    v2::{
        ConnectionTo, Responder,
        schema::{
            CancelTerminalResponse, CancelToolCallResponse, ClientNotification, ClientRequest, CloseSessionResponse,
            CompleteElicitationNotification, CreateElicitationRequest, DeleteSessionResponse, ElicitationAction,
            ElicitationFormMode, ElicitationMode, ElicitationRequestScope, ElicitationSchema, ElicitationScope,
            InitializeRequest, InitializeResponse, LoginAuthRequest, LoginAuthResponse, LogoutAuthResponse,
            NewSessionRequest, NewSessionResponse, PromptRequest, PromptResponse, ReplayFrom, RequestId,
            ResumeSessionRequest, ResumeSessionResponse, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse,
            StringPropertySchema,
        },
    },
};
use serde_json::Value;

use super::{
    client::Client,
    initialize, prompt,
    sessions::{Sessions, Setup},
    settings,
    turn::Turn,
};
use crate::agent::{
    auth::{LOGIN, Login},
    extension::{self, ECHO, VISITED},
    options::Options,
    reply::{answer, invalid_params, invalid_request},
};

/// The state of the connection.
pub(in crate::agent) struct Agent {
    login: Login,
    client: OnceLock<Arc<Client>>,
    sessions: Sessions,
}

impl Agent {
    pub(in crate::agent) fn new(options: &Options) -> Self {
        Self { login: Login::new(!options.require_login), client: OnceLock::new(), sessions: Sessions::open() }
    }

    /// Answers a request, now or in a task.
    pub(in crate::agent) fn handle(
        self: &Arc<Self>,
        request: ClientRequest,
        responder: Responder,
        connection: ConnectionTo<ClientRole>,
    ) -> Result<(), Error> {
        if let ClientRequest::InitializeRequest(request) = request {
            return answer(responder, Ok(self.initialize(&request, connection)));
        }
        let Some(client) = self.client.get().cloned() else {
            return responder.respond_with_error(invalid_request("the connection is not initialized"));
        };
        let agent = Arc::clone(self);
        match request {
            ClientRequest::LoginAuthRequest(request) => spawn(async move {
                let id = responder.id().clone();
                answer(responder, agent.log_in(&client, &request, id).await)
            }),
            ClientRequest::LogoutAuthRequest(_) => {
                self.login.set(false);
                answer(responder, Ok(LogoutAuthResponse::new()))
            }
            ClientRequest::NewSessionRequest(request) => {
                spawn(async move { answer(responder, agent.new_session(client, *request).await) })
            }
            ClientRequest::ResumeSessionRequest(request) => {
                spawn(async move { answer(responder, agent.resume_session(client, *request).await) })
            }
            ClientRequest::CloseSessionRequest(request) => spawn(async move {
                agent.sessions.close(&request.session_id).await;
                answer(responder, Ok(CloseSessionResponse::new()))
            }),
            ClientRequest::DeleteSessionRequest(request) => spawn(async move {
                agent.sessions.delete(&request.session_id).await;
                answer(responder, Ok(DeleteSessionResponse::new()))
            }),
            ClientRequest::ListSessionsRequest(request) => {
                answer(responder, self.login.check().and_then(|()| self.sessions.list(&request)))
            }
            ClientRequest::SetSessionConfigOptionRequest(request) => {
                answer(responder, self.set_config_option(&request))
            }
            ClientRequest::CancelToolCallRequest(request) => {
                let session = self.sessions.get(&request.session_id);
                let cancelled = session.and_then(|session| match session.tools.cancel(&request.tool_call_id.0) {
                    true => Ok(CancelToolCallResponse::new()),
                    false => Err(invalid_params("the tool call cannot be cancelled")),
                });
                answer(responder, cancelled)
            }
            ClientRequest::CancelTerminalRequest(request) => {
                let session = self.sessions.get(&request.session_id);
                let cancelled = session.and_then(|session| match session.terminals.cancel(&request.terminal_id.0) {
                    true => Ok(CancelTerminalResponse::new()),
                    false => Err(invalid_params("the terminal cannot be cancelled")),
                });
                answer(responder, cancelled)
            }
            ClientRequest::PromptRequest(request) => self.prompt(client, *request, responder),
            ClientRequest::ExtMethodRequest(request) if &*request.method == ECHO => {
                answer(responder, Ok(extension::echo(request.params.get())))
            }
            _ => responder.respond_with_error(Error::method_not_found()),
        }
    }

    /// Processes a notification.
    pub(in crate::agent) fn note(&self, notification: &ClientNotification) {
        match notification {
            ClientNotification::CancelSessionNotification(cancel) => {
                // A cancel for an unknown session has no effect.
                if let Ok(session) = self.sessions.get(&cancel.session_id) {
                    session.cancel();
                }
            }
            ClientNotification::ExtNotification(visited) if &*visited.method == VISITED => {
                self.complete_visit(visited.params.get());
            }
            _ => {}
        }
    }

    /// Ends all sessions.
    pub(in crate::agent) async fn shut_down(&self) {
        self.sessions.end_all().await;
    }

    fn initialize(&self, request: &InitializeRequest, connection: ConnectionTo<ClientRole>) -> InitializeResponse {
        let client = self.client.get_or_init(|| Arc::new(Client::new(connection)));
        client.set_capabilities(initialize::client_capabilities(&request.capabilities));
        initialize::response()
    }

    /// Logs in, after asking the user for a name if the client has forms.
    async fn log_in(
        &self,
        client: &Client,
        request: &LoginAuthRequest,
        id: RequestId,
    ) -> Result<LoginAuthResponse, Error> {
        if &*request.method_id.0 != LOGIN {
            return Err(invalid_params("unknown auth method"));
        }
        if client.capabilities().elicits_forms {
            let schema = ElicitationSchema::new().property("name", StringPropertySchema::new(), true);
            // The login precedes every session, so the question belongs to the request.
            let scope = ElicitationScope::Request(ElicitationRequestScope::new(id));
            let form = ElicitationMode::Form(ElicitationFormMode::new(scope, schema));
            let question = CreateElicitationRequest::new(form, "Who logs in?");
            let answer = client.connection.send_request(question).block_task().await?;
            if !matches!(answer.action, ElicitationAction::Accept(_)) {
                return Err(Error::auth_required());
            }
        }
        self.login.set(true);
        Ok(LoginAuthResponse::new())
    }

    async fn new_session(&self, client: Arc<Client>, request: NewSessionRequest) -> Result<NewSessionResponse, Error> {
        self.login.check()?;
        let NewSessionRequest { cwd, additional_directories: roots, mcp_servers: servers, .. } = request;
        let session = self.sessions.create(client, Setup { cwd, roots, servers }).await?;
        Ok(NewSessionResponse::new(session.id.clone())
            .config_options(settings::config_options(&session))
            .available_commands(settings::commands()))
    }

    async fn resume_session(
        &self,
        client: Arc<Client>,
        request: ResumeSessionRequest,
    ) -> Result<ResumeSessionResponse, Error> {
        self.login.check()?;
        let replays = match &request.replay_from {
            None => false,
            Some(ReplayFrom::Start(_)) => true,
            Some(_) => return Err(invalid_params("unknown place to replay from")),
        };
        let ResumeSessionRequest { cwd, additional_directories: roots, mcp_servers: servers, .. } = request;
        let setup = Setup { cwd, roots, servers };
        let session = self.sessions.resume(Arc::clone(&client), &request.session_id, setup).await?;
        if replays {
            // This replays the whole conversation in order and with its ids, without executing it.
            let history = session.record().history.clone();
            history.into_iter().for_each(|update| client.update(&session.id, update));
        }
        session.change_state(|_| {}, None);
        Ok(ResumeSessionResponse::new()
            .config_options(settings::config_options(&session))
            .available_commands(settings::commands()))
    }

    fn set_config_option(
        &self,
        request: &SetSessionConfigOptionRequest,
    ) -> Result<SetSessionConfigOptionResponse, Error> {
        let session = self.sessions.get(&request.session_id)?;
        settings::set(&session, &request.config_id.0, &request.value)?;
        self.sessions.save(&session);
        Ok(SetSessionConfigOptionResponse::new(settings::config_options(&session)))
    }

    /// Accepts or refuses a prompt. One that comes during work waits; the response confirms its insertion.
    fn prompt(
        self: &Arc<Self>,
        client: Arc<Client>,
        request: PromptRequest,
        responder: Responder,
    ) -> Result<(), Error> {
        let checked = self.sessions.get(&request.session_id);
        let session = match checked.and_then(|session| prompt::check(&request.prompt).map(|()| session)) {
            Ok(session) => session,
            Err(error) => return responder.respond_with_error(error),
        };
        let turn = Turn::begin(client, Arc::clone(&session), session.cancels());
        let agent = Arc::clone(self);
        spawn(async move {
            let withdrawn = responder.cancellation();
            // Prompts get the lock in the order in which they came.
            let foreground = tokio::select! {
                biased;
                () = turn.cancelled() => None,
                () = withdrawn.cancelled() => None,
                foreground = session.foreground.lock() => Some(foreground),
            };
            let Some(_foreground) = foreground else {
                return responder.respond_with_error(Error::request_cancelled());
            };
            let id = prompt::insert(&turn, &request.prompt);
            answer(responder, Ok(PromptResponse::new(id)))?;
            prompt::run(&turn, &request.prompt).await;
            agent.sessions.save(&session);
            Ok(())
        })
    }

    /// Completes the elicitation for a page that the user has visited.
    fn complete_visit(&self, params: &str) {
        let params: Value = serde_json::from_str(params).unwrap_or_default();
        let id = params.get("elicitationId").and_then(Value::as_str).unwrap_or_default();
        if let Some(client) = self.client.get().filter(|client| client.visits.end(id)) {
            client.notify(CompleteElicitationNotification::new(id.to_owned()));
        }
    }
}

fn spawn(task: impl Future<Output = Result<(), Error>> + Send + 'static) -> Result<(), Error> {
    tokio::spawn(task);
    Ok(())
}
