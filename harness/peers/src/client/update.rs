//! The agent's notifications, which may come at any time.

use agent_client_protocol::v1::schema::{AgentNotification, ContentBlock, SessionNotification, SessionUpdate};

use super::state::Client;

/// Handles a notification; the SDK ignores unknown ones.
pub(super) fn note(client: &Client, notification: AgentNotification) {
    if let AgentNotification::SessionNotification(update) = notification {
        take(client, update);
    }
}

fn take(client: &Client, notification: SessionNotification) {
    let Some(session) = client.sessions.find(&notification.session_id) else { return };
    match notification.update {
        SessionUpdate::AgentMessageChunk(chunk) => {
            if let ContentBlock::Text(text) = chunk.content {
                client.printer.print(&text.text);
            }
        }
        SessionUpdate::CurrentModeUpdate(update) => {
            session.change(|choices| {
                if let Some(modes) = &mut choices.modes {
                    modes.current_mode_id = update.current_mode_id;
                }
            });
        }
        SessionUpdate::ConfigOptionUpdate(update) => {
            session.change(|choices| choices.options = Some(update.config_options));
        }
        SessionUpdate::AvailableCommandsUpdate(update) => {
            session.set_commands(update.available_commands.into_iter().map(|command| command.name).collect());
        }
        _ => {}
    }
}
