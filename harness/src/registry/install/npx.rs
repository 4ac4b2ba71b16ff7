//! Packages of npm. The program is the one that `npx` would start.

use std::path::Path;

use serde_json::{Map, Value};

use super::super::entry::PackageTarget;
use super::{Found, NotInstalled, Site};

/// Installs the package below the folder of the site.
pub(super) async fn install(site: &Site<'_>, target: &PackageTarget) -> Result<Found, NotInstalled> {
    let (folder, package) = (site.folder.display().to_string(), pinned(&target.package, site.version));
    let mut args = vec!["install", "--prefix", &folder, "--no-audit", "--no-fund", "--no-update-notifier"];
    // A package in a local folder is copied, so that the cache is complete.
    args.extend(["--loglevel=error", "--install-links"]);
    args.extend((!site.install.scripts).then_some("--ignore-scripts"));
    args.extend(["--", &package]);
    site.run("npm", &args, &[]).await?;
    let own = json(&site.folder.join("package.json"))?;
    let Some((name, _)) = own.get("dependencies").and_then(Value::as_object).and_then(|all| all.iter().next()) else {
        return Err(NotInstalled::new(format!("npm installed nothing for {package}")));
    };
    let modules = site.folder.join("node_modules");
    let installed = json(&modules.join(name).join("package.json"))?;
    let program = program(name, installed.get("bin")).map_err(NotInstalled::new)?;
    let lock = json(&site.folder.join("package-lock.json")).unwrap_or_default();
    let locked = lock.get("packages").and_then(|packages| packages.get(format!("node_modules/{name}")));
    let digest = locked.and_then(|package| package.get("integrity")).and_then(Value::as_str).map(str::to_owned);
    Ok(Found { program: modules.join(".bin").join(program), cwd: None, digest })
}

/// Adds the version of the entry to a name without one. Paths and addresses stay.
fn pinned(package: &str, version: &str) -> String {
    let name = package.strip_prefix('@').unwrap_or(package);
    let is_scoped_name = package.starts_with('@') && name.matches('/').count() == 1;
    let is_name = !package.contains(':') && (is_scoped_name || !package.contains('/')) && !package.ends_with(".tgz");
    if is_name && !name.contains('@') { format!("{package}@{version}") } else { package.to_owned() }
}

/// Chooses the program as `npx` does: the only one, or the one with the name of the package.
fn program(name: &str, bin: Option<&Value>) -> Result<String, String> {
    let short = name.rsplit('/').next().unwrap_or(name);
    let none = Map::new();
    let programs = match bin {
        Some(Value::String(_)) => return Ok(short.to_owned()),
        Some(Value::Object(programs)) => programs,
        _ => &none,
    };
    let mut names = programs.keys();
    match (names.next(), names.next()) {
        (None, _) => Err(format!("the package {name} has no program")),
        (Some(only), None) => Ok(only.clone()),
        _ if programs.contains_key(short) => Ok(short.to_owned()),
        // Several names of one program.
        (Some(first), _) if programs.values().all(|path| Some(path) == programs.get(first)) => Ok(first.clone()),
        _ => Err(format!("npx cannot choose between the programs of {name}: none is named {short}")),
    }
}

fn json(path: &Path) -> Result<Value, NotInstalled> {
    let text = std::fs::read(path);
    let failed = |error: String| NotInstalled::new(format!("cannot read {}: {error}", path.display()));
    serde_json::from_slice(&text.map_err(|error| failed(error.to_string()))?).map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_without_a_version_get_that_of_the_entry() {
        for (given, wanted) in [
            ("a", "a@1.2.3"),
            ("@a/b", "@a/b@1.2.3"),
            ("a@1.0.0", "a@1.0.0"),
            ("@a/b@1.0.0", "@a/b@1.0.0"),
            ("/srv/a", "/srv/a"),
            ("file:a", "file:a"),
            ("a-1.0.0.tgz", "a-1.0.0.tgz"),
        ] {
            assert_eq!(pinned(given, "1.2.3"), wanted);
        }
    }

    #[test]
    fn program_is_the_one_of_npx() {
        assert_eq!(program("@a/b", Some(&json!("x.js"))), Ok("b".to_owned()));
        assert_eq!(program("@a/b", Some(&json!({ "c": "x.js" }))), Ok("c".to_owned()));
        assert_eq!(program("@a/b", Some(&json!({ "c": "x.js", "b": "y.js" }))), Ok("b".to_owned()));
        assert_eq!(program("a", Some(&json!({ "c": "x.js", "d": "x.js" }))), Ok("c".to_owned()));
        assert!(program("a", Some(&json!({ "c": "x.js", "d": "y.js" }))).is_err());
        assert!(program("a", None).is_err());
    }
}
