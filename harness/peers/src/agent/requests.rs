//! The requests and notifications of the client, and their answers.
//!
//! The SDK handles messages one after the other, so everything that takes time runs in a separate task.

use std::sync::{Arc, OnceLock};

use agent_client_protocol::{
    Client as ClientRole, Error,
    v1::{
        ConnectionTo, Responder,
        schema::{
            ClientNotification, ClientRequest, CloseSessionResponse, CompleteElicitationNotification,
            DeleteSessionResponse, InitializeRequest, InitializeResponse, LoadSessionRequest, LoadSessionResponse,
            NewSessionRequest, NewSessionResponse, PromptRequest, PromptResponse, ResumeSessionRequest,
            ResumeSessionResponse, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse,
            SetSessionModeRequest, SetSessionModeResponse,
        },
    },
};
use serde::Serialize;
use serde_json::Value;

use super::{
    auth::Login,
    client::Client,
    extension::{self, ECHO, VISITED},
    initialize,
    options::Options,
    prompt,
    reply::{answer, invalid_request},
    session::Session,
    sessions::{Sessions, Setup},
    settings,
    turn::Turn,
};

/// The state of the connection.
pub(super) struct Agent {
    login: Login,
    client: OnceLock<Arc<Client>>,
    sessions: Sessions,
}

impl Agent {
    pub(super) fn new(options: &Options) -> Self {
        Self { login: Login::new(!options.require_login), client: OnceLock::new(), sessions: Sessions::open() }
    }

