//! Explains requirements and cases from the catalogue and the cases, without a run. [`Sources::entry`] gathers an
//! explanation, [`show`] and [`show_case`] print on a terminal, and [`pages()`] makes the pages of the site.

mod entry;
mod markdown;
mod text;

pub use entry::{Entry, Item, Section, Sources, areas};
pub use markdown::{Page, pages};
pub use text::{list, show, show_case};
