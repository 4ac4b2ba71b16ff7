//! The reference programs of `acp-conformance`: an [`agent`] and a [`client`] that follow the Agent Client Protocol.
//!
//! Both are examples to learn from. [`faulty`] adds layers to them that violate one requirement each, so they also test the
//! harness: a case must pass with the correct program and fail with the matching fault. Only this package of the project uses
//! the SDK.

pub mod agent;
pub mod client;
pub mod faulty;

mod group;
