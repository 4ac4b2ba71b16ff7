//! Prepares what a case needs before its subject starts.

use std::io;

use serde_json::Value;

use super::sandbox::Sandbox;
use super::start::Start;
use super::subject::Subject;
use crate::case::Bindings;
use crate::case::model::{Case, TesterSetup};
use crate::profile::places::Places;
use crate::protocol::Adapter;
use crate::run::tester::{McpServers, Services};
use crate::transport::web::Web;

/// The environment of a process of the subject, which lasts as long as the process. The workspace belongs to the
/// current case.
pub struct CaseEnv {
    /// The folders.
    pub sandbox: Sandbox,
    /// The values of the placeholders, such as `{home}`.
    pub places: Places,
    /// How the subject is started and reached.
    pub start: Start,
}

/// Makes the folders of a case and writes their files.
pub fn prepare_dirs(
    case: &Case,
    subject: &Subject,
    model: Option<&str>,
    url: Option<&str>,
) -> io::Result<(Sandbox, Places)> {
    let sandbox = subject.sandbox()?;
    Sandbox::write(sandbox.workspace(), case.workspace.iter().map(|(path, file)| (path, file.clone())))?;
    let places = subject.places(case, &sandbox, model, url)?;
    subject.write_home(&sandbox, &places)?;
    Ok((sandbox, places))
}

/// Returns the names of a case with their values at its start.
pub fn bindings(case: &Case, subject: &Subject, sandbox: &Sandbox) -> Bindings {
    let paths = (sandbox.workspace().display().to_string(), sandbox.home().display().to_string());
    let mut bindings = Bindings::for_case(case, &paths.0, &paths.1);
    let start = subject.cwd.canonicalize().unwrap_or_else(|_| subject.cwd.clone());
    bindings.set("start", Value::from(start.display().to_string()));
    bindings
}

/// Opens the MCP servers and the HTTP endpoint of a case, and binds the names for them.
pub async fn open_services(
    case: &Case,
    sandbox: &Sandbox,
    bindings: &mut Bindings,
) -> io::Result<(McpServers, Option<Web>)> {
    let names = &case.tester.mcp;
    if case.tester.page {
        let web = Web::open().await?;
        bindings.set("page", Value::from(format!("{}/page", web.origin())));
        return Ok((McpServers::default(), Some(web)));
    }
    if names.is_empty() {
        return Ok((McpServers::default(), None));
    }
    let (mcp, web) = (McpServers::open(names, &sandbox.servers())?, Web::open().await?);
    mcp.bind(&web.origin(), bindings);
    Ok((mcp, Some(web)))
}

/// Creates the services that an agent may use in a case.
pub fn services(adapter: &'static dyn Adapter, setup: &TesterSetup, subject: &Subject, sandbox: &Sandbox) -> Services {
    let workspace = sandbox.workspace().to_owned();
    let services = Services::new(workspace, &setup.capabilities, setup.permission, adapter);
    services.set_environment(subject.surroundings(sandbox));
    services
}
