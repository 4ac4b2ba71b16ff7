//! What a run found, as data and as text. Renderers read events and the model; they never look at processes or judge.

mod collect;
mod diagnosis;
mod event;
pub mod expected;
mod expected_text;
mod hearing;
mod json;
pub mod model;
mod text;
mod timings;
mod timings_text;

pub use collect::{Collector, alone};
pub use diagnosis::diagnose;
pub use event::{Begin, Renderer, SuiteEvent};
pub use hearing::{Heard, Hearing};
pub use json::JsonReport;
pub use text::TextReport;
