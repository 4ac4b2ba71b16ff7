//! The data of the published protocol: schema, method table, and the differences between majors.
//!
//! This module does not depend on processes, cases or traces. The method table and every set of names are derived from
//! the schema when it is loaded, so that a new revision of the schema needs only new data.

mod adapter;
mod capability;
mod edition;
mod ids;
mod login;
mod media;
mod methods;
mod names;
mod nodes;
mod open_sets;
mod other_revision;
mod path;
mod pointer;
mod problem;
mod schema;
mod shape;
mod walk;
mod withdrawn;

pub use adapter::{Adapter, Update, V1, V2};
pub use capability::{Capability, Feature, is_former_draft};
pub use edition::{
    Differences, Edition, EditionSource, NEWEST_MAJOR, NEWEST_STABLE_MAJOR, SchemaError, edition_label, edition_stage,
    sha256,
};
pub(crate) use ids::{alias_in, is_respelt};
pub use login::{CONFIGURED, TerminalLogin};
pub(crate) use media::{NotBase64, not_base64};
pub use methods::{Kind, Method, MethodTable};
pub(crate) use names::NameMap;
pub use other_revision::{OtherRevision, OtherSource};
pub use path::is_absolute;
pub(crate) use pointer::escaped;
pub use problem::{Problem, ProblemKind};
pub use schema::Schema;
pub(crate) use shape::plain_name;
pub use walk::{Member, Object, Parts, Site};
pub(crate) use withdrawn::WITHDRAWN_MEMBERS;
