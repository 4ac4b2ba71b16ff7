//! The results of a run, as data and as text. Renderers read events and the model; they use no processes and no judge.

mod board;
mod broken;
mod diagnosis;
mod event;
pub mod events;
mod expected_text;
mod github;
mod issue;
mod json;
mod junit;
mod markdown;
mod mismatch;
mod page;
pub mod progress;
mod text;
mod time;
pub(crate) mod visible;
mod words;

pub use board::{BoardRun, ListedAgent, file_name, write_board_markdown};
pub(crate) use broken::worst_first;
pub use diagnosis::{Diagnosis, diagnose};
pub use event::{Begin, Renderer, SuiteEvent};
pub use events::EventLines;
pub use github::GithubReport;
pub use issue::write_issue;
pub use json::JsonReport;
pub use junit::JunitReport;
pub use markdown::MarkdownReport;
pub use mismatch::mismatch;
pub use page::{Chart, Charting, PageReport, write_board};
pub(crate) use text::confirmed;
pub use text::{Detail, TextReport};
pub use time::{rfc3339, today};
pub use words::CASE_PLACE;
pub(crate) use words::{count, name, partial, protocol, protocol_of, reproduce};
