//! `client --manual`: a person operates the client by instructions on the terminal.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde_json::json;

use super::args::ClientArgs;
use super::output::say;
use super::person::{self, KEYS, PATIENCE};
use super::plan::{Choice, Origin, RunPlan, choose, controls, is_selection, limits};
use crate::edition::Bundle;
use crate::manual::{AgentFolder, order_for_a_person};
use crate::plan::{editor_settings, editors, this_program};
use crate::profile::places;
use crate::report::CASE_PLACE;
use crate::requirement::Party;
use crate::run::{Jobs, Subject};

/// The editor whose settings are shown by default.
const USUAL: &str = "zed";

/// Plans the run of a client that a person operates, and explains its setup to the person.
///
/// # Errors
///
/// As for any run, and another manual run that is active.
pub(super) fn plan(args: &ClientArgs, bundle: &'static Bundle) -> anyhow::Result<RunPlan> {
    let Choice { profile, mut cases, baseline, known, part } = choose(&args.run, Party::Client, bundle)?;
    // Each further context costs the person as much as the first use.
    cases.retain(|case| case.context.is_none() || is_selection(&args.run));
    order_for_a_person(&mut cases, &bundle.handshake(Party::Client));
    let folder = AgentFolder::take(&AgentFolder::usual_folder()?)?;
    let patience = args.run.start.timeout_start.unwrap_or(PATIENCE);
    introduce(args.editor.as_deref(), &folder, patience)?;
    let origin = profile.as_ref().map(Origin::of);
    let mut subject = profile.map_or_else(
        || Subject::client(Vec::new(), folder.project()),
        |profile| Subject::of_profile(profile, folder.project()),
    );
    subject.command = Vec::new();
    subject.controls.overlay(controls(args));
    subject.limits = subject.limits.with(&limits(&args.run.start));
    subject.person = Some(person::at_standard_input(patience));
    subject.agent_folder = Some(Arc::new(folder));
    Ok(RunPlan {
        walks: None,
        moves: None,
        bundle,
        subject,
        cases,
        jobs: Jobs::exactly(1),
        isolate: true,
        thorough: true,
        in_order: false,
        reproduce: format!("{} client --case {CASE_PLACE} --manual", this_program()),
        origin,
        baseline,
        known,
        part,
        is_selection: is_selection(&args.run),
    })
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

/// Returns the settings for an editor.
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
