//! The cancels that no turn shows, and the last prompts.

use std::collections::VecDeque;

use serde_json::Value;

use crate::areas::Event;
use crate::areas::by_session::BySession;
use crate::conversation::{
    Answer, CallSeen, Conversation, Decision, EndedBy, Memory, Outcome, UpdateSeen, text_of_content,
};
use crate::requirement::Party;
use crate::wire::Members;

/// The most prompts of a session that are remembered, and the bytes of the longest one.
const MOST: (usize, usize) = (8, 1024);

/// A question that was open when the client cancelled or closed the work of its session, and when that work ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeftOpen {
    /// The event of the question.
    pub(super) question: usize,
    /// The event of the cancel or close.
    pub(super) cancel: usize,
    /// The event of the update that reported the end.
    pub(super) end: usize,
    /// Whether the agent asked during the work that ended, and its end left no work in the background.
    pub(super) is_of_work: bool,
}

/// The cancels that no turn shows, and the last prompts.
#[derive(Debug, Default)]
pub struct State {
    /// The last `session/cancel` for a session that the client does not know.
    pub(super) stray: Option<usize>,
    /// The questions that were open when the client cancelled or closed, of work that has ended since.
    left_open: BySession<Vec<LeftOpen>>,
    /// The last prompts of each session: event and text.
    prompts: BySession<VecDeque<(usize, String)>>,
    /// The last message of the client, in any session, after which an agent may give up work that was not cancelled:
    /// an error, an answer that allows or accepts nothing, and any act but to send a prompt and to open or list
    /// sessions.
    pub(in crate::areas) discouraged: Option<usize>,
    /// The last `session/cancel` or `session/close`, with its event and time, and its session.
    ended: Option<((usize, u64), String, EndedBy)>,
    /// As `discouraged`, for the other messages.
    discouraged_otherwise: Option<usize>,
}

impl State {
    pub(in crate::areas) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
        if event.from != Party::Client {
            return;
        }
        let ended = match call.method {
            "session/cancel" => Some(EndedBy::Cancel),
            "session/close" => Some(EndedBy::Close),
            _ => None,
        };
        if let Some((by, id)) = ended.zip(call.text("sessionId")) {
            self.ended = Some(((event.n, event.us), id.to_owned(), by));
            self.discouraged = Some(event.n);
        } else if !matches!(call.method, "initialize" | "session/new" | "session/list" | "session/prompt") {
            self.discourage(event.n);
        }
        let id = call.text("sessionId").unwrap_or_default();
        let session = event.conversation.session(id);
        if call.method == "session/cancel" && call.id.is_none() {
            self.stray = if session.is_none() { Some(event.n) } else { self.stray };
        }
        let is_prompt = call.method == "session/prompt" && !event.conversation.edition.adapter.response_ends_turn();
        if is_prompt && session.is_some() {
            let text = call.params.and_then(|params| params.member("prompt")).map(text_of_content).unwrap_or_default();
            let prompts = self.prompts.entry(id);
            prompts.push_back((event.n, text.chars().take(MOST.1).collect()));
            if prompts.len() > MOST.0 {
                prompts.pop_front();
            }
        }
    }

    pub(in crate::areas) fn update(&mut self, event: &Event<'_>, update: &UpdateSeen<'_>) {
        let is_v2 = !event.conversation.edition.adapter.response_ends_turn();
        let work = update.known.filter(|_| is_v2).map(|session| &session.work);
        let is_idle = update.variant == "state_update" && update.body.member("state").is_some_and(|it| it == "idle");
        let Some((work, ending)) = work.filter(|_| is_idle).and_then(|work| Some((work, work.ending.as_ref()?))) else {
            return;
        };
        // A state without the list does not say that nothing is running.
        let list = update.body.member("background").and_then(Value::as_array);
        let is_last_work = list.is_some_and(Vec::is_empty);
        let left = ending.questions.iter().map(|&question| LeftOpen {
            question,
            cancel: ending.n,
            end: event.n,
            is_of_work: is_last_work && work.begun.is_some_and(|(begun, _)| begun < question),
        });
        self.left_open.entry(update.session).extend(left);
    }

    pub(in crate::areas) fn response(&mut self, event: &Event<'_>, answer: &Answer<'_>) {
        let Some(exchange) = answer.exchange.filter(|_| event.from == Party::Client) else { return };
        let is_declined = match (exchange.method.as_str(), answer.outcome) {
            (_, Outcome::Error(_)) => true,
            ("session/request_permission", outcome) => Decision::of(&exchange.params, outcome) != Decision::Allowed,
            ("elicitation/create", Outcome::Result(result)) => result.member("action").is_none_or(|it| it != "accept"),
            _ => false,
        };
        if is_declined {
            self.discourage(event.n);
        }
    }

    fn discourage(&mut self, n: usize) {
        (self.discouraged, self.discouraged_otherwise) = (Some(n), Some(n));
    }

    /// Returns the last request to end another session, with its event and time, and that session, if only such
    /// requests have come since an event, of the messages after which an agent may give up work.
    pub(in crate::areas) fn end_of_another(
        &self,
        session: &str,
        since: usize,
    ) -> Option<((usize, u64), EndedBy, &str)> {
        let (at, other, by) = self.ended.as_ref().filter(|((n, _), id, _)| *n > since && id != session)?;
        self.discouraged_otherwise.is_none_or(|other| other < since).then_some((*at, *by, other.as_str()))
    }

    /// Returns the questions of cancelled or closed work of a session that were open when it ended.
    pub(super) fn left_open(&self, session: &str) -> impl Iterator<Item = LeftOpen> {
        self.left_open.get(session).into_iter().flatten().copied()
    }

    /// Returns the last prompts of a session: event and text.
    pub(in crate::areas) fn prompts<'s>(&'s self, session: &str) -> impl Iterator<Item = (usize, &'s str)> + use<'s> {
        self.prompts.get(session).into_iter().flatten().map(|(n, text)| (*n, text.as_str()))
    }

    pub(in crate::areas) fn forget(&mut self, conversation: &Conversation, memory: Memory) {
        self.prompts.forget(conversation, memory);
        self.left_open.forget(conversation, memory);
    }
}
