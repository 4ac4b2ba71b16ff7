//! The requirements that decide about a program under a stable edition are frozen in
//! `cases/requirements/*.frozen.txt`, and `docs/not-counted.md` has a reason for each of the others, and
//! `docs/not-counted-v2.md` for version 2. docs/stability.md says when the set may change.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use acp_conformance::edition::{Bundle, V1, V1_OF_2026_11_02, V2};
use acp_conformance::requirement::{Level, Requirement, Status, Transport};
use libtest_mimic::Trial;

use super::{none_of, read, root};
use crate::kept::kept;

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    trials![
        "tidy/frozen":
        the_requirements_that_count_are_frozen,
        each_requirement_that_does_not_count_has_a_reason,
    ]
}

/// The sets of the stable editions. `ACP_BLESS` does not change them, since each change is a decision.
const FROZEN: [(&Bundle, &str); 2] =
    [(&V1, "cases/requirements/v1@2026-11-20.frozen.txt"), (&V1_OF_2026_11_02, "cases/requirements/v1.frozen.txt")];

/// The remark of a requirement that has no check yet, which says nothing about it.
const NOT_YET: &str = "Not checked yet.";

fn the_requirements_that_count_are_frozen() {
    for (edition, file) in FROZEN {
        let text = read(file);
        let frozen: BTreeSet<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        // The other transports are drafts.
        let is_stable = |it: &&Requirement| it.applies_when.condition.is_possible_over(Transport::Stdio);
        let checked = edition.catalogue().iter().filter(|it| it.status == Status::Checked).filter(is_stable);
        let counted: Vec<String> = checked.map(line).collect();
        let now: BTreeSet<&str> = counted.iter().map(String::as_str).collect();
        let added = now.difference(&frozen).map(|line| format!("{line}: counts, and is not in the frozen set"));
        let removed = frozen.difference(&now).map(|line| format!("{line}: in the frozen set, and no longer counts"));
        let changes: Vec<String> = added.chain(removed).collect();
        none_of(&format!("changes to the frozen set; docs/stability.md says when {file} may change"), &changes);
    }
}

fn line(requirement: &Requirement) -> String {
    format!("{} {} {}", requirement.id, requirement.party, requirement.level.name())
}

fn each_requirement_that_does_not_count_has_a_reason() {
    for (edition, file) in [(&V1, "docs/not-counted.md"), (&V2, "docs/not-counted-v2.md")] {
        let others: Vec<&Requirement> = edition.catalogue().iter().filter(|it| it.status != Status::Checked).collect();
        let without = others.iter().filter(|it| needs_remark(it)).map(|it| format!("{}: needs a `remark`", it.id));
        none_of("requirements that do not count, without a reason", &without.collect::<Vec<_>>());
        let text = page(edition, &others);
        kept(&root().join(file), &text).unwrap_or_else(|problem| panic!("{problem}"));
    }
}

/// Whether a reason is missing, or does not suffice for a requirement that a program must satisfy.
fn needs_remark(requirement: &Requirement) -> bool {
    let reason = reason(requirement);
    reason.is_empty() || requirement.level == Level::Must && reason == NOT_YET
}

/// Returns why a requirement decides nothing.
fn reason(requirement: &Requirement) -> String {
    match (requirement.status, &requirement.remark) {
        (_, Some(remark)) => remark.clone(),
        (Status::Human, None) => format!("Only a person can decide it. {}", requirement.how),
        (Status::Probe, None) => format!("The specification leaves it open: {}", requirement.source),
        (Status::Checked | Status::Planned, None) => String::new(),
    }
}

fn page(edition: &'static Bundle, others: &[&Requirement]) -> String {
    let mut text = format!(
        "# Requirements that do not count\n\n\
         <!-- Made from cases/ by `ACP_BLESS=1 cargo test --test it tidy/`. Change the catalogue instead. -->\n\n\
         The edition `{}` has {} requirements; {} of them never fail a program. This page has the reason for each.\n\
         [Stability](stability.md) says what that means for the versions of acp-conformance.\n",
        edition.name(),
        edition.catalogue().iter().count(),
        others.len()
    );
    let unchecked = match edition.is_draft() {
        true => "No program can decide them, only by guesses, or not yet.",
        false => "No program can decide them, or only by guesses.",
    };
    let groups = [
        (Status::Planned, "Not checked", unchecked),
        (Status::Human, "For a person", "They are about what a user sees, or about how a program is made."),
        (Status::Probe, "Left open by the specification", "A run records what happens, and fails nothing."),
    ];
    for (status, title, what) in groups {
        let _ = write!(text, "\n## {title}\n\n{what}\n\n| requirement | binds | reason |\n|---|---|---|\n");
        for requirement in others.iter().filter(|it| it.status == status) {
            let cell = reason(requirement).replace('|', "\\|");
            let Requirement { id, party, .. } = requirement;
            let _ = writeln!(text, "| `{id}` | {party} | {cell} |");
        }
    }
    text
}
