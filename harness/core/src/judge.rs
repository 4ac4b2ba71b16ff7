//! Checks traces: a fold builds a conversation from the events, and checks compare each event with it.
//!
//! The judge does no input or output and does not depend on the origin of a trace: it serves a case that has just run, a
//! recording, and live traffic. Checks get the conversation as it was *before* their event.

mod by_case;
mod case;
mod cause;
mod check;
mod checks;
mod conditions;
mod conversation;
mod dispatch;
mod fences;
mod finding;
mod fold;
mod judgement;
mod judging;
mod login;
mod moment;
mod outcome;
mod owner;
mod recording_gaps;
mod registry;
mod ruling;
mod script;
mod seen;
mod shapes;
mod step;
mod tallies;
mod timestamp;
mod timing;
mod unasked_exit;

pub use case::{CaseVerdict, judge_case};
pub use cause::Cause;
pub use check::{Check, On};
pub use conversation::{
    After, AtCancel, CancelRequest, Conversation, Course, Decision, Deed, Ended, Exchange, Holes, Introduction,
    Listing, Login, Memory, Opening, Permission, Refusal, Session, SessionCourse, Terminal, ToolCall, Turn, TurnCourse,
    Write,
};
pub use finding::{Fact, field};
pub use fold::{Judge, judge};
pub use judgement::{Judgement, NotCovered};
pub use judging::{JudgedTrace, JudgingSession, TIME_LIMIT};
pub use login::LoginProcess;
pub use moment::Moment;
pub use outcome::Outcome;
pub use owner::signature;
pub use registry::Registry;
pub use ruling::{Doubt, Finding, Ruling, Tally};
pub use seen::{Answer, CallSeen, LineSeen, Payload};
pub use step::{EndCause, expected_text, observed_text, step_text};
