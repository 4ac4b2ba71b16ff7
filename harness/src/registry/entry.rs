//! The entries of a registry. Unknown members are ignored, since the format of the registry grows.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde::Deserialize;
use serde_json::Value;

/// An agent in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryEntry {
    /// Its id: lower-case letters, digits and dashes.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// The pinned version.
    pub version: String,
    /// The address of its source or its page.
    pub repository: Option<String>,
    /// The ways to install it on this platform, in the order of preference; or the reason why there are none.
    pub distributions: Result<Vec<Distribution>, String>,
}

/// A way to install an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Distribution {
    /// A package of npm.
    Npx(PackageTarget),
    /// A package of PyPI.
    Uvx(PackageTarget),
    /// An archive for this platform.
    Binary(BinaryTarget),
}

/// A package that a package manager installs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(expecting = "an object with `package`")]
pub struct PackageTarget {
    /// The package, with or without its version.
    pub package: String,
    /// The arguments of its program.
    #[serde(default)]
    pub args: Vec<String>,
    /// The environment of its program.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// An archive with a program for one platform.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(expecting = "an object with `archive` and `cmd`")]
pub struct BinaryTarget {
    /// The address of the archive.
    pub archive: String,
    /// The SHA-256 of the archive, in hexadecimal.
    #[serde(default)]
    pub sha256: Option<String>,
    /// The program in the archive, or the name of an interpreter on PATH.
    pub cmd: String,
    /// The arguments of the program.
    #[serde(default)]
    pub args: Vec<String>,
    /// The environment of the program.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// An entry as the registry writes it.
#[derive(Deserialize)]
struct EntryFile {
    id: String,
    name: String,
    version: String,
    #[serde(default)]
    repository: Option<String>,
    distribution: DistributionFile,
}

#[derive(Deserialize)]
#[serde(expecting = "an object with `npx`, `uvx` or `binary`")]
struct DistributionFile {
    npx: Option<PackageTarget>,
    uvx: Option<PackageTarget>,
    binary: Option<BTreeMap<String, BinaryTarget>>,
}

/// Returns the name that the registry has for this platform, such as `linux-x86_64`.
pub fn platform() -> String {
    let system = if std::env::consts::OS == "macos" { "darwin" } else { std::env::consts::OS };
    format!("{system}-{}", std::env::consts::ARCH)
}

impl RegistryEntry {
    /// Reads an entry. A mistake in it becomes the reason why it cannot be installed, so that it is listed.
    ///
    /// # Errors
    ///
    /// The entry has no usable id.
    pub fn read(value: &Value, platform: &str) -> Result<Self, String> {
        let text = |member: &str| value.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
        let id = text("id");
        if value.get("id").is_none() {
            return Err("missing field `id`".to_owned());
        }
        if !is_id(&id) {
            return Err(format!("{id:?} is not an id: expected lower-case letters, digits and dashes"));
        }
        let unusable = |reason: String| Self {
            id: id.clone(),
            name: if text("name").is_empty() { id.clone() } else { text("name") },
            version: Some(text("version"))
                .filter(|version| is_version(version))
                .unwrap_or_else(|| "unknown".to_owned()),
            repository: None,
            distributions: Err(format!("mistake in the entry: {reason}")),
        };
        let file = match serde_json::from_value::<EntryFile>(value.clone()) {
            Ok(file) => file,
            Err(error) => return Ok(unusable(error.to_string())),
        };
        if !is_version(&file.version) {
            return Ok(unusable(format!("{:?} is not a version", file.version)));
        }
        let distributions = file.distribution.on(platform).and_then(|found| {
            found
                .iter()
                .try_for_each(Distribution::check)
                .map_err(|reason| format!("mistake in the entry: {reason}"))?;
            Ok(found)
        });
        Ok(Self { id: file.id, name: file.name, version: file.version, repository: file.repository, distributions })
    }
}

impl DistributionFile {
    /// Packages come first: they are checked by their package manager, and an archive often has no digest.
    fn on(self, platform: &str) -> Result<Vec<Distribution>, String> {
        let mut found: Vec<Distribution> = self.npx.map(Distribution::Npx).into_iter().collect();
        found.extend(self.uvx.map(Distribution::Uvx));
        found.extend(self.binary.and_then(|mut targets| targets.remove(platform)).map(Distribution::Binary));
        if found.is_empty() {
            return Err(format!("no distribution for {platform}; expected `npx`, `uvx`, or a `binary` for it"));
        }
        Ok(found)
    }
}

impl Distribution {
    /// Returns the name of its kind in the registry.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Npx(_) => "npx",
            Self::Uvx(_) => "uvx",
            Self::Binary(_) => "binary",
        }
    }

