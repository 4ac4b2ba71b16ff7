//! What the catalogue, the cases and the faults say together about a requirement, for people who want to know what it asks
//! and how it is judged. [`Sources::entry`] gathers it; [`show`] is for a terminal, [`pages()`] makes the pages
//! of `docs/requirements/`, and [`kill_table`](kill_table()) the page of all faults. Nothing here looks at a run.

mod entry;
mod kill_table;
mod markdown;
mod text;

pub use entry::{Entry, Item, Section, Sources, areas};
pub use kill_table::kill_table;
pub use markdown::{Page, pages};
pub use text::{list, show};
