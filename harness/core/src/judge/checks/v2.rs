//! Requirements that only version 2 has, a file for each area. The catalogue of version 1 lacks their ids.

mod auth;
mod background;
mod catalogues;
mod displays;
mod formats;
mod init;
mod jsonrpc;
mod late;
mod messages;
mod prompt;
mod resume;
mod session;
mod withdrawn;
mod work;

use crate::judge::check::Check;

/// The checks of all areas.
pub(super) fn all() -> Vec<Check> {
    [
        init::CHECKS,
        init::BOTH.as_flattened(),
        auth::CHECKS,
        session::CHECKS,
        resume::CHECKS,
        prompt::CHECKS,
        background::CHECKS,
        catalogues::CHECKS,
        formats::CHECKS,
        formats::BOTH.as_flattened(),
        withdrawn::CHECKS,
        withdrawn::BOTH.as_flattened(),
        work::CHECKS,
        displays::CHECKS,
        jsonrpc::CHECKS,
        late::CHECKS,
        messages::CHECKS,
    ]
    .concat()
}
