//! Lowers the requirements and the heads of the cases from YAML to JSON, which the program reads faster at each start, and packs
//! the large texts to a sixth of their size.
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
    for folder in ["cases", "schemas", "profiles"] {
        println!("cargo:rerun-if-changed={folder}");
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for version in ["v1", "v2"] {
        let requirements = read(Path::new(&format!("cases/requirements/{version}.yaml")))?;
        pack(&out, &format!("requirements-{version}.json"), &yaml(&requirements)?.to_string())?;
        pack(&out, &format!("requirements-{version}.yaml"), &requirements)?;
        for kind in ["json", "unstable.json"] {
            let schema = read(Path::new(&format!("schemas/acp/{version}/schema.{kind}")))?;
            pack(&out, &format!("schema-{version}.{kind}"), &schema)?;
        }
        let mut heads = BTreeMap::new();
        add_heads(&Path::new("cases").join(version), &mut heads)?;
        pack(&out, &format!("heads-{version}.json"), &serde_json::to_string(&heads)?)?;
    }
    Ok(())
}

/// Writes a packed text for the program, by the name that it has there.
fn pack(out: &Path, name: &str, text: &str) -> std::io::Result<()> {
    fs::write(out.join(format!("{name}.deflate")), compress_to_vec(text.as_bytes(), LEVEL))
}

/// Adds the head of each case below the folder, by its path below `cases/`.
fn add_heads(folder: &Path, heads: &mut BTreeMap<String, Value>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("include") {
            add_heads(&path, heads)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            let below = path.strip_prefix("cases")?.to_string_lossy().replace('\\', "/");
            // A test reports files that are not YAML, with the line of the mistake.
            heads.insert(below, yaml(&head(&read(&path)?)).unwrap_or_default());
        }
    }
    Ok(())
}

/// Returns the members of a case for a list. The transcript is the largest part of a file, and takes the most time to read.
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
