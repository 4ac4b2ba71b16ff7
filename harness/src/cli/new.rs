//! `new case`: a case file to start from.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::args::{FileKind, NewArgs, NewCaseArgs, NewFile};
use super::exit::ProgramExit;
use super::output::{show, stdout};
use super::plan::told;
use super::schema;
use crate::case::{Includes, Vocabulary, load_bytes};
use crate::diagnostic::{Diagnostic, nearest};
use crate::edition::Bundle;
use crate::explain::areas;
use crate::output_file::write_file;
use crate::plan::{project_file, read_profile};
use crate::requirement::Party;

/// The file of the schema in a folder of cases.
const SCHEMA: &str = "case.schema.json";
/// The folder of the cases without a project.
const CASES: &str = "cases";

/// The steps of a case for agents.
const AGENT: &str = include_str!("new/agent.yaml");
/// The steps of a case for clients.
const CLIENT: &str = include_str!("new/client.yaml");

/// Runs the command.
pub(super) fn run(args: &NewArgs, bundle: &'static Bundle) -> anyhow::Result<ProgramExit> {
    let NewFile::Case(args) = &args.what;
    if bundle.is_draft() {
        bail!(
            "`new case` writes cases for the stable version of the protocol; copy a case of cases/{} instead",
            bundle.case_folder()
        );
    }
    let project = Project::find(bundle)?;
    let party = args.party.or(project.as_ref().map(|project| project.party)).unwrap_or(Party::Agent);
    let project = project.filter(|project| project.party == party);
    let of_project = project.as_ref().and_then(|project| project.cases.clone());
    let folder = args.cases.clone().or_else(|| of_project.clone()).unwrap_or_else(|| CASES.into());
    let requirements = requirements(args, party);
    let area = area(args, &requirements, bundle)?;
    if args.name.is_empty() || !args.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
        bail!("--name {}: use lower-case letters, digits and hyphens", args.name);
    }
    let id = format!("{}/{party}/{area}/{}", bundle.case_folder(), args.name);
    let file = folder.join(format!("{id}.yaml"));
    if file.exists() && !args.force {
        bail!("{} exists; --force replaces it, and --name gives the new case another name", file.display());
    }
    let schema = Schema::of(&folder);
    let text = text(party, args.title.as_deref(), &requirements, &schema.address);
    let shown = file.display().to_string();
    let (_, problems) = load_bytes(&shown, text.as_bytes(), &Vocabulary::of(bundle.edition()), &Includes::of(bundle));
    if problems.iter().any(Diagnostic::is_error) {
        show(&problems);
        bail!("no file was written");
    }
    write(&file, &text)?;
    let mut out = stdout();
    writeln!(out, "Wrote {shown}")?;
    if let Some(path) = schema.missing {
        write(&path, &schema::text(FileKind::Case))?;
        writeln!(out, "Wrote {}, which lets an editor complete and check the case", path.display())?;
    }
    let is_known = project.is_some() && (args.cases.is_none() || args.cases == of_project) && of_project.is_some();
    writeln!(out, "\n{}", next_steps(&folder, &id, party, is_known, &requirements[0]))?;
    Ok(ProgramExit::Good)
}

/// The settings of the project.
struct Project {
    party: Party,
    /// The folder of its cases, relative to the current directory if it is below.
    cases: Option<PathBuf>,
}

impl Project {
    fn find(bundle: &'static Bundle) -> anyhow::Result<Option<Self>> {
        let Some(file) = project_file() else { return Ok(None) };
        let file = file.display().to_string();
        let profile = told(read_profile(&file, bundle)).with_context(|| file.clone())?;
        let here = std::env::current_dir().unwrap_or_default();
        let cases = profile.run.cases.as_deref().map(|cases| {
            let cases = profile.dir.as_ref().map_or_else(|| PathBuf::from(cases), |dir| dir.join(cases));
            cases.strip_prefix(here).map(Path::to_path_buf).unwrap_or(cases)
        });
        Ok(Some(Self { party: profile.kind, cases }))
    }
}

