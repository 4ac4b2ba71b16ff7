//! What a run found, as data and as text. Renderers read events and the model; they never look at processes or judge.

mod collect;
mod diagnosis;
mod hearing;
pub mod model;
mod text;
mod timings;
mod timings_text;

pub use collect::{Collector, SuiteEvent, alone};
pub use diagnosis::diagnose;
pub use hearing::{Heard, Hearing};
pub use text::TextReport;
