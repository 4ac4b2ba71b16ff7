//! The agents of a registry: reads its format, installs each entry at its pinned version, runs it in folders of its
//! own, and compares the results with those of the run before.
//!
//! Each entry is tested by this program in a process of its own ([`EntryRuns`]), so that the limits of an entry hold
//! for everything that it starts, and a run of many entries survives each of them.

mod bounded;
mod changes;
mod entry;
mod feed;
mod install;
mod lock;
mod report;
mod results;
mod rule;
mod runs;
mod sandbox;
mod source;
mod test;

pub use bounded::RegistryLimits;
pub use changes::{ChangeKind, RegistryChange, RegistryChanges, change_text, changes_between};
pub use entry::{Distribution, RegistryEntry, platform};
pub use feed::write_feed;
pub use install::{Install, Installation, Installed, NotInstalled, fetch_index};
pub use lock::{LockedEntry, RegistryLock, lock_schema};
pub use report::{FORMAT, RegistryReport, schema};
pub use results::{EditionResult, EntryOutcome, EntryResult, LoginRule, RuleVerdict};
pub use runs::{ChosenEntry, EntryRuns, EntryStep, block_on, read_entry};
pub use source::{REGISTRY_URL, read_registry};
pub use test::{CaseChoice, EntryTest, TestResult};
