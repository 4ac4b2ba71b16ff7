//! The built-in profiles, and the files of others.

use std::borrow::Cow;
use std::path::Path;

use include_dir::{Dir, include_dir};

use super::{Checked, PlanError};
use crate::diagnostic::{Diagnostic, nearest};
use crate::edition::Bundle;
use crate::profile::{self, Profile};
use crate::requirement::Party;

/// The built-in profiles, and the settings of editors.
static PROFILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/profiles");

/// Finds a built-in profile by its name, or reads a file.
///
/// # Errors
///
/// That there is no such profile, that it has mistakes, or that it is one of the other party.
pub fn find_profile(name: &str, party: Party, bundle: &'static Bundle) -> Checked<Profile> {
    let (shown, bytes) = profile_file(name)?;
    let (profile, problems) = profile::load_bytes(&shown, &bytes, bundle.catalogue());
    match profile {
        None => Err(PlanError::mistakes("the profile has mistakes", problems)),
        Some(profile) if profile.kind != party => {
            let (found, wanted) = (profile.kind.one(), party.one());
            Err(PlanError::mistakes(format!("it is the profile of {found}, and {wanted} is to be tested"), problems))
        }
        Some(profile) => Ok((profile, problems)),
    }
}

/// Returns every built-in profile, in the order of their names.
///
/// # Errors
///
/// That one of them has mistakes.
pub fn built_in_profiles(bundle: &'static Bundle) -> Checked<Vec<Profile>> {
    let files = PROFILES.files().filter(|file| file.path().extension().is_some_and(|extension| extension == "toml"));
    let mut profiles = Vec::new();
    let mut all_problems: Vec<Diagnostic> = Vec::new();
    for file in files {
        let path = file.path().display().to_string();
        let (profile, problems) = profile::load_bytes(&path, file.contents(), bundle.catalogue());
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
/// That there is no such profile, or that its file cannot be read.
pub fn profile_file(name: &str) -> Result<(String, Cow<'static, [u8]>), PlanError> {
    if let Some(file) = PROFILES.get_file(format!("{name}.toml")) {
        return Ok((format!("profiles/{name}.toml"), file.contents().into()));
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

/// Explains that there is no such profile. A name that is written like a path is meant as one.
fn no_profile(name: &str) -> String {
    if name.contains('/') || name.ends_with(".toml") {
        return "no such file".to_owned();
    }
    let names: Vec<&str> = PROFILES.files().filter_map(|file| file.path().file_stem()?.to_str()).collect();
    match nearest(name, names.iter().copied()) {
        Some(near) => format!("no such file, and no built-in profile; did you mean `{near}`?"),
        None => format!(
            "no such file, and no built-in profile; there are {}; see `acp-conformance list --profiles`",
            names.join(", ")
        ),
    }
}

/// Returns the names of the editors whose settings are built in; the one for every other editor comes last.
#[must_use]
pub fn editors() -> Vec<&'static str> {
    let folder = PROFILES.get_dir("editors");
    let files = folder.into_iter().flat_map(|folder| folder.files());
    let mut names: Vec<_> = files.filter_map(|file| file.path().file_stem()?.to_str()).collect();
    names.sort_by_key(|name| (*name == "other", *name));
    names
}

/// Returns the text that shows the settings of an editor.
#[must_use]
pub fn editor_settings(editor: &str) -> Option<&'static str> {
    PROFILES.get_file(format!("editors/{editor}.txt")).and_then(|file| file.contents_utf8())
}
