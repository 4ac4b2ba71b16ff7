//! `session/list`: the agent's sessions, page by page.

use std::sync::Arc;

use agent_client_protocol::v1::schema::{ListSessionsRequest, ListSessionsResponse};

use super::{
    output::log,
    session::Listed,
    state::{Client, Trouble},
};

/// The most pages that are read; an agent that always has a next one must not hold the client forever.
const MAX_PAGES: usize = 10_000;

/// Reads all pages of the list, or of the sessions in one directory.
pub(super) async fn list(client: &Arc<Client>, dir: Option<&str>) -> Result<(), Trouble> {
    if client.agent().capabilities.session_capabilities.list.is_none() {
        return Err(Trouble::refused("the agent does not advertise session/list"));
    }
    let dir = dir.map(|dir| client.cwd().join(dir));
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let request = ListSessionsRequest::new().cwd(dir.clone()).cursor(cursor);
        let page = client.connection.call::<ListSessionsResponse>("session/list", request, |_| ()).await;
        let page = page.map_err(|error| Trouble::failed("session/list", &error))?;
        for session in page.sessions {
            log(&format!("session {} in {}", session.session_id.0, session.cwd.display()));
            let listed = Listed { cwd: session.cwd, directories: session.additional_directories };
            client.sessions.set_listed(session.session_id, listed);
        }
        match page.next_cursor {
            Some(next) => cursor = Some(next),
            None => return Ok(()),
        }
    }
    Err(Trouble::refused(format!("the list has more than {MAX_PAGES} pages")))
}
