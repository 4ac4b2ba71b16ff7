//! The list of sessions, page by page.

use std::sync::Arc;

use agent_client_protocol::v1::schema::{ListSessionsRequest, ListSessionsResponse};

use super::{
    Fault,
    output::log,
    state::{Client, Listed},
    user::Trouble,
};

/// More pages than any user looks at; an agent that always has a next one must not hold the client for ever.
const MAX_PAGES: usize = 10_000;

/// Looks at all pages of the list, or of the sessions in one directory.
pub(super) async fn list(client: &Arc<Client>, dir: Option<&str>) -> Result<(), Trouble> {
    if client.agent().capabilities.session_capabilities.list.is_none() && !client.commits(Fault::ListUngated) {
        return Err(Trouble::refused("the agent does not advertise session/list"));
    }
    let dir = dir.map(|dir| client.options.cwd.join(dir));
    let mut cursor = if client.commits(Fault::CursorKept) { client.last_cursor() } else { None };
    for _ in 0..MAX_PAGES {
        let request = ListSessionsRequest::new().cwd(dir.clone()).cursor(cursor.clone());
        let page = client.call::<ListSessionsResponse>("session/list", request, |_| ()).await;
        let page = page.map_err(|error| Trouble::failed("session/list", &error))?;
        let is_empty = page.sessions.is_empty();
        for session in page.sessions {
            log(&format!("session {} in {}", session.session_id.0, session.cwd.display()));
            let listed = Listed { cwd: session.cwd, directories: session.additional_directories };
            client.set_listed(session.session_id, listed);
        }
        cursor = match page.next_cursor {
            Some(next) if client.commits(Fault::CursorAltered) => Some(format!("{next}+1")),
            Some(next) => {
                client.set_last_cursor(&next);
                Some(next)
            }
            None if client.commits(Fault::ListPastEnd) && !is_empty => cursor,
            None => return Ok(()),
        };
    }
    Err(Trouble::refused(format!("the list has more than {MAX_PAGES} pages")))
}
