//! Area `message`: the ids of messages in version 2.

use crate::areas::state::{has_sent_all_text, idle};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::UpdateSeen;
use crate::fact;
use crate::finding::Ruling;

pub(super) const CHECKS: &[Check] =
    &[Check::agent("message.id-stable", On::Update(reply_with_earlier_id)).only(&["state_update"])];

/// "A different message of that type gets another id": the reply to a prompt is not part of an earlier reply.
///
/// Correct but unusual: an agent that adds to an earlier message. So only a reply fails that consists of the text which
/// the prompt asked for, and came under an id of earlier work.
fn reply_with_earlier_id(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(_)) = (update.known, idle(update)) else { return };
    let history = &session.work.history;
    if !session.work.is_active() || history.replies.is_empty() || history.earlier_replies.is_empty() {
        return;
    }
    match history.replies.intersection(&history.earlier_replies).next() {
        None => ruling.pass(),
        Some(id) => {
            let fact = fact!(
                "message-id-of-earlier-reply",
                "the agent sent its reply as the message `{actual}`, which is an earlier reply; expected another id",
                actual = id; session_id = update.session
            );
            let same = history.replies.is_subset(&history.earlier_replies) && has_sent_all_text(ctx, session);
            ruling.fail_if(same && ctx.conversation.whole && !ctx.conversation.may_miss_work(session), fact);
        }
    }
}
