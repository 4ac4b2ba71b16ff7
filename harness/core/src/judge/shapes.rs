//! Requirements on the shape of single definitions, as a table: which problems of the schema belong to which requirement.
//!
//! The first row that owns a problem takes it, and what no row owns goes to `schema.valid`. So one wrong member accuses
//! one requirement, and a new shape rule is a new row.

mod agent;
mod client;
pub(super) mod owners;
mod row;
pub(super) mod table;
mod v2;
