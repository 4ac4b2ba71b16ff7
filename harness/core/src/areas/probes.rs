//! Questions that the specification leaves open, as far as any trace answers them: the answers are noted, and never
//! decided.

pub(crate) mod settings;
pub(crate) mod turns;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::areas::{Check, CheckContext, On};
use crate::conversation::option_values;
use crate::conversation::{Answer, CallSeen, Payload, UpdateSeen};
use crate::fact;
use crate::finding::{Fact, Ruling};
use crate::trace::ProcessEvent;
use crate::wire::Members;

pub(crate) const CHECKS: &[Check] = &[
    Check::agent("delete.implies-list", On::Response(delete_implies_list)).only(&["initialize"]),
    Check::agent("load.state-returned", On::Response(load_returns_state)).only(&["session/load"]),
    Check::agent("load.no-tool-rerun", On::Response(load_reruns_nothing)).only(&["session/load"]),
    Check::agent("load.no-tool-rerun", On::Call(load_reruns)),
    Check::agent("permission.options-nonempty", On::Call(permission_offers))
        .alone()
        .only(&["session/request_permission"]),
    Check::agent("permission.during-turn", On::Call(permission_in_turn)).only(&["session/request_permission"]),
    Check::agent("terminal.command-args-split", On::Call(command_split)).alone().only(&["terminal/create"]),
    Check::agent("update.not-after-close", On::Update(update_after_close)),
    Check::agent("compaction.chunk-window", On::Update(chunk_in_window)).only(&["compaction_summary_chunk"]),
    Check::agent("tool.id-nonempty", On::Update(tool_id)).alone(),
    Check::agent("commands.name", On::Update(command_names)).alone().only(&["available_commands_update"]),
    Check::agent("config.values-unique", On::Payload(values_unique)).only(&[
        "session/new",
        "session/load",
        "session/resume",
        "session/set_config_option",
        "config_option_update",
    ]),
    Check::agent("content.uri-syntax.agent", On::Payload(uri_absolute)),
    Check::agent("transport.children-end", On::Process(children_end)),
];

fn children_end(_: &CheckContext<'_>, process: &ProcessEvent, ruling: &mut Ruling<'_>) {
    let ProcessEvent::Left(commands) = process else { return };
    ruling.note_whether(commands.is_empty(), || {
        fact!(
            "processes-left",
            "the agent exited and left {count} running: {commands}",
            count = match commands.len() {
                1 => "a process".to_owned(),
                more => format!("{more} processes"),
            },
            commands = commands.iter().map(|command| format!("`{command}`")).collect::<Vec<_>>().join(", ")
        )
    });
}

fn delete_implies_list(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, result)) = answer.result_of("initialize") else { return };
    let has = |name: &str| result.pointer(&format!("/agentCapabilities/sessionCapabilities/{name}")).is_some();
    if has("delete") {
        ruling.note_whether(has("list"), || {
            fact!("delete-without-list", "the agent advertises session/delete and not session/list")
        });
    }
}

fn load_returns_state(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = answer.result_of("session/load") else { return };
    let Some(session) = exchange.session().and_then(|id| ctx.conversation.session(id)) else { return };
    for (name, known) in [("modes", session.modes.is_some()), ("configOptions", session.options.is_some())] {
        if known {
            ruling.note_whether(result.member(name).is_some_and(|state| !state.is_null()), || {
                fact!("state-not-returned", "the agent answered session/load without {member}", member = name)
            });
        }
    }
}

fn load_reruns_nothing(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if answer.result_of("session/load").is_some() {
        ruling.note(Fact::holds());
    }
}

fn load_reruns(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let acts = ["fs/", "terminal/", "session/request_permission"].iter().any(|start| call.method.starts_with(start));
    let session = call.text("sessionId").filter(|_| acts).and_then(|id| ctx.conversation.session(id));
    if session.is_some_and(|session| session.loading.is_some() && session.turn.is_none()) {
        ruling.note(fact!(
            "call-while-loading",
            "the agent sent {method} while it loaded the session",
            method = call.method
        ));
    }
}