    /// Answers a request, now or in a task.
    pub(super) fn handle(
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
            ClientRequest::AuthenticateRequest(request) => spawn(async move {
                let id = responder.id().clone();
                answer(responder, agent.login.authenticate(&client, &request, id).await)
            }),
            ClientRequest::LogoutRequest(_) => answer(responder, Ok(self.login.logout())),
            ClientRequest::NewSessionRequest(request) => {
                open(Arc::clone(&client), responder, agent.new_session(client, request))
            }
            ClientRequest::LoadSessionRequest(request) => {
                open(Arc::clone(&client), responder, agent.load_session(client, request))
            }
            ClientRequest::ResumeSessionRequest(request) => {
                open(Arc::clone(&client), responder, agent.resume_session(client, request))
            }
            ClientRequest::CloseSessionRequest(request) => spawn(async move {
                let closed = agent.sessions.close(&request.session_id).await;
                answer(responder, closed.map(|()| CloseSessionResponse::new()))
            }),
            ClientRequest::DeleteSessionRequest(request) => spawn(async move {
                agent.sessions.delete(&request.session_id).await;
                answer(responder, Ok(DeleteSessionResponse::new()))
            }),
            ClientRequest::ListSessionsRequest(request) => {
                answer(responder, self.login.check().and_then(|()| self.sessions.list(&request)))
            }
            ClientRequest::SetSessionModeRequest(request) => self.set_mode(&client, &request, responder),
            ClientRequest::SetSessionConfigOptionRequest(request) => {
                self.set_config_option(&client, &request, responder)
            }
            ClientRequest::PromptRequest(request) => self.prompt(client, request, responder),
            ClientRequest::ExtMethodRequest(request) if &*request.method == ECHO => {
                answer(responder, Ok(extension::echo(request.params.get())))
            }
            _ => responder.respond_with_error(Error::method_not_found()),
        }
    }

    /// Handles a notification.
    pub(super) fn note(&self, notification: &ClientNotification) {
        match notification {
            ClientNotification::CancelNotification(cancel) => {
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
    pub(super) async fn shut_down(&self) {
        self.sessions.end_all().await;
    }

    fn initialize(&self, request: &InitializeRequest, connection: ConnectionTo<ClientRole>) -> InitializeResponse {
        let client = self.client.get_or_init(|| Arc::new(Client::new(connection)));
        client.set_capabilities(initialize::client_capabilities(&request.client_capabilities));
        initialize::response()
    }

    async fn new_session(
        self: Arc<Self>,
        client: Arc<Client>,
        request: NewSessionRequest,
    ) -> Result<(Arc<Session>, NewSessionResponse), Error> {
        self.login.check()?;
        let setup = Setup::new(request.cwd, request.additional_directories, request.mcp_servers);
        let session = self.sessions.create(setup).await?;
        let response = NewSessionResponse::new(session.id.clone())
            .modes(settings::modes(&session))
            .config_options(settings::config_options(&client, &session));
        Ok((session, response))
    }

    async fn load_session(
        self: Arc<Self>,
        client: Arc<Client>,
        request: LoadSessionRequest,
    ) -> Result<(Arc<Session>, LoadSessionResponse), Error> {
        self.login.check()?;
        let setup = Setup::new(request.cwd, request.additional_directories, request.mcp_servers);
        let session = self.sessions.reopen(&request.session_id, setup).await?;
        // This replays the whole conversation in order and with its ids; nothing is executed again.
        let history = session.record().history.clone();
        history.into_iter().for_each(|update| client.update(&session, update));
        let response = LoadSessionResponse::new()
            .modes(settings::modes(&session))
            .config_options(settings::config_options(&client, &session));
        Ok((session, response))
    }

    async fn resume_session(
        self: Arc<Self>,
        client: Arc<Client>,
        request: ResumeSessionRequest,
    ) -> Result<(Arc<Session>, ResumeSessionResponse), Error> {
        self.login.check()?;
        let setup = Setup::new(request.cwd, request.additional_directories, request.mcp_servers);
        let session = self.sessions.reopen(&request.session_id, setup).await?;
        let response = ResumeSessionResponse::new()
            .modes(settings::modes(&session))
            .config_options(settings::config_options(&client, &session));
        Ok((session, response))
    }

    fn set_mode(&self, client: &Client, request: &SetSessionModeRequest, responder: Responder) -> Result<(), Error> {
        let session = match self.sessions.get(&request.session_id) {
            Ok(session) => session,
            Err(error) => return responder.respond_with_error(error),
        };
        if let Err(error) = settings::set_mode(&session, &request.mode_id.0) {
            return responder.respond_with_error(error);
        }
        self.sessions.save(&session);
        answer(responder, Ok(SetSessionModeResponse::new()))?;
        settings::announce_config_options(client, &session);
        Ok(())
    }

    fn set_config_option(
        &self,
        client: &Client,
        request: &SetSessionConfigOptionRequest,
        responder: Responder,
    ) -> Result<(), Error> {
        let session = match self.sessions.get(&request.session_id) {
            Ok(session) => session,
            Err(error) => return responder.respond_with_error(error),
        };
        if let Err(error) = settings::set_config_option(client, &session, &request.config_id.0, &request.value) {
            return responder.respond_with_error(error);
        }
        self.sessions.save(&session);
        let options = settings::config_options(client, &session);
        answer(responder, Ok(SetSessionConfigOptionResponse::new(options)))?;
        if &*request.config_id.0 == settings::MODE {
            settings::announce_mode(client, &session);
        }
        Ok(())
    }

    /// Accepts or refuses a prompt; an accepted one is answered when its turn has ended.
    fn prompt(
        self: &Arc<Self>,
        client: Arc<Client>,
        request: PromptRequest,
        responder: Responder,
    ) -> Result<(), Error> {
        let begin = || {
            let session = self.sessions.get(&request.session_id)?;
            prompt::check(&request.prompt)?;
            Turn::begin(client, session)
        };
        let turn = match begin() {
            Ok(turn) => turn,
            Err(error) => return responder.respond_with_error(error),
        };
        let agent = Arc::clone(self);
        spawn(async move {
            let withdrawn = responder.cancellation();
            let stop = prompt::run(&turn, &request.prompt, withdrawn.cancelled()).await;
            agent.sessions.save(&turn.session);
            turn.session.end_turn();
            answer(responder, stop.map(PromptResponse::new))
        })
    }

    /// Handles the notification that the user has visited a page, and completes the elicitation for it.
    fn complete_visit(&self, params: &str) {
        let params: Value = serde_json::from_str(params).unwrap_or_default();
        let id = params.get("elicitationId").and_then(Value::as_str).unwrap_or_default();
        if let Some(client) = self.client.get().filter(|client| client.visits.end(id)) {
            client.notify(CompleteElicitationNotification::new(id.to_owned()));
        }
    }
}

/// Answers a request that opens a session, and then announces the commands of the session.
fn open<R: Serialize + Send>(
    client: Arc<Client>,
    responder: Responder,
    opening: impl Future<Output = Result<(Arc<Session>, R), Error>> + Send + 'static,
) -> Result<(), Error> {
    spawn(async move {
        let (session, response) = match opening.await {
            Ok(opened) => opened,
            Err(error) => return responder.respond_with_error(error),
        };
        answer(responder, Ok(response))?;
        settings::announce_commands(&client, &session);
        Ok(())
    })
}

fn spawn(task: impl Future<Output = Result<(), Error>> + Send + 'static) -> Result<(), Error> {
    tokio::spawn(task);
    Ok(())
}
