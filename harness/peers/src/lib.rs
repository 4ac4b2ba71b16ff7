//! Reference peers of `acp-conformance`: programs that are known to follow the Agent Client
//! Protocol, and that break one rule at a time when asked to.
//!
//! The harness is judged by them: a case must pass against the correct peer and fail against the
//! peer with the matching fault. The SDK is used here and nowhere else in the project.

pub mod agent;
pub mod client;
pub mod faulty;

mod group;
