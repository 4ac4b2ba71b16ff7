//! `client --manual`: a person operates the client by instructions on the terminal.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde_json::json;

use super::output::say;
use super::person::{self, KEYS, PATIENCE};
use crate::manual::AgentFolder;
use crate::options::RunOptions;
use crate::plan::{editor_settings, editors};
use crate::profile::{Profile, places};
use crate::run::Subject;

/// The editor whose settings are shown by default.
const USUAL: &str = "zed";

/// Returns the client that a person operates, and explains its setup to the person.
///
/// # Errors
///
/// Another manual run is active, or the folder of the agent cannot be written.
pub(super) fn subject(options: &RunOptions, profile: Option<Profile>) -> anyhow::Result<Subject> {
    let folder = AgentFolder::take(&AgentFolder::usual_folder()?)?;
    let patience = options.limits.timeout_start.unwrap_or(PATIENCE);
    introduce(options.editor.as_deref(), &folder, patience)?;
    let mut subject = profile.map_or_else(
        || Subject::client(Vec::new(), folder.project()),
        |profile| Subject::of_profile(profile, folder.project()),
    );
    subject.command = Vec::new();
    subject.controls.overlay(options.controls.clone());
    subject.limits = subject.limits.with(&options.limits.overrides());
    subject.person = Some(person::at_standard_input(patience));
    subject.agent_folder = Some(Arc::new(folder));
    Ok(subject)
}

fn introduce(editor: Option<&str>, folder: &AgentFolder, patience: Duration) -> anyhow::Result<()> {
    say(&settings(editor.unwrap_or(USUAL), &folder.agent())?);
    if editor.is_none() {
        say(&format!("For another editor: --editor {}\n", editors().join("|")));
    }
    let minutes = patience.as_secs().div_ceil(60);
    say(&format!(
        "Open this folder in the editor; each case empties and fills it:  {}\n\
         When you are asked for permission, choose the first option that allows, unless the instruction names another.\n\
         The agent exits after each case, and the editor may report this.\n\
         You have {minutes} min for each thing (--timeout-start). {KEYS}",
        folder.project().display()
    ));
    Ok(())
}

fn settings(editor: &str, agent: &Path) -> anyhow::Result<String> {
    let agent = agent.display().to_string();
    let entry = json!({ "command": agent, "args": [], "env": {} });
    let values = BTreeMap::from([("agent".to_owned(), agent), ("agent_json".to_owned(), entry.to_string())]);
    Ok(places::fill(editor_settings(editor).context("the built-in settings of the editor are missing")?, &values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_editor_is_told_the_path_of_the_agent() {
        assert_eq!(editors(), ["avante", "codecompanion", "jetbrains", "zed", "other"]);
        for name in editors() {
            let text = settings(name, Path::new("/data/agent")).expect("the settings are built in");
            assert!(text.contains("\"/data/agent\"") && !text.contains("{agent"), "{text}");
        }
    }
}
