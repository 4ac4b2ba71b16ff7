//! The requests and notifications of the client, and their answers.
//!
//! The SDK handles messages one after the other, so everything that takes time runs in a separate task.

use std::sync::{Arc, OnceLock};

use agent_client_protocol::{Client as ClientRole, ConnectionTo, Error, Protocol, Responder};
use serde_json::{Value, json};

use super::{
    auth::Login,
    client::{Capabilities, Client},
    errors::{invalid_params, invalid_request},
    extension::{ECHO, VISITED},
    options::Options,
    prompt,
    session::Session,
    sessions::Sessions,
    settings::{self, Choice},
    turn::Turn,
    update::{Block, Update},
    v1, v2,
    wire::{Call, Reply, Setup, Wire},
};

/// The state of the connection.
pub(super) struct Agent {
    wire: &'static dyn Wire,
    login: Login,
    client: OnceLock<Arc<Client>>,
    sessions: Sessions,
}

impl Agent {
    pub(super) fn new(options: &Options, wire: &'static dyn Wire) -> Self {
        let login = Login::new(!options.require_login);
        Self { wire, login, client: OnceLock::new(), sessions: Sessions::open(wire.version()) }
    }

    /// Answers a request, now or in a task.
    pub(super) fn handle<P: Protocol>(
        self: &Arc<Self>,
        call: Result<Call, Error>,
        responder: Responder<Value, P>,
        connection: ConnectionTo<ClientRole>,
    ) -> Result<(), Error> {
        if let Ok(Call::Initialize(capabilities)) = call {
            return responder.respond_with_result(self.initialize(capabilities, connection));
        }
        let Some(client) = self.client.get().cloned() else {
            return responder.respond_with_error(invalid_request("the connection is not initialized"));
        };
        let call = match call {
            Ok(call) => call,
            Err(error) => return responder.respond_with_error(error),
        };
        let agent = Arc::clone(self);
        match call {
            Call::LogIn { method } => spawn(async move {
                let id = responder.raw_id().clone();
                let logged_in = agent.login.log_in(&client, &method, id).await;
                responder.respond_with_result(logged_in.and_then(done))
            }),
            Call::LogOut => {
                self.login.set(false);
                responder.respond_with_result(done(()))
            }
            Call::NewSession(setup) => {
                spawn(async move { agent.open_session(client, None, setup, false, responder).await })
            }
            Call::OpenSession { session, setup, replays } => {
                spawn(async move { agent.open_session(client, Some(session), setup, replays, responder).await })
            }
            Call::CloseSession { session } => spawn(async move {
                let closed = agent.sessions.close(&session, client.is_v2()).await;
                responder.respond_with_result(closed.and_then(done))
            }),
            Call::DeleteSession { session } => spawn(async move {
                agent.sessions.delete(&session).await;
                responder.respond_with_result(done(()))
            }),
            Call::ListSessions { cwd, cursor } => {
                let logged_in = self.login.check();
                responder
                    .respond_with_result(logged_in.and_then(|()| self.sessions.list(&client, cwd, cursor.as_deref())))
            }
            Call::SetMode { session, mode } => match self.set_mode(&session, &mode) {
                Ok(session) => {
                    responder.respond(json!({}))?;
                    session.update(Update::ConfigOptions(settings::of(&session)));
                    Ok(())
                }
                Err(error) => responder.respond_with_error(error),
            },
            Call::SetConfigOption { session, option, value } => match self.set_config_option(&session, &option, &value)
            {
                Ok(session) => {
                    responder.respond_with_result(self.wire.configured(&settings::of(&session)))?;
                    if option == settings::MODE {
                        let mode = session.record().mode.clone();
                        session.update(Update::Mode(mode));
                    }
                    Ok(())
                }
                Err(error) => responder.respond_with_error(error),
            },
            Call::CancelTool { session, tool } => responder.respond_with_result(
                self.sessions.get(&session).and_then(|session| cancelled(session.tools.cancel(&tool))),
            ),
            Call::CancelTerminal { session, terminal } => responder.respond_with_result(
                self.sessions.get(&session).and_then(|session| cancelled(session.terminals.cancel(&terminal))),
            ),
            Call::Prompt { session, content } => {
                let session = self.sessions.get(&session);
                match session.and_then(|session| prompt::check(&content).map(|()| session)) {
                    Ok(session) => self.prompt(Turn::begin(client, session), content, responder),
                    Err(error) => responder.respond_with_error(error),
                }
            }
            Call::Extension { method, params } if method == ECHO => responder.respond(json!({"echo": params})),
            _ => responder.respond_with_error(Error::method_not_found()),
        }
    }

