//! A conformance harness for the [Agent Client Protocol](https://agentclientprotocol.com): drives an agent through
//! scripted transcripts, records every byte, and checks the record.
//!
//! Data flows one way. A [`case`] is read from a file and [`run`] against a subject, which yields a [`trace`]; the
//! [`mod@judge`] turns the trace into findings, and [`report`] joins the findings of all cases. No part depends on an
//! earlier one, so a trace can be checked again without the subject.
//!
//! ```no_run
//! use acp_conformance::case::embedded;
//! use acp_conformance::judge::judge;
//! use acp_conformance::edition::V1;
//! use acp_conformance::run::{Subject, run_case};
//!
//! let (cases, _) = embedded(&V1);
//! let agent = Subject::agent(vec!["my-agent".to_owned()], std::env::current_dir()?);
//! let trace = run_case(&cases[0], &agent);
//! for (requirement, tally) in judge(&trace, V1.edition()).tallies {
//!     println!("{requirement}: {}", tally.verdict());
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! To run all cases as tests of your own crate, see [`cargo_test`]. The modules below are
//! grouped in the order in which they may use each other; ARCHITECTURE.md describes their contents.

mod sync;

// Files that people write, and the mistakes in them.
pub mod diagnostic;
pub mod document;
pub mod output_file;
pub mod source;

// The pure half, in a separate package.
pub use acp_conformance_core::{
    conversation, finding, judge, protocol, recording, redact, requirement, results, trace, verdict, wire,
};

// The built-in editions: schemas, requirements, cases, examples.
pub mod packed;

pub mod edition;
pub mod example;

// The input of a run: cases, subjects, known failures.
pub mod case;
pub mod expected;
pub mod options;
pub mod profile;
pub mod record;

// The processes, and the run of cases with them.
pub mod manual;
pub mod model;
pub mod run;
pub mod transport;

// The output, and the entry points.
pub mod cargo_test;
pub mod certificate;
pub mod check;
pub mod cli;
pub mod compare;
pub mod explain;
pub mod explore;
pub mod monitor;
pub mod plan;
pub mod registry;
pub mod report;
pub mod snapshot;
pub mod suite;
