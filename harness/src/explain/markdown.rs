//! The pages of the site on the requirements of an edition: an index, and one page for each area.

use std::fmt::Write;

use super::entry::{Entry, Item, Section, Sources, areas, level, protocol_option};
use crate::case::on_all_cores;
use crate::edition::Bundle;
use crate::report::visible::in_markdown;
use crate::requirement::{Level, Party, Requirement, Status};

/// A page.
pub struct Page {
    /// Its file name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Returns the addition to a heading that marks the pages of a draft.
pub(super) fn heading(bundle: &Bundle) -> String {
    if bundle.is_draft() { format!(" of {}", bundle.label()) } else { String::new() }
}

/// From the folder of the pages, such as `docs/requirements/v1/`, to the root of the repository.
const UP: &str = "../../../";

const WORDS: &str = "\
A failed *MUST* makes a program not conformant. A failed *SHOULD* is reported. A *probe* covers behaviour that the \
specification leaves open; it never fails.

| status | meaning |
|---|---|
| checked | a program decides it |
| probe | the behaviour is recorded and never fails |
| human | only a person can decide it |
| planned | not checked yet |
";

/// Returns all pages, the index first.
pub fn pages(sources: &Sources) -> Vec<Page> {
    let areas = areas(sources.bundle.catalogue());
    let of_areas = on_all_cores(&areas, |area| Page { name: format!("{area}.md"), text: page(sources, area) });
    [Page { name: "README.md".to_owned(), text: index(sources, &areas) }].into_iter().chain(of_areas).collect()
}

fn index(sources: &Sources, areas: &[&str]) -> String {
    let all: Vec<&Requirement> = sources.bundle.catalogue().iter().collect();
    let bundle = sources.bundle;
    let mut text = format!("# Requirements{}\n\n", heading(bundle));
    if bundle.is_draft() {
        text.push_str(
            "This version of the protocol is not stable yet: its requirements and verdicts may change with each release.\n",
        );
    }
    let _ = writeln!(text, "The requirements of the protocol for agents and clients: {}, in our own words.", all.len());
    let example = if bundle.is_draft() { "state.idle-ends-turn" } else { "cancel.stop-reason" };
    let protocol = protocol_option(bundle);
    let _ = writeln!(
        text,
        "{WORDS}\n`acp-conformance explain{protocol} {example}` shows an entry of these pages on a terminal, \
         `acp-conformance explain{protocol} cancel` lists an area.\n\n## Areas\n"
    );
    text.push_str("| area | agent: MUST | SHOULD | probe | client: MUST | SHOULD | probe | checked |\n");
    text.push_str("|---|--:|--:|--:|--:|--:|--:|--:|\n");
    for area in areas {
        let own: Vec<&Requirement> = all.iter().copied().filter(|r| r.area().name() == *area).collect();
        let _ = writeln!(text, "| [{area}]({area}.md) | {} |", counts(&own));
    }
    let _ = writeln!(text, "| all | {} |\n\n## Status\n", counts(&all));
    text.push_str("| binds | level | checked | probe | human | planned |\n|---|---|--:|--:|--:|--:|\n");
    for (party, level) in Party::ALL.into_iter().flat_map(|party| Level::ALL.map(|level| (party, level))) {
        let of = |status| all.iter().filter(|r| (r.party, r.level, r.status) == (party, level, status)).count();
        let row = Status::ALL.map(|status| of(status).to_string()).join(" | ");
        let _ = writeln!(text, "| {party} | {} | {row} |", super::entry::level(level));
    }
    text
}

/// Returns the cells of a row that counts requirements by party and level.
fn counts(requirements: &[&Requirement]) -> String {
    let of = |party, level| requirements.iter().filter(|r| (r.party, r.level) == (party, level)).count();
    let levels = Party::ALL.into_iter().flat_map(|party| Level::ALL.map(|level| of(party, level)));
    let checked = requirements.iter().filter(|r| r.status == Status::Checked).count();
    levels.chain([checked]).map(|n| n.to_string()).collect::<Vec<_>>().join(" | ")
}

fn page(sources: &Sources, area: &str) -> String {
    let own: Vec<&Requirement> = sources.bundle.catalogue().iter().filter(|r| r.area().name() == area).collect();
    let bundle = sources.bundle;
    let title = format!("# Requirements{}: {area}", heading(bundle));
    let mut text = format!("{title}\n\n[All areas](README.md)\n\n");
    text.push_str("| requirement | binds | level | status |\n|---|---|---|---|\n");
    for requirement in groups(&own).into_iter().flat_map(|(_, group)| group) {
        let Requirement { id, party, status, .. } = requirement;
        let (anchor, level) = (requirement.anchor(), level(requirement.level));
        let _ = writeln!(text, "| [{id}](#{anchor}) | {party} | {level} | {} |", status.name());
    }
    for (title, group) in groups(&own) {
        let _ = writeln!(text, "\n## {title}");
        group.iter().for_each(|requirement| text.push_str(&show(&sources.entry(requirement))));
    }
    text
}

/// Returns the requirements of an area, by party and level.
fn groups<'r>(requirements: &[&'r Requirement]) -> Vec<(String, Vec<&'r Requirement>)> {
    let mut groups = Vec::new();
    for (party, of) in Party::ALL.into_iter().flat_map(|party| Level::ALL.map(|level| (party, level))) {
        let group: Vec<_> = requirements.iter().copied().filter(|r| (r.party, r.level) == (party, of)).collect();
        if !group.is_empty() {
            let whose = if party == Party::Agent { "Agents" } else { "Clients" };
            groups.push((format!("{whose}: {}", level(of)), group));
        }
    }
    groups
}

fn show(entry: &Entry<'_>) -> String {
    let requirement = entry.requirement;
    let mut text = format!("\n### {}\n\n{}\n\n", requirement.id, in_markdown(&requirement.text));
    for (name, value) in &entry.facts {
        let _ = writeln!(text, "- **{name}** {}", in_markdown(value));
    }
    let source = in_markdown(&requirement.source);
    let source = entry.link.as_ref().map_or_else(|| source.clone(), |link| format!("[{source}](<{link}>)"));
    let _ = writeln!(text, "- **source** {source}");
    for (title, part) in &entry.parts {
        match part {
            Section::Sentences(sentences) => drop(writeln!(text, "\n**{title}.** {}", in_markdown(sentences))),
            Section::Command(command) => drop(writeln!(text, "\n```sh\n{command}\n```")),
            Section::Files(items) => drop(writeln!(text, "\n**{title}**\n\n{}", files(items))),
            Section::Lines(lines) => drop(writeln!(text, "\n**{title}**\n\n```text\n{}\n```", lines.join("\n"))),
        }
    }
    text
}

fn files(items: &[Item]) -> String {
    let lines = items.iter().map(|Item { id, title, path }| format!("- [`{id}`]({UP}{path}): {}", in_markdown(title)));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::edition::V1;

    #[test]
    fn every_requirement_of_an_area_has_an_anchor_of_its_own() {
        let requirement = V1.catalogue().find("fs.read.line-and-limit").expect("a requirement");
        assert_eq!(requirement.page(), "fs.md#fsreadline-and-limit");
        let mut seen = BTreeSet::new();
        assert!(V1.catalogue().iter().all(|requirement| seen.insert(requirement.page())));
    }
}
