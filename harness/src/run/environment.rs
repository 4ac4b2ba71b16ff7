//! The environment of a case: the subject and how it is started, its folders, its MCP servers, its HTTP endpoint and
//! its model.

mod known_calls;
mod known_fences;
mod known_hangs;
mod known_openings;
mod known_servers;
mod model;
mod prepare;
mod reach;
mod sandbox;
mod start;
mod subject;

pub use self::known_calls::KnownCalls;
pub(super) use self::known_calls::same_kind;
pub use self::known_fences::KnownFences;
pub use self::known_hangs::KnownHangs;
pub(super) use self::known_openings::refuses_initialize;
pub use self::known_openings::{KnownOpenings, Useless};
pub use self::known_servers::KnownServers;
pub(super) use self::model::CaseModel;
pub use self::model::MODEL_LOG;
pub(super) use self::prepare::{CaseEnv, bindings, open_services, prepare_dirs, services};
pub(super) use self::sandbox::Sandbox;
pub(super) use self::start::Start;
pub use self::subject::Subject;
