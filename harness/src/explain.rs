//! Explains requirements and cases from the catalogue, the cases and the faults, without a run. [`Sources::entry`] gathers an
//! explanation, [`show`] and [`show_case`] print on a terminal, [`pages()`] makes the pages of the site, and
//! [`kill_table`](kill_table()) the page of all faults.

mod entry;
mod kill_table;
mod markdown;
mod text;

pub use entry::{Entry, Item, Section, Sources, areas};
pub use kill_table::kill_table;
pub use markdown::{Page, pages};
pub use text::{list, show, show_case};
