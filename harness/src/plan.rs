//! From the user's options to a run: the start of the subject, and the existing cases. This module does not print or
//! parse options.

mod advice;
mod model_settings;
mod paths;
mod profiles;
mod selection;
mod start;

use std::io;

use crate::diagnostic::Diagnostic;

pub use advice::{fitting_profile, next_steps};
pub use model_settings::{ModelSettings, Reaction, common_variables, find_settings, settings_of_profiles};
pub use paths::absolute_program;
pub use profiles::{
    PROJECT_FILE, built_in_profiles, editor_settings, editors, find_profile, profile_file, project_file, read_profile,
};
pub(crate) use selection::end_of;
pub use selection::{load_cases, matches, select};
pub use start::this_program;

/// A result with the mistakes in the files that were read for it, which are all warnings.
pub type Checked<T> = Result<(T, Vec<Diagnostic>), PlanError>;

/// The reason why nothing can run.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct PlanError {
    message: String,
    /// The mistakes in the file that caused the error, if one did.
    pub problems: Vec<Diagnostic>,
    source: Option<io::Error>,
}

impl PlanError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), problems: Vec::new(), source: None }
    }

    fn io(message: impl Into<String>, error: io::Error) -> Self {
        Self { source: Some(error), ..Self::new(message) }
    }

    fn mistakes(message: impl Into<String>, problems: Vec<Diagnostic>) -> Self {
        Self { problems, ..Self::new(message) }
    }
}