    /// Returns the package, or the address of the archive.
    pub fn package(&self) -> &str {
        match self {
            Self::Npx(target) | Self::Uvx(target) => &target.package,
            Self::Binary(target) => &target.archive,
        }
    }

    /// Returns the arguments of the program.
    pub fn args(&self) -> &[String] {
        match self {
            Self::Npx(target) | Self::Uvx(target) => &target.args,
            Self::Binary(target) => &target.args,
        }
    }

    /// Returns the environment of the program.
    pub const fn env(&self) -> &BTreeMap<String, String> {
        match self {
            Self::Npx(target) | Self::Uvx(target) => &target.env,
            Self::Binary(target) => &target.env,
        }
    }

    /// Refuses what would be an option of the package manager, or a path out of the archive.
    fn check(&self) -> Result<(), String> {
        let package = self.package();
        if package.is_empty() || package.starts_with('-') {
            return Err(format!("{package:?} is not a package"));
        }
        if let Self::Binary(target) = self {
            let is_inside = Path::new(&target.cmd)
                .components()
                .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
            if target.cmd.is_empty() || !is_inside {
                return Err(format!("cmd {:?} is not in the archive", target.cmd));
            }
            if !["https://", "http://", "file://"].iter().any(|start| target.archive.starts_with(start)) {
                return Err(format!("{:?} is not the address of an archive", target.archive));
            }
        }
        Ok(())
    }
}

/// The id is the name of a folder.
fn is_id(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// The version is the name of a folder.
fn is_version(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || ".-+_".contains(c))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(distribution: Value) -> RegistryEntry {
        let value = json!({ "id": "a-1", "name": "A", "version": "1.0.0", "distribution": distribution, "new": 1 });
        RegistryEntry::read(&value, "linux-x86_64").expect("an id")
    }

    fn reason(distribution: Value) -> String {
        entry(distribution).distributions.expect_err("not installable")
    }

    #[test]
    fn packages_come_before_the_archive_of_this_platform() {
        let binary = json!({ "linux-x86_64": { "archive": "https://a/b.tar.gz", "cmd": "./a" } });
        let found = entry(json!({ "binary": binary, "uvx": { "package": "a" }, "npx": { "package": "@a/b@1" } }));
        let kinds: Vec<_> = found.distributions.expect("three").iter().map(Distribution::kind).collect();
        assert_eq!(kinds, ["npx", "uvx", "binary"]);
    }

    #[test]
    fn mistakes_are_reasons() {
        let binary =
            |cmd: &str, archive: &str| json!({ "binary": { "linux-x86_64": { "archive": archive, "cmd": cmd } } });
        let nothing = "no distribution for linux-x86_64; expected `npx`, `uvx`, or a `binary` for it";
        assert_eq!(reason(json!({ "binary": { "darwin-x86_64": { "archive": "https://a", "cmd": "a" } } })), nothing);
        assert_eq!(reason(json!({ "npm": { "package": "a" } })), nothing);
        assert!(reason(json!({ "npx": "a" })).ends_with(r#"string "a", expected an object with `package`"#));
        assert!(reason(json!({ "npx": { "package": "--global" } })).contains("is not a package"));
        assert!(reason(json!({ "npx": {} })).contains("missing field `package`"));
        for cmd in ["../a", "/bin/sh", ""] {
            assert!(reason(binary(cmd, "https://a/b.zip")).contains("is not in the archive"), "{cmd}");
        }
        assert!(reason(binary("a", "ssh://a")).contains("not the address"));
    }

    #[test]
    fn ids_and_versions_are_names_of_folders() {
        for id in ["", "A", "../x", "1a", "a/b"] {
            let value = json!({ "id": id, "name": "A", "version": "1.0.0", "distribution": {} });
            assert!(RegistryEntry::read(&value, "linux-x86_64").is_err(), "{id}");
        }
        assert_eq!(RegistryEntry::read(&json!({}), "linux-x86_64"), Err("missing field `id`".to_owned()));
        let value = json!({ "id": "a", "name": "A", "version": "../1", "distribution": { "npx": { "package": "a" } } });
        let entry = RegistryEntry::read(&value, "linux-x86_64").expect("an id");
        assert!(entry.distributions.expect_err("a mistake").contains("not a version"));
        assert_eq!(entry.version, "unknown");
    }
}
