//! Packages of PyPI, each in a virtual environment of its own. The program is the one that `uvx` would start.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::entry::PackageTarget;
use super::{Found, NotInstalled, Site};

/// The report of pip on what it installed.
const REPORT: &str = "pip-report.json";

/// Installs the package with `uv`, or else with the `pip` of `python3`.
pub(super) async fn install(site: &Site<'_>, target: &PackageTarget) -> Result<Found, NotInstalled> {
    let package = pinned(&target.package, site.version);
    let place = site.folder.join("venv");
    let (venv, python) = (place.display().to_string(), place.join("bin/python").display().to_string());
    // A `uv` that does not run, such as the wrapper of a version manager without one, counts as missing.
    let has_uv = site.run("uv", &["--version"], &[]).await.is_ok();
    if has_uv {
        site.run("uv", &["venv", "--quiet", &venv], &[]).await?;
        site.run("uv", &["pip", "install", "--quiet", "--python", &python, "--", &package], &[]).await?;
    } else {
        site.run("python3", &["-m", "venv", &venv], &[]).await?;
        let quiet = ["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"];
        let report = ["--report", REPORT, "--", &package];
        site.run(&python, &[quiet.as_slice(), &report].concat(), &[]).await?;
    }
    let info = dist_info(&place, name(&package))?;
    let entry_points = std::fs::read_to_string(info.join("entry_points.txt")).unwrap_or_default();
    let program = program(name(&package), &scripts(&entry_points)).map_err(NotInstalled::new)?;
    Ok(Found { program: place.join("bin").join(program), cwd: None, digest: digest(&site.folder.join(REPORT)) })
}

/// Adds the version of the entry to a name without one, and writes `name@1.0` of uvx as pip does. Paths stay.
fn pinned(package: &str, version: &str) -> String {
    if package.contains('/') || package.ends_with(".whl") {
        return package.to_owned();
    }
    match package.split_once('@') {
        Some((name, version)) => format!("{}=={}", name.trim(), version.trim()),
        None if package.contains(['=', '<', '>', '~', '!']) => package.to_owned(),
        None => format!("{package}=={version}"),
    }
}

/// Returns the name of a package without its extras and version.
fn name(package: &str) -> &str {
    let file = package.rsplit('/').next().unwrap_or(package);
    let end = file.find(|c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c)).unwrap_or(file.len());
    &file[..end]
}

/// Names of packages differ in letter case and in their separators.
fn normal(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}

/// Finds what was installed for the package: both installers mark what was asked for.
fn dist_info(venv: &Path, name: &str) -> Result<PathBuf, NotInstalled> {
    let below = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let found: Vec<PathBuf> = below(venv.join("lib")).flat_map(|python| below(python.join("site-packages"))).collect();
    let is_info = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "dist-info");
    let of = |path: &PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        normal(stem.split('-').next().unwrap_or_default())
    };
    let mut all = found.iter().filter(is_info);
    let requested =
        |path: &&PathBuf| path.join("REQUESTED").exists() && !["pip", "setuptools"].contains(&of(path).as_str());
    let same = found.iter().filter(is_info).find(|path| of(path) == normal(name));
    let info = same.or_else(|| all.find(requested)).cloned();
    info.ok_or_else(|| NotInstalled::new(format!("the installed package {name} was not found")))
}

/// Returns the names of the console scripts.
fn scripts(entry_points: &str) -> Vec<String> {
    let lines = entry_points.lines().map(str::trim).skip_while(|line| *line != "[console_scripts]").skip(1);
    let own = lines.take_while(|line| !line.starts_with('['));
    own.filter_map(|line| line.split_once('=')).map(|(name, _)| name.trim().to_owned()).collect()
}

/// Chooses the script with the name of the package, as `uvx` does, or else the only one.
fn program(name: &str, scripts: &[String]) -> Result<String, String> {
    if let Some(same) = scripts.iter().find(|script| normal(script) == normal(name)) {
        return Ok(same.clone());
    }
    match scripts {
        [only] => Ok(only.clone()),
        [] => Err(format!("the package {name} has no program")),
        several => Err(format!("uvx cannot choose between the programs of {name}: {}", several.join(", "))),
    }
}

/// Returns the digest of the first package that pip was asked for.
fn digest(report: &Path) -> Option<String> {
    let report: Value = serde_json::from_slice(&std::fs::read(report).ok()?).ok()?;
    let installed = report.get("install")?.as_array()?;
    let requested = installed.iter().find(|one| one.get("requested") == Some(&Value::Bool(true)))?;
    let digest = requested.pointer("/download_info/archive_info/hashes/sha256")?.as_str()?;
    Some(format!("sha256-{digest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_pinned_and_named() {
        for (given, wanted, named) in [
            ("a-b", "a-b==1.2.3", "a-b"),
            ("a_b==1.0", "a_b==1.0", "a_b"),
            ("a@1.0", "a==1.0", "a"),
            ("a[x]", "a[x]==1.2.3", "a"),
            ("/tmp/a_b-1.0-py3-none-any.whl", "/tmp/a_b-1.0-py3-none-any.whl", "a_b-1.0-py3-none-any.whl"),
        ] {
            let pinned = pinned(given, "1.2.3");
            assert_eq!((pinned.as_str(), name(&pinned)), (wanted, named));
        }
    }

    #[test]
    fn program_is_the_one_of_uvx() {
        let text = "[gui_scripts]\nz = a:z\n\n[console_scripts]\nvibe = a:b\nvibe-acp = a:c\n[other]\nx = y\n";
        assert_eq!(scripts(text), ["vibe", "vibe-acp"]);
        assert_eq!(program("vibe_acp", &scripts(text)), Ok("vibe-acp".to_owned()));
        assert_eq!(program("other", &["only".to_owned()]), Ok("only".to_owned()));
        assert!(program("other", &scripts(text)).is_err_and(|error| error.contains("vibe, vibe-acp")));
        assert!(program("other", &[]).is_err());
    }
}
