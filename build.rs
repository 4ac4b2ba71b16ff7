//! Lowers the requirements and the heads of the cases from YAML to JSON, which the program reads faster at each start,
//! and packs the embedded texts and folders to a sixth of their size.
//!
//! The YAML remains the source and is also embedded. Tests of the package compare both forms.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use miniz_oxide::deflate::compress_to_vec;
use serde_json::Value;

/// Packs well enough in a second, since a build does not optimise its scripts.
const LEVEL: u8 = 6;

fn main() -> Result<(), Box<dyn Error>> {
    // The compiler does not notice new files in an embedded folder.
    for folder in ["cases", "schemas", "profiles", "harness/tests/traces"] {
        println!("cargo:rerun-if-changed={folder}");
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for (name, requirements) in files("cases/requirements", "yaml")? {
        pack(&out, &name, &requirements)?;
        pack(&out, &name.replace(".yaml", ".json"), &yaml(&requirements)?.to_string())?;
    }
    for (path, schema) in files("schemas/acp", "json")? {
        pack(&out, &path.replace('/', "-"), &schema)?;
    }
    for version in ["v1", "v2"] {
        let cases = files(&format!("cases/{version}"), "yaml")?;
        pack(&out, &format!("cases-{version}.json"), &serde_json::to_string(&cases)?)?;
        pack(&out, &format!("heads-{version}.json"), &serde_json::to_string(&heads(version, &cases))?)?;
    }
    let folders = [("profiles", "toml"), ("profiles/editors", "txt")];
    for (folder, extension) in folders {
        let name = folder.rsplit('/').next().unwrap_or(folder);
        pack(&out, &format!("{name}.json"), &serde_json::to_string(&files(folder, extension)?)?)?;
    }
    pack(&out, "traces.json", &serde_json::to_string(&files("harness/tests/traces", "txt")?)?)?;
    for (name, schema) in files("schemas", "schema.json")? {
        pack(&out, &name, &schema)?;
    }
    Ok(())
}

/// Writes a packed text for the program, by the name that it has there.
fn pack(out: &Path, name: &str, text: &str) -> std::io::Result<()> {
    fs::write(out.join(format!("{name}.deflate")), compress_to_vec(text.as_bytes(), LEVEL))
}

/// Reads the files with this extension below a folder, by their paths below it.
fn files(folder: &str, extension: &str) -> Result<BTreeMap<String, String>, Box<dyn Error>> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![PathBuf::from(folder)]);
    while let Some(folder_or_below) = folders.pop() {
        for entry in fs::read_dir(folder_or_below)? {
            let path = entry?.path();
            let name = path.strip_prefix(folder)?.to_string_lossy().replace('\\', "/");
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(&format!(".{extension}")) {
                files.insert(name, read(&path)?);
            }
        }
    }
    Ok(files)
}

/// Returns the head of each case, by the path of its file below `cases/`.
fn heads(version: &str, cases: &BTreeMap<String, String>) -> BTreeMap<String, Value> {
    let is_case = |path: &str| !path.split('/').any(|folder| folder == "include");
    let cases = cases.iter().filter(|(path, _)| is_case(path));
    // A test reports files that are not YAML, with the line of the mistake.
    cases.map(|(path, text)| (format!("{version}/{path}"), yaml(&head(text)).unwrap_or_default())).collect()
}

/// Returns the members of a case for a list. The transcript is the largest part of a file, and takes the most time to
/// read.
fn head(text: &str) -> String {
    const SHOWN: [&str; 5] = ["title:", "subject:", "requirements:", "matrix:", "contexts:"];
    let mut is_shown = false;
    let shown = text.split_inclusive('\n').filter(|line| {
        if line.starts_with(|first: char| first.is_ascii_alphabetic()) {
            is_shown = SHOWN.iter().any(|key| line.starts_with(key));
        }
        is_shown
    });
    shown.collect()
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn yaml(text: &str) -> Result<Value, String> {
    serde_saphyr::from_str(text).map_err(|error| error.to_string())
}
