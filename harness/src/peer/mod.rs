//! The processes at the other end: starting them, talking to them, and getting rid of them.
//!
//! This is the only part of the program that starts processes, and the only one with code of one operating system.

pub mod between;
pub mod folder;
pub mod link;
mod pipe;
pub mod process;
pub mod pump;
pub mod relay;
pub mod signal;
mod unix;
pub mod web;
