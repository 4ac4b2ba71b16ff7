//! Helpers of several areas: forms of text, and the turn that an answer ends.

use crate::areas::CheckContext;
use crate::conversation::timing::{EXIT_AFTER_MESSAGE, between};
use crate::conversation::{Answer, Conversation, Exchange, Outcome, Session, Turn, TurnLog, UpdateSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;
use crate::trace::ProcessEvent;
use crate::wire::Members;

fn parts(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".")
}

/// Whether two paths are equal, apart from separators and, as on some systems, upper and lower case.
pub(crate) fn same_path(one: &str, other: &str) -> bool {
    parts(&one.to_lowercase()).eq(parts(&other.to_lowercase()))
}

/// Returns the last name of a path, which is the same for all links to its parent directories.
pub(crate) fn last_part(path: &str) -> Option<String> {
    parts(path).next_back().map(str::to_lowercase)
}

/// The answer to a prompt that is the running turn of its session, with the facts about the turn.
#[derive(Clone, Copy)]
pub(crate) struct Finish<'m> {
    /// The prompt.
    pub exchange: &'m Exchange,
    /// Its session.
    pub session: &'m Session,
    /// Its turn.
    pub turn: &'m Turn,
    /// The log of the turn.
    pub log: &'m TurnLog,
    /// The answer.
    pub outcome: Outcome<'m>,
}

impl<'m> Finish<'m> {
    /// Returns the turn that this answer ends, as [`Self::even_overlapped`]; `None` if another prompt of the session
    /// was unanswered at the same time, since events may belong to that one.
    pub fn of(ctx: &CheckContext<'m>, answer: &Answer<'m>) -> Option<Self> {
        Self::even_overlapped(ctx, answer).filter(|finish| finish.log.overlapped.is_none())
    }

    /// Returns the turn that this answer ends; `None` if it ends no turn or a deliberately broken one, or if the tester
    /// had closed the agent's input, since an exiting agent may abandon its work.
    pub fn even_overlapped(ctx: &CheckContext<'m>, answer: &Answer<'m>) -> Option<Self> {
        if ctx.conversation.shutting_down.is_some() {
            return None;
        }
        let exchange =
            answer.exchange.filter(|exchange| exchange.method == "session/prompt" && !exchange.deliberate)?;
        let id = exchange.session()?;
        let session = ctx.conversation.session(id)?;
        let turn = session.turn.as_ref().filter(|turn| turn.n == exchange.n)?;
        let log = session.log.as_ref().filter(|log| log.n == exchange.n)?;
        Some(Self { exchange, session, turn, log, outcome: answer.outcome })
    }

    /// Returns the stop reason of a result.
    pub fn reason(&self) -> Option<&'m str> {
        match self.outcome {
            Outcome::Result(result) => result.member("stopReason")?.as_str(),
            Outcome::Error(_) => None,
        }
    }

    /// Whether the client did anything that may end the turn as cancelled.
    pub fn was_cancelled(&self) -> bool {
        let turn = self.turn;
        [turn.cancelled, turn.closed, turn.permission_cancelled, self.exchange.cancel_requested]
            .iter()
            .any(Option::is_some)
    }

    /// Returns the event of another reason for which an agent may end the turn as cancelled: the user refused a
    /// question, the client cancelled a request of the agent, changed a setting, or did something else to the
    /// session.
    pub fn other_reason(&self) -> Option<usize> {
        let set = self.session.asked.filter(|&asked| asked > self.turn.n);
        let gave_up = self.turn.refused.iter().find(|refusal| refusal.code == Some(-32800)).map(|refusal| refusal.n);
        self.log.disturbed.or(self.turn.permission_refused).or(gave_up).or(set)
    }
}

/// Leaves a requirement undecided if the trace was redacted and the agent asked the scripted model after this event:
/// the requests no longer show for which prompt they were. Returns whether it did.
pub(crate) fn leave_redacted(ctx: &CheckContext<'_>, since: usize, ruling: &mut Ruling<'_>) -> bool {
    let asked = ctx.conversation.other_model_request.filter(|&n| ctx.conversation.is_redacted && n > since);
    if let Some(asked) = asked {
        ruling.proved_by(&[asked]).inconclusive(fact!(
            "model-request-redacted",
            "the agent asked its model, and the redacted trace does not show for what"
        ));
    }
    asked.is_some()
}

