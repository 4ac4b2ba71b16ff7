//! The lock file: what was installed. A package that changes without a new version is not installed again.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const FORMAT: &str = "acp-conformance-registry-lock/1";

/// The JSON Schema of the lock file, as it is committed in `schemas/registry-lock.schema.json`.
pub fn lock_schema() -> serde_json::Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.into_root_schema_for::<RegistryLock>().to_value()
}

/// What was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RegistryLock {
    /// Always `acp-conformance-registry-lock/1`.
    format: String,
    /// The installed entries, by id.
    entries: BTreeMap<String, LockedEntry>,
}

/// What was installed of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LockedEntry {
    /// The version in the registry.
    pub version: String,
    /// How it was installed: `npx`, `uvx` or `binary`.
    pub distribution: String,
    /// The package, or the address of the archive.
    pub package: String,
    /// The digest of the package or archive, if the package manager reports one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The time of the installation: UTC, as in RFC 3339.
    pub installed: String,
}

impl Default for RegistryLock {
    fn default() -> Self {
        Self { format: FORMAT.to_owned(), entries: BTreeMap::new() }
    }
}

impl RegistryLock {
    /// Reads the file; without one, nothing is locked.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has another format.
    pub fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        match std::fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(format!("cannot read {shown}: {error}")),
            Ok(bytes) => match serde_json::from_slice::<Self>(&bytes) {
                Ok(lock) if lock.format == FORMAT => Ok(lock),
                Ok(lock) => Err(format!("{shown}: the format is `{}`; this program reads `{FORMAT}`", lock.format)),
                Err(error) => Err(format!("{shown} is not a lock file of a registry: {error}")),
            },
        }
    }

    /// Records what was installed.
    ///
    /// # Errors
    ///
    /// The same version of the same package had another digest before: then the file keeps that one.
    pub fn record(&mut self, id: &str, new: &LockedEntry) -> Result<(), String> {
        if let Some(old) = self.entries.get(id) {
            let is_same =
                (&old.version, &old.distribution, &old.package) == (&new.version, &new.distribution, &new.package);
            if let (true, Some(was), Some(is)) = (is_same, &old.digest, &new.digest)
                && was != is
            {
                return Err(format!(
                    "{} changed without a new version: the lock file has {was}, found {is}",
                    new.package
                ));
            }
            if is_same {
                return Ok(());
            }
        }
        self.entries.insert(id.to_owned(), new.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(version: &str, digest: &str) -> LockedEntry {
        LockedEntry {
            version: version.to_owned(),
            distribution: "npx".to_owned(),
            package: "a".to_owned(),
            digest: Some(digest.to_owned()),
            installed: "2026-11-27T00:00:00Z".to_owned(),
        }
    }

    #[test]
    fn a_package_keeps_its_digest_until_its_version_changes() {
        let mut lock = RegistryLock::default();
        assert_eq!(lock.record("a", &locked("1.0.0", "sha512-x")), Ok(()));
        assert_eq!(lock.record("a", &locked("1.0.0", "sha512-x")), Ok(()));
        let error = lock.record("a", &locked("1.0.0", "sha512-y")).expect_err("another digest");
        assert!(error.contains("changed without a new version"), "{error}");
        assert_eq!(lock.record("a", &locked("1.0.1", "sha512-y")), Ok(()));
    }

    #[test]
    fn the_file_is_read_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("registry.lock");
        let mut lock = RegistryLock::read(&path).expect("no file is an empty lock");
        lock.record("a", &locked("1.0.0", "sha512-x")).expect("new");
        crate::output_file::write_json(&path, &lock).expect("written");
        assert_eq!(RegistryLock::read(&path), Ok(lock));
        std::fs::write(&path, "{}").expect("a file");
        assert!(RegistryLock::read(&path).is_err());
    }
}