fn permission_offers(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let options = call.params.and_then(|params| params.member("options")?.as_array());
    let Some(options) = options.filter(|_| call.method == "session/request_permission") else { return };
    let kinds = options.iter().filter_map(|option| option.text("kind"));
    let refuses = kinds.into_iter().any(|kind| kind.starts_with("reject"));
    let fact = || match options.is_empty() {
        true => fact!("no-options", "the agent requested permission without options"),
        false => fact!("no-reject-option", "the agent requested permission without an option to reject"),
    };
    ruling.note_whether(refuses, fact);
}

fn permission_in_turn(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let session = call.text("sessionId").and_then(|id| ctx.conversation.session(id));
    if let Some(session) = session.filter(|_| call.method == "session/request_permission") {
        ruling.note_whether(session.turn.is_some(), || {
            fact!("permission-outside-turn", "the agent requested permission while no turn was running")
        });
    }
}

fn command_split(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(command) = call.text_of("terminal/create", "command") else { return };
    let args = call.params.and_then(|params| params.member("args")?.as_array()).is_some_and(|args| !args.is_empty());
    ruling.note_whether(args || !command.contains(' '), || {
        fact!("command-with-blanks", "the agent sent the command `{command}` with blanks and without args", command)
    });
}

fn update_after_close(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let session = update.known;
    let closed = session.is_some_and(|session| session.closed.is_some() && session.loading.is_none());
    if closed || ctx.conversation.deleted.contains_key(update.session) {
        ruling.note(fact!(
            "update-after-close",
            "the agent sent {update} for a closed or deleted session",
            update = update.variant
        ));
    }
}

fn chunk_in_window(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let session = update.known.filter(|_| update.variant == "compaction_summary_chunk");
    let id = update.body.text("compactionId");
    let (Some(session), Some(id)) = (session, id) else { return };
    match session.compactions.get(id).map(String::as_str) {
        Some("in_progress") => ruling.note(Fact::holds()),
        Some(status) => ruling.note(fact!(
            "chunk-outside-compaction",
            "the agent sent a chunk for a compaction that was {status}",
            status
        )),
        None => ruling
            .note(fact!("chunk-before-compaction", "the agent sent a chunk before the first update of its compaction")),
    }
}

fn tool_id(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(id) = update.body.text("toolCallId") {
        ruling.note_whether(!id.is_empty(), || fact!("empty-tool-call-id", "the agent sent an empty toolCallId"));
    }
}

fn command_names(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(commands) = update.body.member("availableCommands").and_then(Value::as_array) else { return };
    let mut seen = BTreeSet::new();
    for name in commands.iter().filter_map(|command| command.text("name")) {
        let plain = !name.starts_with('/') && !name.contains(' ');
        ruling.note_whether(plain, || {
            fact!(
                "unusual-command-name",
                "the agent sent the command name `{name}` with a leading slash or a blank",
                name
            )
        });
        if !seen.insert(name) {
            ruling.note(fact!("duplicate-command", "the agent sent two commands with the name `{name}`", name));
        }
    }
}

fn values_unique(_: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for (_, option) in payload.places("SessionConfigSelect") {
        let mut seen = BTreeSet::new();
        let doubled = option_values(option).find(|value| !seen.insert(*value));
        ruling.note_whether(doubled.is_none(), || {
            fact!("duplicate-value", "the agent sent two option values `{value}`", value = doubled)
        });
    }
}

fn uri_absolute(_: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    let sites = [("ResourceLink", "uri"), ("TextResourceContents", "uri"), ("BlobResourceContents", "uri")];
    for uri in payload.members(&sites).filter_map(|member| member.value.as_str()) {
        let scheme = uri.split_once(':').map_or("", |(scheme, _)| scheme);
        // A single letter is the drive of a path.
        let named =
            scheme.len() > 1 && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
        ruling.note_whether(named, || {
            fact!("uri-without-scheme", "the agent sent the URI `{uri}` without a scheme", uri)
        });
    }
}
