//! Packages of PyPI, each in a virtual environment of its own. The program is the one that `uvx` would start.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::entry::PackageTarget;
use super::{Found, NotInstalled, Site};

/// The report of pip on what it installed.
const REPORT: &str = "pip-report.json";

/// Installs the package with `uv`, or else with the `pip` of `python3`.
pub(super) async fn install(site: &Site<'_>, target: &PackageTarget) -> Result<Found, NotInstalled> {
    let package = pinned(&target.package, site.version);
    // A `uv` that does not run, such as the wrapper of a version manager without one, counts as missing.
    let has_uv = site.run("uv", &["--version"], &[]).await.is_ok();
    let of = if has_uv { with_uv(site, &package).await } else { with_pip(site, &package).await }?;
    let Some(info) = dist_info(&of.venv, &of.name) else {
        return Err(NotInstalled::new(format!("the installed package {} was not found", of.name)));
    };
    let entry_points = fs::read_to_string(info.join("entry_points.txt")).unwrap_or_default();
    let program = program(&of.name, &scripts(&entry_points)).map_err(NotInstalled::new)?;
    Ok(Found { program: of.venv.join("bin").join(program), cwd: None, digest: of.digest })
}

/// An installed package.
struct InstalledPackage {
    name: String,
    venv: PathBuf,
    digest: Option<String>,
}

/// `uv` finds a Python that the package accepts, as `uvx` does.
async fn with_uv(site: &Site<'_>, package: &str) -> Result<InstalledPackage, NotInstalled> {
    let [tools, bin] = ["tools", "bin"].map(|name| site.folder.join(name));
    let (folder, links) = (tools.display().to_string(), bin.display().to_string());
    let env = [("UV_TOOL_DIR", folder.as_str()), ("UV_TOOL_BIN_DIR", links.as_str())];
    site.run("uv", &["tool", "install", "--quiet", "--", package], &env).await?;
    let venv = below(&tools).find(|path| path.join("bin").is_dir());
    let venv = venv.ok_or_else(|| NotInstalled::new(format!("uv installed nothing for {package}")))?;
    let name = venv.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(InstalledPackage { name, venv, digest: None })
}

async fn with_pip(site: &Site<'_>, package: &str) -> Result<InstalledPackage, NotInstalled> {
    let venv = site.folder.join("venv");
    let python = venv.join("bin/python").display().to_string();
    site.run("python3", &["-m", "venv", &venv.display().to_string()], &[]).await?;
    let quiet = ["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"];
    site.run(&python, &[quiet.as_slice(), &["--report", REPORT, "--", package]].concat(), &[]).await?;
    let (name, digest) = requested(&site.folder.join(REPORT))
        .ok_or_else(|| NotInstalled::new(format!("the report of pip does not name {package}")))?;
    Ok(InstalledPackage { name, venv, digest })
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

/// Names of packages differ in letter case and in their separators.
fn normal(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}

/// Lists a folder; one that cannot be read is empty.
fn below(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Finds the description of an installed package.
fn dist_info(venv: &Path, name: &str) -> Option<PathBuf> {
    let mut installed = below(&venv.join("lib")).flat_map(|python| below(&python.join("site-packages")));
    let is_of = |path: &PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let is_info = path.extension().is_some_and(|extension| extension == "dist-info");
        is_info && stem.split('-').next().is_some_and(|package| normal(package) == normal(name))
    };
    installed.find(is_of)
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

/// Returns the name and the digest of the package that pip was asked for.
fn requested(report: &Path) -> Option<(String, Option<String>)> {
    let report: Value = serde_json::from_slice(&fs::read(report).ok()?).ok()?;
    let installed = report.get("install")?.as_array()?;
    let requested = installed.iter().find(|one| one.get("requested") == Some(&Value::Bool(true)))?;
    let digest = requested.pointer("/download_info/archive_info/hashes/sha256").and_then(Value::as_str);
    let name = requested.pointer("/metadata/name")?.as_str()?.to_owned();
    Some((name, digest.map(|digest| format!("sha256-{digest}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_pinned() {
        for (given, wanted) in [
            ("a-b", "a-b==1.2.3"),
            ("a_b==1.0", "a_b==1.0"),
            ("a@1.0", "a==1.0"),
            ("a[x]", "a[x]==1.2.3"),
            ("/srv/a_b-1.0-py3-none-any.whl", "/srv/a_b-1.0-py3-none-any.whl"),
        ] {
            assert_eq!(pinned(given, "1.2.3"), wanted);
        }
    }

    #[test]
    fn package_is_found_by_its_normal_name() {
        let venv = tempfile::tempdir().expect("a folder");
        let info = venv.path().join("lib/python3.12/site-packages/A_b.c-1.0.dist-info");
        fs::create_dir_all(&info).expect("folders");
        assert_eq!(dist_info(venv.path(), "a-b-c"), Some(info));
        assert_eq!(dist_info(venv.path(), "a-b"), None);
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
