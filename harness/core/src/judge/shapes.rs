//! Requirements on the shape of single definitions, as a table: it maps problems of the schema to requirements.
//!
//! The first row that owns a problem takes it, and `schema.valid` takes the rest. So one wrong member fails one
//! requirement, and a new requirement on a shape is a new row.

mod agent;
mod client;
pub(super) mod owners;
mod row;
pub(super) mod table;
mod v2;
