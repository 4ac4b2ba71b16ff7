//! Compares two runs of one subject: changed verdicts, capabilities and messages.
//!
//! A [`Side`] is a report together with its traces, if there are any; [`compare`] compares two of them. Neither reads
//! files.

mod capabilities;
mod model;
mod side;
mod text;

pub use model::{
    CapabilityChange, DiffReport, FORMAT, Gain, MessageChange, OneSided, SideInfo, VerdictChange, VerdictTrend, schema,
};
pub use side::{Side, compare};
pub use text::write;
