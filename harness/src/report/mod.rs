//! What a run found, as data and as text. Renderers read events and the model; they never look at processes or judge.

mod broken;
mod collect;
mod diagnosis;
mod event;
pub mod events;
pub mod expected;
mod expected_text;
mod github;
mod hearing;
mod json;
mod junit;
mod markdown;
pub mod model;
mod page;
pub mod progress;
mod sarif;
mod tap;
mod text;
mod timings;
mod timings_text;
mod visible;
mod words;

pub use collect::{Collector, alone};
pub use diagnosis::diagnose;
pub use event::{Begin, Renderer, SuiteEvent};
pub use events::EventLines;
pub use github::GithubReport;
pub use hearing::{Heard, Hearing};
pub use json::JsonReport;
pub use junit::JunitReport;
pub use markdown::MarkdownReport;
pub use page::{Chart, Charting, Column, PageReport, write_matrix};
pub use sarif::SarifReport;
pub use tap::TapReport;
pub use text::TextReport;
