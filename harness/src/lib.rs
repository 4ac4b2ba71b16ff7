//! The acp-conformance harness.
pub mod cargo_test;
pub mod case;
pub mod cli;
pub mod diagnostic;
pub mod document;
pub mod fault;
pub mod judge;
pub mod peer;
pub mod profile;
pub mod protocol;
pub mod report;
pub mod requirement;
pub mod run;
pub mod source;
pub mod trace;
pub mod verdict;
pub mod wire;
