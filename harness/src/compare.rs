//! Two runs of one subject side by side: which verdicts changed, what it can do that it could not, and what it says otherwise.
//!
//! A [`Side`] is a report, with what its traces tell if they are there; [`compare`] puts two of them together. It knows no files.

mod capabilities;
mod model;
mod side;
mod text;

pub use model::{
    CapabilityChange, DiffReport, FORMAT, Gain, MessageChange, OneSided, SideInfo, VerdictChange, VerdictTrend, schema,
};
pub use side::{Side, compare};
pub use text::write;
