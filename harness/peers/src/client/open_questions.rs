//! The questions of the agent that wait for an act of the user.

use std::time::Duration;

use serde_json::Value;
use tokio::{
    sync::{oneshot, watch},
    time::timeout,
};

use super::{act::Act, errors::Trouble};

/// The time that an act waits for a question that is still on its way.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

/// Returns the answer that an act of the user gives to a question, if any.
type Read = dyn Fn(&Act) -> Option<Value> + Send + Sync;

/// An open question; dropping it answers it without the user.
struct Question {
    session: Option<String>,
    read: Box<Read>,
    answer: oneshot::Sender<Value>,
}

/// The open questions, oldest first.
#[derive(Default)]
pub(super) struct Questions(watch::Sender<Vec<Question>>);

impl Questions {
    /// Returns the answer of the user, or `turned_down` if the user stops the turn of the session.
    pub(super) async fn ask(
        &self,
        session: Option<String>,
        read: impl Fn(&Act) -> Option<Value> + Send + Sync + 'static,
        turned_down: Value,
    ) -> Value {
        let (answer, answered) = oneshot::channel();
        self.0.send_modify(|open| {
            // The agent has withdrawn a question that has no receiver.
            open.retain(|question| !question.answer.is_closed());
            open.push(Question { session, read: Box::new(read), answer });
        });
        answered.await.unwrap_or(turned_down)
    }

    /// Answers the questions of a session because the user stops its turn or closes it.
    pub(super) fn dismiss(&self, session: &str) {
        self.0.send_modify(|open| open.retain(|question| question.session.as_deref() != Some(session)));
    }

    /// Answers all questions because the client ends.
    pub(super) fn dismiss_all(&self) {
        self.0.send_modify(Vec::clear);
    }

    /// Answers the oldest question that the act of the user fits.
    pub(super) async fn answer(&self, act: &Act) -> Result<(), Trouble> {
        let fits = |question: &Question| !question.answer.is_closed() && (question.read)(act).is_some();
        let mut open = self.0.subscribe();
        if timeout(ON_ITS_WAY, open.wait_for(|open| open.iter().any(fits))).await.is_err() {
            return Err(Trouble::refused("no question is open that has this answer"));
        }
        self.0.send_modify(|open| {
            let question = open.iter().position(fits).map(|at| open.remove(at));
            if let Some(question) = question
                && let Some(answer) = (question.read)(act)
            {
                // This fails only if the agent withdraws the question.
                let _ = question.answer.send(answer);
            }
        });
        Ok(())
    }
}
