//! Finds acts of a client's user that race with a message of the tester.
//!
//! The user and the agent reach a client in different ways, so a client may handle an act before a message that was
//! written earlier. If the case forbids a message, a client that is only slower than the tester could then fail it.

use crate::case::check::Checker;
use crate::case::model::{Action, Presence, Step};
use crate::diagnostic::Diagnostic;
use crate::requirement::Party;

impl Checker<'_> {
    /// Reports each act directly after a message of the tester, in a case in which a forbidden message decides.
    pub(super) fn races(&mut self) {
        let forbids = |step: &Step| matches!(step.action, Action::Never(_)) && !step.decides.is_empty();
        if self.subject == Party::Agent || !self.steps.iter().any(forbids) {
            return;
        }
        let mut sent = None;
        for (step, mark) in self.steps.iter().zip(&self.step_marks) {
            match &step.action {
                Action::Send(_) | Action::Raw(_) => sent = Some(mark),
                Action::Act(_) => {
                    if let Some(sent) = sent.take() {
                        let message = "the user acts when the client may not have read the message before";
                        let problem = Diagnostic::error("case::race", &mark.0, mark.1, message).warning();
                        let problem = problem.also(&sent.0, sent.1, "this message");
                        self.problems.push(
                            problem.help("put `- fence: {}` between the two, or a line of the client that answers"),
                        );
                    }
                }
                // A line that the client need not send shows nothing.
                Action::Never(_) | Action::Expect { presence: Presence::Any, .. } | Action::Forget(_) => {}
                Action::File(_) | Action::Process(_) | Action::Page(_) | Action::Mcp(_) | Action::AgentProcess(_) => {}
                _ => sent = None,
            }
        }
    }
}
