//! Calls [`Services`] as an agent would; every wait is for a condition and has a deadline.

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

use crate::protocol::V1;

use super::{Answer, Services, code};
use crate::case::model::PermissionPolicy as Policy;

mod capabilities;
mod files;
mod permission;
mod terminal;

/// Far more time than anything here takes: the limit of every wait that is expected to succeed.
const PATIENCE: Duration = Duration::from_secs(20);

/// A workspace `work`, inside a directory that is not permitted, and the services for it.
struct Client {
    services: Services,
    dir: TempDir,
}

impl Client {
    fn new() -> Self {
        Self::advertising(&json!({"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true}))
    }

    fn advertising(capabilities: &Value) -> Self {
        Self::with(capabilities, Policy::Allow)
    }

    fn deciding(policy: Policy) -> Self {
        Self::with(&json!({}), policy)
    }

    fn with(capabilities: &Value, policy: Policy) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let work = dir.path().join("work");
        std::fs::create_dir(&work).expect("a workspace");
        Self { services: Services::new(work, capabilities, policy, &V1), dir }
    }

    /// Returns the absolute path of a name below the workspace.
    fn path(&self, name: &str) -> String {
        self.dir.path().join("work").join(name).display().to_string()
    }

    /// Makes a named pipe and returns its path.
    fn fifo(&self, name: &str) -> String {
        let path = self.path(name);
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo runs").success());
        path
    }

    async fn answer(&self, method: &str, params: &Value) -> Answer {
        timeout(PATIENCE, self.services.answer(method, params)).await.expect("an answer in time")
    }

    async fn result(&self, method: &str, params: &Value) -> Value {
        match self.answer(method, params).await {
            Answer::Result(result) => result,
            other => panic!("{method} {params}: {other:?}"),
        }
    }

    async fn error(&self, method: &str, params: &Value) -> i64 {
        match self.answer(method, params).await {
            Answer::Error { code, .. } => code,
            other => panic!("{method} {params}: {other:?}"),
        }
    }
}
