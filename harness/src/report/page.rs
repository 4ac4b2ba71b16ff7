//! The report as a page: one self-contained file that needs no server and no network.
//!
//! The page shows the report from JSON, and charts of the traces. Part of it is HTML, for readers without scripts; the
//! script makes the rest on demand. No text of the report can become markup.

mod board;
mod chart;
mod data;
mod document;
mod head;
mod renderer;

pub use board::write_board;
pub use chart::{Chart, Charting};
pub use renderer::PageReport;
