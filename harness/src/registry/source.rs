//! Where the entries of a registry come from: its index, one entry, or a folder of entries.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::entry::{RegistryEntry, platform};

/// The index of the public registry, as its own documentation names it.
pub const REGISTRY_URL: &str = "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json";

/// The file of an entry in a folder of entries.
const ENTRY_FILE: &str = "agent.json";

/// The index in a folder.
const INDEX_FILE: &str = "registry.json";

/// Reads the entries in a file or folder, in the order of their ids, and the mistakes that hide an entry, each with its
/// file.
///
/// # Errors
///
/// A file cannot be read or is not JSON, or has no entries.
pub fn read_registry(path: &Path) -> Result<(Vec<RegistryEntry>, Vec<String>), String> {
    let (mut entries, mut mistakes, mut known) = (Vec::new(), Vec::new(), BTreeSet::new());
    for file in files(path)? {
        let shown = file.display();
        let text = std::fs::read_to_string(&file).map_err(|error| format!("cannot read {shown}: {error}"))?;
        let value: Value = serde_json::from_str(&text).map_err(|error| format!("{shown} is not JSON: {error}"))?;
        let found = match value.get("agents") {
            Some(Value::Array(agents)) => agents.clone(),
            _ if value.get("id").is_some() => vec![value],
            _ => {
                return Err(format!(
                    "{shown} has neither `agents` nor an `id`; expected a registry.json or an agent.json"
                ));
            }
        };
        for (number, value) in found.iter().enumerate() {
            match RegistryEntry::read(value, &platform()) {
                Ok(entry) if !known.insert(entry.id.clone()) => {
                    mistakes.push(format!("{shown}: the entry `{}` is there twice", entry.id));
                }
                Ok(entry) => entries.push(entry),
                Err(reason) => mistakes.push(format!("{shown}: entry {}: {reason}", number + 1)),
            }
        }
    }
    if entries.is_empty() {
        mistakes.push(format!("no entries found in {}", path.display()));
        return Err(mistakes.join("\n"));
    }
    entries.sort_by(|a, b| a.id.cmp(&b.id));
    Ok((entries, mistakes))
}

/// Returns the files with entries: the file itself, or those of the folders in a folder, or else its index.
fn files(path: &Path) -> Result<Vec<PathBuf>, String> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path().join(ENTRY_FILE)).filter(|file| file.is_file()).collect();
    files.sort();
    let index = path.join(INDEX_FILE);
    match (files.is_empty(), index.is_file()) {
        (true, true) => Ok(vec![index]),
        (true, false) => Err(format!("{} has neither a {INDEX_FILE} nor folders with an {ENTRY_FILE}", path.display())),
        (false, _) => Ok(files),
    }
}
