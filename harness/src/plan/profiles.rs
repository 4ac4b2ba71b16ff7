//! Finds the built-in profiles, and reads other files.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::paths::absolute_program;
use super::{Checked, PlanError};
use crate::diagnostic::{Diagnostic, nearest};
use crate::edition::Bundle;
use crate::packed::{Folder, packed_folder};
use crate::profile::{self, Profile};
use crate::requirement::Party;

/// The built-in profiles.
const PROFILES: Folder = packed_folder!("profiles.json");

/// The settings of editors.
const EDITORS: Folder = packed_folder!("editors.json");

/// Finds a built-in profile by its name, or reads a file.
///
/// # Errors
///
/// The profile does not exist, has mistakes, or is for the other party.
pub fn find_profile(name: &str, party: Party, bundle: &'static Bundle) -> Checked<Profile> {
    let (mut profile, mut problems) = read_profile(name, bundle)?;
    if profile.kind != party {
        let (found, wanted) = (profile.kind.one(), party.one());
        let message = format!("it is the profile of {found}, but {wanted} is tested");
        return Err(PlanError::mistakes(message, problems));
    }
    if let Some(base) = profile.base.take() {
        let of_base = |error: PlanError| PlanError { message: format!("profile = {base:?}: {error}"), ..error };
        let file = profile.dir.as_ref().map(|dir| dir.join(&base)).filter(|file| file.is_file());
        let base_name = file.map_or_else(|| base.clone(), |file| file.display().to_string());
        let (below, more) = read_profile(&base_name, bundle).map_err(of_base)?;
        if below.kind != party || below.base.is_some() {
            let what =
                if below.kind == party { "it builds on another profile itself" } else { "it is for the other party" };
            return Err(of_base(PlanError::new(what)));
        }
        problems.extend(more);
        profile = profile.over(below);
    }
    Ok((profile, problems))
}

/// Reads a profile alone, without its base profile. In the file of a project, paths are relative to its folder.
///
/// # Errors
///
/// As for [`find_profile`].
pub fn read_profile(name: &str, bundle: &'static Bundle) -> Checked<Profile> {
    let (shown, bytes) = profile_file(name)?;
    let (profile, problems) = profile::load_bytes(&shown, &bytes, bundle.catalogue());
    let Some(mut profile) = profile else { return Err(PlanError::mistakes("the profile has mistakes", problems)) };
    if Path::new(name).file_name().is_some_and(|file| file == PROJECT_FILE) {
        let file = Path::new(name).canonicalize().map_err(|error| PlanError::io("cannot find it", error))?;
        let dir = file.parent().unwrap_or(&file).to_path_buf();
        if let Some(program) = profile.command.first_mut() {
            *program = absolute_program(program, &dir);
        }
        profile.dir = Some(dir);
    }
    Ok((profile, problems))
}

/// The name of the file that describes how the programs of a project are tested.
pub const PROJECT_FILE: &str = "acp-conformance.toml";

/// Finds the file of the project, in the current directory or above it.
pub fn project_file() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|dir| dir.join(PROJECT_FILE)).find(|file| file.is_file())
}

/// Returns every built-in profile, in the order of their names.
///
/// # Errors
///
/// One of them has mistakes.
pub fn built_in_profiles(bundle: &'static Bundle) -> Checked<Vec<Profile>> {
    let mut profiles = Vec::new();
    let mut all_problems: Vec<Diagnostic> = Vec::new();
    for (path, text) in PROFILES() {
        let (profile, problems) = profile::load_bytes(path, text.as_bytes(), bundle.catalogue());
        match profile {
            Some(profile) => profiles.push(profile),
            None => return Err(PlanError::mistakes(format!("the built-in profile {path} has mistakes"), problems)),
        }
        all_problems.extend(problems);
    }
    profiles.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((profiles, all_problems))
}

/// Returns the bytes of a profile, and the name of its file.
///
/// # Errors
///
/// The profile does not exist, or its file cannot be read.
pub fn profile_file(name: &str) -> Result<(String, Cow<'static, [u8]>), PlanError> {
    if let Some(text) = PROFILES().get(&format!("{name}.toml")) {
        return Ok((format!("profiles/{name}.toml"), text.as_bytes().into()));
    }
    let path = Path::new(name);
    if path.is_dir() {
        return Err(PlanError::new("it is a folder"));
    }
    if !path.exists() {
        return Err(PlanError::new(no_profile(name)));
    }
    let bytes = std::fs::read(path).map_err(|error| PlanError::io("cannot read it", error))?;
    Ok((name.to_owned(), bytes.into()))
}

/// Whether a built-in profile has this name.
pub(super) fn is_built_in(name: &str) -> bool {
    PROFILES().contains_key(&format!("{name}.toml"))
}

/// Explains that the profile does not exist. A name that looks like a path is treated as a path.
fn no_profile(name: &str) -> String {
    if name.contains('/') || name.ends_with(".toml") {
        return "no such file".to_owned();
    }
    match nearest(name, PROFILES().keys().filter_map(|file| file.strip_suffix(".toml"))) {
        Some(near) => format!("no such file, and no built-in profile; did you mean `{near}`?"),
        None => "no such file, and no built-in profile; `acp-conformance list --profiles` shows all".to_owned(),
    }
}

/// Returns the names of the editors whose settings are built in; the one for every other editor comes last.
pub fn editors() -> Vec<&'static str> {
    let mut names: Vec<_> = EDITORS().keys().filter_map(|file| file.strip_suffix(".txt")).collect();
    names.sort_by_key(|name| (*name == "other", *name));
    names
}

/// Returns the text that shows the settings of an editor.
pub fn editor_settings(editor: &str) -> Option<&'static str> {
    EDITORS().get(&format!("{editor}.txt")).map(String::as_str)
}
