//! Area `init`: a capability that the other party did not advertise counts as unsupported.

use serde_json::Value;

use crate::areas::gates::used_by;
use crate::areas::support::Finish;
use crate::areas::{Check, CheckContext, On, with};
use crate::conversation::{Answer, CallSeen, Conversation, UpdateSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::{Capability, Feature};
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("init.omitted-is-unsupported.agent", On::Call(with!(gated_call, Omission::Omitted)))
        .alone()
        .only(GATED_CALLS),
    Check::agent("init.omitted-is-unsupported.agent", On::Update(with!(gated_update, Omission::Omitted)))
        .alone()
        .only(GATED_UPDATES),
    Check::agent("init.omitted-is-unsupported.agent", On::Response(with!(respected, Omission::Omitted)))
        .only(&["session/prompt"]),
    Check::agent("init.null-is-unsupported.agent", On::Call(with!(gated_call, Omission::Null)))
        .alone()
        .only(GATED_CALLS),
    Check::agent("init.null-is-unsupported.agent", On::Update(with!(gated_update, Omission::Null)))
        .alone()
        .only(GATED_UPDATES),
    Check::agent("init.null-is-unsupported.agent", On::Response(with!(respected, Omission::Null)))
        .only(&["session/prompt"]),
    Check::client("init.omitted-is-unsupported.client", On::Call(with!(gated_call, Omission::Omitted))).alone(),
    Check::client("init.null-is-unsupported.client", On::Call(with!(gated_call, Omission::Null))).alone(),
];

/// The requests of an agent that need a capability of the client, those first that nearly every client serves.
const GATED_CALLS: &[&str] = &["fs/read_text_file", "fs/write_text_file", "terminal/create", "elicitation/create"];

/// The updates that need a capability of the client.
const GATED_UPDATES: &[&str] = &[
    "notice",
    "compaction_update",
    "compaction_summary_chunk",
    "plan_update",
    "plan_removed",
    "subagent_update",
    "session_message",
    "session_message_chunk",
];

/// The way in which a party left a capability out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Omission {
    /// The member, or one above it, is missing.
    Omitted,
    /// The member, or one above it, is null.
    Null,
}

impl Omission {
    /// Returns the words for a sentence: the capability is …
    const fn words(self) -> &'static str {
        match self {
            Self::Omitted => "missing",
            Self::Null => "null",
        }
    }
}

/// Whether a party names something like the capability anywhere among its capabilities: drafts had other names and
/// places. A redacted name may be such a name.
fn has_like(conversation: &Conversation, party: Party, path: &[&str]) -> bool {
    fn names(value: &Value, is_like: &dyn Fn(&str) -> bool) -> bool {
        let mut members = value.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        members.any(|(name, value)| is_like(name) || names(value, is_like))
    }
    let word = path.last().map_or("", |name| name.trim_end_matches('s')).to_lowercase();
    let is_replaced = |name: &str| conversation.is_redacted && !conversation.edition.member_names.contains(name);
    let is_like = |name: &str| name.to_lowercase().contains(&word) || is_replaced(name);
    conversation.capabilities(party).is_some_and(|all| names(all, &is_like))
}

/// Returns how a party left out the capability for a feature, and the capability: `None` if it sent a value for it.
fn left_out(ctx: &CheckContext<'_>, party: Party, feature: Feature<'_>) -> Option<(Omission, &'static Capability)> {
    let (conversation, adapter) = (ctx.conversation, ctx.conversation.edition.adapter);
    let needed = adapter.capability(party, feature)?;
    let introduced = conversation
        .introduced(party)
        .filter(|(n, _)| !conversation.deliberate.contains(n) && !conversation.is_foreign());
    let mut value = &introduced?.1;
    for key in [&[adapter.capabilities_member(party)], needed.path].concat() {
        match value.member(key) {
            None => return Some((Omission::Omitted, needed)),
            Some(Value::Null) => return Some((Omission::Null, needed)),
            Some(inner) => value = inner,
        }
    }
    None
}

/// "Clients and Agents MUST treat all capabilities omitted in the initialize request as UNSUPPORTED"; null counts as
/// absent. It also applies to the agent's capabilities: the schema's defaults are off. A case whose user wants what is
/// missing passes it.
///
/// Correct but unusual: an agent that accesses files and commands directly; a party of another version, whose
/// capabilities have other names; empty lists of servers and directories, which need no capability, and kinds that no
/// schema contains; and for a former draft, a capability as it was called then, or one in `_meta`.
fn gated(ctx: &CheckContext<'_>, method: &str, used: Feature<'_>, how: Omission, ruling: &mut Ruling<'_>) {
    let (party, other) = (ctx.from, ctx.from.other());
    let Some((_, needed)) = left_out(ctx, other, used).filter(|(omission, _)| *omission == how) else { return };
    if needed.was_draft && has_like(ctx.conversation, other, needed.path) {
        return;
    }
    let proof = ctx.conversation.introduced(other).map(|(n, _)| *n);
    ruling.proved_by(proof.as_slice()).fail(fact!(
        "unsupported",
        "the {party} sent {used}, and the capability `{capability}` is {omission} in the {other}'s part of initialize",
        party,
        used = used.to_string(),
        capability = needed.name(),
        omission = how.words(),
        other;
        method = method
    ));
}

fn gated_call(ctx: &CheckContext<'_>, call: &CallSeen<'_>, how: Omission, ruling: &mut Ruling<'_>) {
    // The modes of an elicitation have requirements of their own.
    let used = used_by(call).into_iter().filter(|(used, _)| !matches!(used, Feature::Elicitation(_)));
    used.for_each(|(used, _)| gated(ctx, call.method, used, how, ruling));
}

fn gated_update(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, how: Omission, ruling: &mut Ruling<'_>) {
    gated(ctx, "session/update", Feature::Update(update.variant), how, ruling);
}

/// Exercised by a turn that used tools although the client had left a capability out.
fn respected(ctx: &CheckContext<'_>, answer: &Answer<'_>, how: Omission, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(ctx, answer) else { return };
    // Nearly every client leaves elicitation out, so that proves nothing; a null is deliberate.
    let compared = if how == Omission::Null { GATED_CALLS } else { &GATED_CALLS[..3] };
    let omission = |method: &&str| left_out(ctx, Party::Client, Feature::Method(method)).map(|(how, _)| how);
    let left_out = compared.iter().any(|method| omission(method) == Some(how));
    if left_out && finish.reason().is_some() && !finish.turn.tools.is_empty() {
        ruling.pass();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::v1;

    #[test]
    fn gated_messages_are_those_of_the_table() {
        let needs = |feature| v1().adapter.capability(Party::Client, feature).is_some();
        assert!(GATED_CALLS.iter().all(|method| needs(Feature::Method(method))));
        assert!(GATED_UPDATES.iter().all(|variant| needs(Feature::Update(variant))));
    }
}
