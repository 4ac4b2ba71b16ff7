//! Checks traces: a fold builds a conversation from the events, and checks compare each event with it.
//!
//! The judge does no input or output and does not depend on the origin of a trace: it serves a case that has just run,
//! a recording, and live traffic. Checks get the conversation as it was *before* their event.

#[cfg(test)]
mod annotations;
mod by_case;
mod case;
mod cause;
mod conditions;
mod dispatch;
mod fences;
mod fold;
mod judgement;
mod judging;
mod new_duties;
mod own_tool;
mod owner;
mod pattern_words;
mod recording_gaps;
mod refusal;
mod registry;
mod script;
mod shapes;
mod short_lines;
mod step;
mod tallies;
mod unasked_exit;

pub use case::{CaseVerdict, judge_case};
pub use cause::Cause;
pub use fold::{Judge, judge};
pub use judgement::{Judgement, NotCovered};
pub use judging::{JudgedTrace, JudgingSession, TIME_LIMIT};
pub use owner::signature;
pub use registry::Registry;
pub use step::{EndCause, expected_text, observed_text, step_text};

pub use crate::finding::{Doubt, Fact, Finding, Tally};
