//! `explain`: the page of one requirement.

use std::io::Write;

use anyhow::bail;

use super::args::ExplainArgs;
use super::exit::Exit;
use super::output::stdout;
use crate::diagnostic::nearest;
use crate::report::explain;
use crate::requirement::Catalogue;

/// Runs the command.
pub(super) fn run(args: &ExplainArgs) -> anyhow::Result<Exit> {
    let catalogue = Catalogue::v1();
    let Some(requirement) = catalogue.find(&args.requirement) else {
        let halves: Vec<&str> =
            catalogue.iter().map(|r| r.id.as_str()).filter(|id| id.starts_with(&args.requirement)).take(8).collect();
        match (halves.is_empty(), nearest(&args.requirement, catalogue.iter().map(|r| r.id.as_str()))) {
            (false, _) => {
                bail!("there is no requirement `{}`; some begin with it: {}", args.requirement, halves.join(", "))
            }
            (true, Some(near)) => bail!("there is no requirement `{}`; did you mean `{near}`?", args.requirement),
            (true, None) => bail!(
                "there is no requirement `{}`; `acp-conformance list --requirements` shows them",
                args.requirement
            ),
        }
    };
    write!(stdout(), "{}", explain(requirement))?;
    Ok(Exit::Good)
}
