//! The requests and notifications of the client, and their answers.
//!
//! The SDK handles messages one after the other, so everything that takes time runs in a separate task.

use std::sync::{Arc, OnceLock};

use agent_client_protocol::{Client as ClientRole, ConnectionTo, Error, Protocol, Responder, UntypedMessage};
use serde_json::{Value, json};

use super::{
    auth::Login,
    client::Client,
    configure::set_config_option,
    elicitation::COMPLETE,
    errors::{invalid_params, invalid_request},
    extension::{ECHO, VISITED},
    options::Options,
    prompt,
    session::Session,
    sessions::Sessions,
    settings::MODE,
    turn::Turn,
    update::{Block, Update},
    v1, v2,
    wire::{Message, Reply, Wire, alike},
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
        request: Message,
        responder: Responder<Value, P>,
        connection: ConnectionTo<ClientRole>,
    ) -> Result<(), Error> {
        let UntypedMessage { method, params } = match request {
            Ok(request) => request,
            Err(error) => return responder.respond_with_error(error),
        };
        if method == "initialize" {
            return responder.respond_with_result(self.initialize(params, connection));
        }
        let Some(client) = self.client.get().cloned() else {
            return responder.respond_with_error(invalid_request("the connection is not initialized"));
        };
        let agent = Arc::clone(self);
        let id = text(&params, "sessionId");
        match &*method {
            "authenticate" | "auth/login" => spawn(async move {
                let (method, request) = (text(&params, "methodId"), responder.raw_id().clone());
                let logged_in = agent.login.log_in(&client, &method, request).await;
                responder.respond_with_result(logged_in.and_then(done))
            }),
            "logout" | "auth/logout" => {
                self.login.set(false);
                responder.respond_with_result(done(()))
            }
            "session/new" => spawn(async move { agent.open_session(client, None, params, responder).await }),
            "session/load" | "session/resume" => {
                spawn(async move { agent.open_session(client, Some(id), params, responder).await })
            }
            "session/close" => spawn(async move {
                let closed = agent.sessions.close(&id, client.is_v2()).await;
                responder.respond_with_result(closed.and_then(done))
            }),
            "session/delete" => spawn(async move {
                agent.sessions.delete(&id).await;
                responder.respond_with_result(done(()))
            }),
            "session/list" => {
                let logged_in = self.login.check();
                responder.respond_with_result(logged_in.and_then(|()| self.sessions.list(&client, &params)))
            }
            "session/set_mode" => match self.configure(&id, MODE, &params["modeId"]) {
                Ok(session) => {
                    responder.respond_with_result(done(()))?;
                    session.update(Update::ConfigOptions(session.settings()));
                    Ok(())
                }
                Err(error) => responder.respond_with_error(error),
            },
            "session/set_config_option" => match self.configure(&id, &text(&params, "configId"), &params["value"]) {
                Ok(session) => {
                    responder.respond_with_result(self.wire.configured(&session.settings()))?;
                    if params["configId"] == MODE {
                        session.update(Update::Mode(session.settings().mode));
                    }
                    Ok(())
                }
                Err(error) => responder.respond_with_error(error),
            },
            "tool_call/cancel" => {
                let cancel = |session: Arc<Session>| session.tools.cancel(&text(&params, "toolCallId"));
                responder.respond_with_result(self.sessions.get(&id).map(cancel).and_then(cancelled))
            }
            "terminal/cancel" => {
                let cancel = |session: Arc<Session>| session.terminals.cancel(&text(&params, "terminalId"));
                responder.respond_with_result(self.sessions.get(&id).map(cancel).and_then(cancelled))
            }
            "session/prompt" => {
                let turn = self.sessions.get(&id).map(|session| Turn::begin(client, session));
                let content = alike(&params["prompt"]).and_then(prompt::check);
                let prompt = content.and_then(|content| Ok((content, prompt::key(&params["idempotencyKey"])?)));
                match turn.and_then(|turn| prompt.map(|(content, key)| (turn, content, key))) {
                    Ok((turn, content, key)) => self.prompt(turn, content, key, responder),
                    Err(error) => responder.respond_with_error(error),
                }
            }
            ECHO => responder.respond_with_result(Ok(json!({"echo": params}))),
            _ => responder.respond_with_error(Error::method_not_found()),
        }
    }

    /// Handles a notification.
    pub(super) fn note(&self, notification: Message) {
        let Ok(UntypedMessage { method, params }) = notification else { return };
        match &*method {
            "session/cancel" => self.sessions.cancel(&text(&params, "sessionId")),
            VISITED => {
                let id = text(&params, "elicitationId");
                if let Some(client) = self.client.get().filter(|client| client.visits.end(&id)) {
                    client.notify(UntypedMessage::new(COMPLETE, json!({"elicitationId": id})));
                }
            }
            _ => {}
        }
    }

    /// Ends all sessions.
    pub(super) async fn shut_down(&self) {
        self.sessions.end_all().await;
    }

    fn initialize(&self, params: Value, connection: ConnectionTo<ClientRole>) -> Reply {
        let capabilities = self.wire.capabilities(params)?;
        let client = self.client.get_or_init(|| Arc::new(Client::new(connection, self.wire)));
        client.set_capabilities(capabilities);
        self.wire.initialized()
    }

    /// Opens a new session or an earlier one, perhaps with its history.
    async fn open_session<P: Protocol>(
        &self,
        client: Arc<Client>,
        id: Option<String>,
        params: Value,
        responder: Responder<Value, P>,
    ) -> Result<(), Error> {
        let replays = match (responder.method(), params["replayFrom"]["type"].as_str()) {
            ("session/load", _) | (_, Some("start")) => true,
            (_, None) => false,
            _ => return responder.respond_with_error(invalid_params("unknown place to replay from")),
        };
        let opened = match (self.login.check().and_then(|()| alike(params)), &id) {
            (Err(error), _) => Err(error),
            (Ok(setup), None) => self.sessions.create(client, setup).await,
            (Ok(setup), Some(id)) => self.sessions.reopen(client, id, setup).await,
        };
        let session = match opened {
            Ok(session) => session,
            Err(error) => return responder.respond_with_error(error),
        };
        if replays {
            session.replay();
            // Version 1 has no mark of the end.
            if session.client.is_v2() {
                session.client.update(&session.id, &Update::Alike(json!({"sessionUpdate": "replay_complete"})));
            }
        }
        if id.is_some() {
            session.change_state(|_| {}, None);
        }
        let new_id = if id.is_none() { Some(&*session.id) } else { None };
        responder.respond_with_result(self.wire.opened(new_id, &session.settings()))?;
        // In version 2 the answer has the commands.
        if !session.client.is_v2() {
            session.update(Update::Commands);
        }
        Ok(())
    }

    fn configure(&self, session: &str, option: &str, value: &Value) -> Result<Arc<Session>, Error> {
        let session = self.sessions.get(session)?;
        set_config_option(&session, option, value)?;
        self.sessions.save(&session);
        Ok(session)
    }

    /// Runs the turn of a prompt.
    ///
    /// Version 1 refuses a prompt during a turn, and answers when the turn has ended. In version 2 such a prompt waits,
    /// and the answer confirms its insertion; with the key of an inserted message, the answer has the id of that.
    fn prompt<P: Protocol>(
        self: &Arc<Self>,
        turn: Turn,
        content: Vec<Block>,
        key: Option<String>,
        responder: Responder<Value, P>,
    ) -> Result<(), Error> {
        let agent = Arc::clone(self);
        let session = Arc::clone(&turn.session);
        let inserted = {
            let (session, key) = (Arc::clone(&session), key.clone());
            move || session.record().keys.get(key.as_ref()?).cloned()
        };
        if let Some(id) = inserted() {
            return responder.respond_with_result(v2::prompted(&id));
        }
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
                // An attempt that waited may have been preceded by another one.
                if let Some(id) = inserted() {
                    return responder.respond_with_result(v2::prompted(&id));
                }
                let id = prompt::insert(&turn, content.clone(), key);
                agent.sessions.save(&session);
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
            prompt::insert(&turn, content.clone(), None);
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

/// Returns a member of params that is a text.
fn text(params: &Value, name: &str) -> String {
    params[name].as_str().unwrap_or_default().to_owned()
}

fn cancelled(is_cancelled: bool) -> Reply {
    if is_cancelled { done(()) } else { Err(invalid_params("it cannot be cancelled")) }
}

fn spawn(task: impl Future<Output = Result<(), Error>> + Send + 'static) -> Result<(), Error> {
    tokio::spawn(task);
    Ok(())
}
