//! The file of a project, `acp-conformance.toml`: a profile whose settings apply unless an option overrides them.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::args::ResultArgs;
use super::outputs;
use super::plan::show_problems;
use crate::edition::{Bundle, Editions};
use crate::options::RunOptions;
use crate::plan::{project_file, read_profile};
use crate::profile::{Profile, RunSettings};
use crate::requirement::Party;

/// Returns the command of a project for a command line without one: `None` without a project, or if the first word is a
/// command or asks for help. Either command shows the mistakes of a file.
pub(super) fn command(words: &[String]) -> Option<Party> {
    let is_option =
        |word: &String| word.starts_with('-') && !["-h", "--help", "-V", "--version"].contains(&word.as_str());
    if !own_words(words).first().is_none_or(is_option) {
        return None;
    }
    let file = project_file()?;
    let read = read_profile(&file.display().to_string(), Editions::built_in().preferred());
    Some(read.map_or(Party::Agent, |(profile, _)| profile.kind))
}

/// Returns the words after the options that may stand before every command.
fn own_words(mut words: &[String]) -> &[String] {
    const OF_ALL: [&str; 3] = ["--protocol", "--edition", "--color"];
    while let [first, rest @ ..] = words {
        let (name, has_value) = first.split_once('=').map_or((first.as_str(), false), |(name, _)| (name, true));
        if !OF_ALL.contains(&name) {
            break;
        }
        words = if has_value { rest } else { rest.get(1..).unwrap_or_default() };
    }
    words
}

/// Fills in missing options: the subject and the settings of the project, and the settings of a named profile.
///
/// # Errors
///
/// A file has mistakes.
pub(super) fn apply(
    (run, result): (&mut RunOptions, &mut ResultArgs),
    party: Party,
    bundle: &'static Bundle,
) -> anyhow::Result<()> {
    if let Some(name) = run.start.profile.clone().filter(|name| Path::new(name).is_file()) {
        let profile = show_problems(read_profile(&name, bundle)).with_context(|| format!("--profile {name}"))?;
        fill(run, result, &profile)?;
    }
    let Some(file) = project_file() else { return Ok(()) };
    let file = file.display().to_string();
    let profile = show_problems(read_profile(&file, bundle)).with_context(|| file.clone())?;
    if profile.kind != party {
        return Ok(());
    }
    fill(run, result, &profile)?;
    if run.start.profile.is_none() && run.start.command.is_empty() {
        run.start.profile = Some(file);
    }
    Ok(())
}

fn fill(run: &mut RunOptions, result: &mut ResultArgs, profile: &Profile) -> anyhow::Result<()> {
    let RunSettings { cases, formats, jobs, strict, allow_incomplete } = &profile.run;
    let here = |path: &Path| profile.dir.as_ref().map_or_else(|| path.to_path_buf(), |dir| dir.join(path));
    run.case_dir = run.case_dir.take().or_else(|| Some(here(&PathBuf::from(cases.as_ref()?))));
    run.limits.jobs = run.limits.jobs.or(*jobs);
    run.strict |= strict;
    result.allow_incomplete |= allow_incomplete;
    let parse = |form: &String| outputs::parse(form).map(|output| output.in_folder(here));
    let formats: Result<Vec<_>, String> = formats.iter().map(parse).collect();
    result.default_formats(formats.map_err(|error| anyhow::anyhow!("formats: {error}"))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_command_behind_options_of_all_commands() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let cases = [
            ("--protocol v1 client --case x", "client --case x"),
            ("--protocol=v1 --color always agent", "agent"),
            ("--case x --protocol v1", "--case x --protocol v1"),
            ("--protocol", ""),
        ];
        for (line, own) in cases {
            assert_eq!(own_words(&words(line)).join(" "), own, "{line}");
        }
    }
}
