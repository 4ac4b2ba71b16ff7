//! What the catalogue, the cases and the faults say together about a requirement, for people who want to know what it asks
//! and how it is judged. [`Sources::entry`] gathers it; [`show`] is for a terminal, and [`pages()`] makes the pages
//! of `docs/requirements/`. Nothing here looks at a run.

mod entry;
mod markdown;
mod text;

pub use entry::{Entry, Item, Part, Sources, areas};
pub use markdown::{Page, pages};
pub use text::{list, show};
