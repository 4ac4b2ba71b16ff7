//! Every file of `bad-cases/` has one kind of mistake, which its name describes; its diagnostic is a snapshot.
//!
//! This file also compares the committed JSON Schemas with the generated ones.

use std::path::Path;

use crate::{kept, snap};
use acp_conformance::case::{self, Includes, Vocabulary};
use acp_conformance::diagnostic::{Diagnostic, RenderStyle, render_all};
use acp_conformance::edition::V1;
use acp_conformance::requirement::Party;
use acp_conformance::{expected, profile};
use libtest_mimic::{Failed, Trial};

/// The cases that baselines can name.
const CASES: [&str; 2] = ["v1/agent/init/handshake", "v1/agent/jsonrpc/ids@beyond-ascii"];

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let inputs = root.join("harness/tests/bad-cases");
    let mut files = Vec::new();
    collect(&inputs, &inputs, &mut files);
    files.sort();
    let known: Vec<_> = files.iter().map(|name| snapshot(name)).collect();
    let snapshots = snap::all_used("diagnostics", "diagnostics", known);
    let trials = files.into_iter().map(|name| {
        let inputs = inputs.clone();
        Trial::test(format!("diagnostics/{name}"), move || bad_case(&inputs, &name)).with_kind("bad-case")
    });
    let schemas = [("case", case::schema as fn() -> _), ("expected", expected::schema), ("profile", profile::schema)];
    let schemas = schemas.map(|(name, schema)| {
        let path = root.join(format!("schemas/{name}.schema.json"));
        Trial::test(format!("diagnostics/{name}"), move || {
            Ok(kept::kept(&path, &serde_json::to_string_pretty(&schema())?)?)
        })
        .with_kind("schema")
    });
    trials.chain(schemas).chain([snapshots]).collect()
}

/// Lists the inputs below a folder by their relative path, without the files that they include.
fn collect(root: &Path, folder: &Path, files: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("the folder of bad cases").flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("include") {
            collect(root, &path, files);
        } else if path.is_file() {
            let relative = path.strip_prefix(root).expect("a path below the folder");
            files.push(relative.to_string_lossy().replace('\\', "/"));
        }
    }
}

fn bad_case(inputs: &Path, name: &str) -> Result<(), Failed> {
    let bytes = std::fs::read(inputs.join(name))?;
    let shown = format!("bad-cases/{name}");
    let (refused, problems) = if name.starts_with("expected/") {
        let (entries, mut problems) = expected::load_bytes(&shown, &bytes, Some(Party::Agent), V1.catalogue());
        problems.extend(expected::unknown_cases(entries.as_deref().unwrap_or_default(), &CASES));
        (problems.iter().any(Diagnostic::is_error), problems)
    } else if name.ends_with(".toml") {
        let (profile, problems) = profile::load_bytes(&shown, &bytes, V1.catalogue());
        (profile.is_none(), problems)
    } else {
        let (cases, problems) = case::load_bytes(&shown, &bytes, &Vocabulary::of(V1.edition()), &includes(inputs)?);
        (cases.is_empty(), problems)
    };
    // A warning is shown for a file that works.
    if !refused && problems.is_empty() {
        return Err("the file was taken for a good one".into());
    }
    snap::compare("diagnostics", &snapshot(name), &render_all(&problems, RenderStyle::Plain));
    Ok(())
}

/// Returns the name of the snapshot of an input.
fn snapshot(name: &str) -> String {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).replace('/', "-")
}

/// Returns the embedded includes and those of the bad cases.
fn includes(inputs: &Path) -> std::io::Result<Includes> {
    let mut includes = Includes::of(&V1);
    for entry in std::fs::read_dir(inputs.join("include"))? {
        let path = entry?.path();
        let name = format!("include/{}", path.file_name().unwrap_or_default().to_string_lossy());
        includes.add(&name, &format!("bad-cases/{name}"), &std::fs::read(&path)?);
    }
    Ok(includes)
}
