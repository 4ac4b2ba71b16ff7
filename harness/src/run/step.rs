//! The steps of a case, one file for each kind.

pub(super) mod act;
mod authenticate;
mod exit;
mod expect;
mod fence;
mod file;
mod http;
mod login;
mod mcp;
pub(super) mod needs;
mod page;
mod process;
mod reply;
mod rest;
mod restart;
pub(super) mod send;

use super::case::{RunningCase, StepResult};
use super::channel::Channel;
use crate::case::model::{Action, Presence, Step};
use crate::trace::{Outcome, StepKind};

/// Runs one step.
pub(super) async fn run<C: Channel>(running: &mut RunningCase<'_, C>, index: usize, step: &Step) -> StepResult {
    match &step.action {
        Action::Send(_) if index == 0 && running.channel.state().goes_on => running.take_over(step),
        Action::Send(lines) => act::send(running, lines).await,
        Action::Raw(raw) => running.raw(raw),
        Action::Http(request) => http::request(running, request).await,
        Action::Binary(message) => http::binary(running, message).await,
        Action::Expect { line, presence: Presence::Must } => running.must(line, step.within).await,
        Action::Expect { line, presence: Presence::Optional } => running.optional(index, line, step.within).await,
        Action::Expect { line, presence: Presence::Any } => running.any(line, step.within).await,
        Action::AnyOrder(lines) => running.any_order(lines, step.within).await,
        Action::Never(_) => {
            running.inbox.reached.insert(index, running.inbox.messages.len());
            StepResult::new(StepKind::Never, Outcome::Done)
        }
        Action::Fence => running.fence_step(step).await,
        Action::Reply(reply) => reply::compare(running, reply),
        Action::File(file) => file::compare(running, file, step.within).await,
        Action::Process(process) => process::check(running, process, step.within).await,
        Action::Mcp(message) => mcp::expect(running, message, step.within).await,
        Action::Page(visited) => page::check(running, *visited),
        Action::Act(act) => act::perform(running, act).await,
        Action::AgentProcess(order) => act::order(running, order),
        Action::Login => login::expect(running, step.within).await,
        Action::Forget(names) => {
            running.bindings.remove(names);
            StepResult::new(StepKind::Send, Outcome::Done)
        }
        Action::CloseStdin => running.close_input(),
        Action::Restart => restart::restart(running).await,
        Action::End => {
            let limit = running.after_act(step.within.unwrap_or(running.limits.exit));
            exit::end(running, !step.decides.is_empty(), limit).await
        }
        Action::Exit { .. } if running.is_by_hand() => exit::not_visible(),
        Action::Exit { code } => exit::exit(running, *code, step.within.unwrap_or(running.limits.exit)).await,
    }
}
