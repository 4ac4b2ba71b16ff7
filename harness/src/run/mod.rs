//! Runs cases against a subject and records what happens. Nothing here judges: what comes out is a trace.

mod act;
mod desk;
mod driver;
mod expect;
mod floor;
mod intent;
mod interrupt;
mod limits;
mod login;
mod look;
mod manual;
mod mcp;
mod model;
mod needs;
mod person;
mod play;
mod record;
mod sandbox;
mod say;
mod script;
mod subject;
mod suite;
pub mod tester;
mod wait;
mod writing;

pub use desk::{Desk, DeskError};
pub use floor::bare_starts;
pub use intent::MARKER;
pub use interrupt::interrupted;
pub use limits::Limits;
pub use manual::{order_for_a_person, run_by_hand};
pub use person::{Key, Keys, Person};
pub use play::run_case;
pub use subject::Subject;
pub use suite::{Progress, run_all};