/// Returns the requirements of the case.
fn requirements(args: &NewCaseArgs, party: Party) -> Vec<String> {
    let usual = match party {
        Party::Agent => "prompt.stop-reason",
        Party::Client => "prompt.params",
    };
    if args.requirements.is_empty() { vec![usual.to_owned()] } else { args.requirements.clone() }
}

/// Returns the area of the case, which the catalogue must know.
fn area(args: &NewCaseArgs, requirements: &[String], bundle: &'static Bundle) -> anyhow::Result<String> {
    let of_requirement = || requirements[0].split('.').next().unwrap_or_default().to_owned();
    let area = args.area.clone().unwrap_or_else(of_requirement);
    let known = areas(bundle.catalogue());
    if known.contains(&area.as_str()) {
        return Ok(area);
    }
    let near = nearest(&area, known.iter().copied());
    let help =
        near.map_or_else(|| format!("the areas are {}", known.join(", ")), |near| format!("did you mean `{near}`?"));
    bail!("unknown area `{area}`\nhelp: {help}")
}

/// The schema of cases for editors.
struct Schema {
    /// Its address, from the folder of a case.
    address: String,
    /// Its path, if it must be written.
    missing: Option<PathBuf>,
}

impl Schema {
    /// Finds the schema for a folder of cases: in `schemas/` next to it, as in the repository of this program, or in it.
    fn of(folder: &Path) -> Self {
        let shared = Path::new("schemas").join(SCHEMA);
        let has_shared =
            folder.canonicalize().is_ok_and(|folder| folder.parent().is_some_and(|up| up.join(&shared).is_file()));
        if has_shared {
            return Self { address: format!("../../../../{}", shared.display()), missing: None };
        }
        let own = folder.join(SCHEMA);
        Self { address: format!("../../../{SCHEMA}"), missing: (!own.exists()).then_some(own) }
    }
}

/// Returns the text of the case.
fn text(party: Party, title: Option<&str>, requirements: &[String], schema: &str) -> String {
    let (template, usual) = match party {
        Party::Agent => (AGENT, "The agent answers a prompt"),
        Party::Client => (CLIENT, "The client sends a prompt and shows the reply"),
    };
    // A text in JSON's form is one in YAML, whatever it contains.
    let title = serde_json::Value::from(title.unwrap_or(usual)).to_string();
    template.replace("SCHEMA", schema).replace("TITLE", &title).replace("REQUIREMENTS", &requirements.join(", "))
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder
        .and_then(|()| write_file(path, |out| out.write_all(text.as_bytes())))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn next_steps(folder: &Path, id: &str, party: Party, is_known: bool, requirement: &str) -> String {
    let folder = folder.display().to_string();
    let folder = shell_words::quote(&folder);
    let example = match party {
        Party::Agent => "my-agent --acp",
        Party::Client => "my-client --agent {agent} --dir {cwd} {prompt}",
    };
    let run = if is_known {
        format!("acp-conformance --watch --case {id}")
    } else {
        format!("acp-conformance {party} --watch --cases {folder} --case {id} -- {example}")
    };
    format!("Next: edit it, then\n  acp-conformance lint {folder}\n  {run}\n  acp-conformance explain {requirement}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edition::V1;

    #[test]
    fn templates_are_correct_cases() {
        for party in Party::ALL {
            let args = NewCaseArgs {
                party: Some(party),
                area: None,
                name: "x".to_owned(),
                title: None,
                requirements: Vec::new(),
                cases: None,
                force: false,
            };
            let text = text(party, Some("A \"title\": with # signs"), &requirements(&args, party), SCHEMA);
            let path = format!("v1/{party}/prompt/x.yaml");
            let (cases, problems) =
                load_bytes(&path, text.as_bytes(), &Vocabulary::of(V1.edition()), &Includes::of(&V1));
            assert!(problems.is_empty(), "{problems:?}");
            assert_eq!(cases.len(), 1);
            assert_eq!(cases[0].title, "A \"title\": with # signs");
        }
    }
}
