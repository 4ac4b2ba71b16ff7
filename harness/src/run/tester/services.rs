//! The entry point for requests of an agent: checks the capability and forwards the request to its area.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::answer::{Answer, Refusal};
use super::elicitation;
use super::files::Files;
use super::permission::Permissions;
use super::terminal::Terminals;
use crate::case::model::PermissionPolicy;
use crate::protocol::{Adapter, Feature};
use crate::requirement::Party;
use crate::sync::lock;
use crate::transport::process::Environment;

/// The client side of one connection: files, terminals, permissions and elicitations.
///
/// Clones share their state. Running terminals are killed by [`shutdown`](Self::shutdown), and at the latest when the
/// last clone is dropped.
///
/// All answers come in bounded time, except those to `terminal/wait_for_exit`, which come with the exit of the command.
/// Run each [`answer`](Self::answer) in a task of its own, so that a kill or a release can be served meanwhile.
#[derive(Debug, Clone)]
pub struct Services {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    adapter: &'static dyn Adapter,
    capabilities: Value,
    files: Mutex<Files>,
    permissions: Mutex<Permissions>,
    terminals: Terminals,
}

impl Services {
    /// Serves the methods that `capabilities`, those of the client, advertise, in the protocol version of `adapter`.
    ///
    /// Files are read and written below `workspace`, which is also the default directory of terminals. With a relative
    /// or dangling `workspace`, no file is served.
    pub fn new(
        workspace: PathBuf,
        capabilities: &Value,
        permission: PermissionPolicy,
        adapter: &'static dyn Adapter,
    ) -> Self {
        let inner = Inner {
            adapter,
            capabilities: capabilities.clone(),
            files: Mutex::new(Files::new(&workspace)),
            permissions: Mutex::new(Permissions::new(permission, adapter)),
            terminals: Terminals::new(workspace),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Permits files below `root` as well, such as an additional directory of a session.
    pub fn allow_root(&self, root: &Path) {
        lock(&self.inner.files).allow(root);
    }

    /// Sets the environment of new terminals; the `env` of a request is applied after it.
    pub fn set_environment(&self, environment: Environment) {
        self.inner.terminals.set_environment(environment);
    }

    /// Makes `cwd` the directory of new terminals of `session`.
    pub fn set_session_cwd(&self, session: &str, cwd: impl Into<PathBuf>) {
        self.inner.terminals.set_session_cwd(session, cwd.into());
    }

    /// Answers one request of the agent.
    ///
    /// Methods that are unknown, or whose capability is not advertised, get error -32601.
    pub async fn answer(&self, method: &str, params: &Value) -> Answer {
        self.dispatch(method, params).await.into()
    }

    /// Stores a permission request that is [held](Answer::Held), by its JSON-RPC id. If its turn is being cancelled,
    /// returns the answer that the caller must send at once instead.
    pub fn hold(&self, id: Value, params: Value) -> Option<Answer> {
        lock(&self.inner.permissions).hold(id, params)
    }

    /// Records that `session/cancel` was sent: until [`begin_turn`](Self::begin_turn), every permission request of the
    /// session is cancelled.
    ///
    /// Returns the held requests of the session, each with the answer that the caller must send now.
    pub fn cancel_turn(&self, session: &str) -> Vec<(Value, Answer)> {
        lock(&self.inner.permissions).cancel_turn(session)
    }

    /// Returns the answer to a held request that the agent withdraws, with its id.
    pub fn withdraw(&self, id: &Value) -> Option<(Value, Answer)> {
        lock(&self.inner.permissions).withdraw(id)
    }

    /// Notes that `session/prompt` was sent, whose turn an earlier cancel does not concern.
    pub fn begin_turn(&self, session: &str) {
        lock(&self.inner.permissions).begin_turn(session);
    }

    /// Takes over from the services of an earlier case in the same conversation.
    pub fn continue_after(&self, earlier: &Self) {
        self.inner.terminals.continue_after(&earlier.inner.terminals);
    }

    /// Whether the agent holds a terminal that it has not released.
    pub fn has_terminals(&self) -> bool {
        self.inner.terminals.any()
    }

    /// Kills every terminal with its group, waits for their exits in bounded time, and refuses new ones.
    pub async fn shutdown(&self) {
        self.inner.terminals.shutdown().await;
    }

    async fn dispatch(&self, method: &str, params: &Value) -> Result<Answer, Refusal> {
        let inner = &*self.inner;
        inner.require(method)?;
        match method {
            "fs/read_text_file" => lock(&inner.files).read(params),
            "fs/write_text_file" => lock(&inner.files).write(params),
            "terminal/create" => inner.terminals.create(params),
            "terminal/output" => inner.terminals.output(params),
            "terminal/wait_for_exit" => inner.terminals.wait_for_exit(params).await,
            "terminal/kill" => inner.terminals.kill(params).await,
            "terminal/release" => inner.terminals.release(params).await,
            "session/request_permission" => lock(&inner.permissions).answer(params),
            "elicitation/create" => elicitation::answer(&inner.capabilities["elicitation"], params),
            _ => Err(Refusal::unknown_method(method)),
        }
    }
}

impl Inner {
    /// Refuses a method whose capability is not advertised.
    fn require(&self, method: &str) -> Result<(), Refusal> {
        let needed = self.adapter.capability(Party::Client, Feature::Method(method));
        let missing = needed.filter(|needed| !self.adapter.advertises(Some(&self.capabilities), needed.path));
        missing.map_or(Ok(()), |missing| Err(Refusal::unadvertised(method, &missing.name())))
    }
}