/// Returns the turn that was over when this content of a turn came; `None` while a turn runs or a history is replayed.
///
/// Also `None` if the content may belong to something else: to a tool call of an earlier turn in the background, to
/// another request about the session, such as a close or a change of its mode, or to the running turn of another
/// session if the agent confuses its sessions, which `prompt.update-session-match` decides.
pub(crate) fn late_for<'m>(ctx: &CheckContext<'_>, update: &UpdateSeen<'m>) -> Option<&'m TurnLog> {
    let content = ctx.conversation.edition.adapter.is_turn_content(update.variant);
    let session = update.known.filter(|_| content)?;
    if session.turn.is_some() || session.loading.is_some() || session.resuming.is_some() {
        return None;
    }
    let tool = update.body.text("toolCallId").and_then(|id| session.tools.get(id));
    if update.variant == "tool_call_update" && tool.is_none_or(|tool| tool.turn != session.prompts) {
        return None;
    }
    let turn = session.log.as_ref()?;
    let (ended, _) = turn.ended?;
    let mut open = ctx.conversation.open_of(ctx.from.other());
    let asked =
        session.asked.is_some_and(|asked| asked > ended) || open.any(|open| open.session() == Some(update.session));
    let is_busy_elsewhere =
        ctx.conversation.turn_logs().any(|(id, other)| id != update.session && other.ended.is_none());
    // It may be late for any of the overlapping prompts, and each has a separate requirement.
    (turn.overlapped.is_none() && !asked && !is_busy_elsewhere).then_some(turn)
}

/// Whether the answer to a request may have to wait for a model, a user, or a running command.
pub(crate) fn waits_for_others(method: &str) -> bool {
    matches!(
        method,
        "session/prompt"
            | "authenticate"
            | "auth/login"
            | "session/request_permission"
            | "elicitation/create"
            | "terminal/wait_for_exit"
    )
}

/// Whether a missing answer to a request of this method has a cause of its own: a party that never answers unknown
/// requests does not answer a split, long or unusual one either.
pub(crate) fn is_usually_answered(conversation: &Conversation, party: Party, method: &str) -> bool {
    !method.starts_with('_') || conversation.has_replied_before(party, method, usize::MAX)
}

/// Whether a client may need its user's consent for the request.
pub(crate) fn asks_first(method: &str) -> bool {
    matches!(method, "fs/write_text_file" | "terminal/create")
}

/// Whether the party's output ended directly after the other's line `n`, with no other possible cause.
pub(crate) fn died_after(ctx: &CheckContext<'_>, process: &ProcessEvent, n: usize) -> bool {
    let conversation = ctx.conversation;
    let last = conversation.last_line.get(&ctx.from.other());
    matches!(process, ProcessEvent::StdoutEnded)
        && conversation.shutting_down.is_none()
        && !conversation.deliberate.contains(&n)
        && last.is_some_and(|&(last, us)| last == n && between(us, ctx.us) < EXIT_AFTER_MESSAGE)
        && conversation.open_of(ctx.from.other()).next().is_none()
}

/// Methods of earlier drafts; those of clients first.
const WITHDRAWN_METHODS: [&str; 11] = [
    "mcp/connect",
    "mcp/disconnect",
    "session/elicitation",
    "session/elicitation/complete",
    "nes/accept",
    "nes/close",
    "nes/reject",
    "nes/start",
    "nes/suggest",
    "session/set_model",
    "session/stop",
];

/// The prefix of a family of methods in earlier drafts.
const WITHDRAWN_FAMILY: &str = "document/did";

/// Whether earlier drafts had the method.
pub(crate) fn is_withdrawn(method: &str) -> bool {
    WITHDRAWN_METHODS.contains(&method) || method.starts_with(WITHDRAWN_FAMILY)
}
