//! The report as a page: one file that needs nothing else, neither a server nor the network.
//!
//! The page is a viewer of the report as JSON and of charts made of the traces. A part of it stands in the page as HTML, for
//! readers without a script; the rest is made by the script when it is looked at. Nothing of it ever becomes markup.

mod chart;
mod data;
mod document;
mod head;
mod matrix;
mod renderer;

pub use chart::{Chart, Charting};
pub use matrix::{Column, write_matrix};
pub use renderer::PageReport;