    /// Handles a notification.
    pub(super) fn note(&self, call: Call) {
        match call {
            Call::Cancel { session } => {
                // A cancel for an unknown session has no effect.
                if let Ok(session) = self.sessions.get(&session) {
                    session.cancel();
                }
            }
            Call::Extension { method, params } if method == VISITED => {
                let id = params["elicitationId"].as_str().unwrap_or_default();
                if let Some(client) = self.client.get().filter(|client| client.visits.end(id)) {
                    client.notify(self.wire.visited(id));
                }
            }
            _ => {}
        }
    }

    /// Ends all sessions.
    pub(super) async fn shut_down(&self) {
        self.sessions.end_all().await;
    }

    fn initialize(&self, capabilities: Capabilities, connection: ConnectionTo<ClientRole>) -> Reply {
        let client = self.client.get_or_init(|| Arc::new(Client::new(connection, self.wire)));
        client.set_capabilities(capabilities);
        self.wire.initialized()
    }

    /// Opens a new session or an earlier one, perhaps with its history.
    async fn open_session<P: Protocol>(
        &self,
        client: Arc<Client>,
        id: Option<String>,
        setup: Setup,
        replays: bool,
        responder: Responder<Value, P>,
    ) -> Result<(), Error> {
        let opened = match (self.login.check(), &id) {
            (Err(error), _) => Err(error),
            (Ok(()), None) => self.sessions.create(client, setup).await,
            (Ok(()), Some(id)) => self.sessions.reopen(client, id, setup).await,
        };
        let session = match opened {
            Ok(session) => session,
            Err(error) => return responder.respond_with_error(error),
        };
        if replays {
            session.replay();
        }
        if id.is_some() {
            session.change_state(|_| {}, None);
        }
        let new_id = if id.is_none() { Some(&*session.id) } else { None };
        responder.respond_with_result(self.wire.opened(new_id, &settings::of(&session)))?;
        // In version 2 the answer has the commands.
        if !session.client.is_v2() {
            session.update(Update::Commands);
        }
        Ok(())
    }

    fn set_mode(&self, session: &str, mode: &str) -> Result<Arc<Session>, Error> {
        let session = self.sessions.get(session)?;
        settings::set_mode(&session, mode)?;
        self.sessions.save(&session);
        Ok(session)
    }

    fn set_config_option(&self, session: &str, option: &str, value: &Choice) -> Result<Arc<Session>, Error> {
        let session = self.sessions.get(session)?;
        settings::set_config_option(&session, option, value)?;
        self.sessions.save(&session);
        Ok(session)
    }

    /// Runs the turn of a prompt.
    ///
    /// Version 1 refuses a prompt during a turn, and answers when the turn has ended. In version 2 such a prompt waits, and the
    /// answer confirms its insertion.
    fn prompt<P: Protocol>(
        self: &Arc<Self>,
        turn: Turn,
        content: Vec<Block>,
        responder: Responder<Value, P>,
    ) -> Result<(), Error> {
        let agent = Arc::clone(self);
        let session = Arc::clone(&turn.session);
        let withdrawn = responder.cancellation();
        if turn.client.is_v2() {
            return spawn(async move {
                let foreground = tokio::select! {
                    biased;
                    () = turn.cancelled() => None,
                    () = withdrawn.cancelled() => None,
                    foreground = session.foreground.lock() => Some(foreground),
                };
                let Some(_foreground) = foreground else {
                    return responder.respond_with_error(Error::request_cancelled());
                };
                let id = prompt::insert(&turn, content.clone());
                responder.respond_with_result(v2::prompted(&id))?;
                prompt::run(&turn, &content).await;
                agent.sessions.save(&session);
                Ok(())
            });
        }
        spawn(async move {
            let Ok(foreground) = session.foreground.try_lock() else {
                return responder.respond_with_error(invalid_request("the session has a running turn"));
            };
            prompt::insert(&turn, content.clone());
            let mut run = std::pin::pin!(prompt::run(&turn, &content));
            let stop = tokio::select! {
                stop = &mut run => stop,
                () = withdrawn.cancelled() => {
                    session.cancel();
                    run.await
                }
            };
            agent.sessions.save(&session);
            drop(foreground);
            responder.respond_with_result(v1::prompted(stop))
        })
    }
}

/// The answer to a request that has no other result than its success.
fn done((): ()) -> Reply {
    Ok(json!({}))
}

fn cancelled(is_cancelled: bool) -> Reply {
    if is_cancelled { done(()) } else { Err(invalid_params("it cannot be cancelled")) }
}

fn spawn(task: impl Future<Output = Result<(), Error>> + Send + 'static) -> Result<(), Error> {
    tokio::spawn(task);
    Ok(())
}
