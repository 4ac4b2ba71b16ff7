//! Prints requirements on a terminal. The stream drops styles if they are not wanted.

use std::fmt::Write;

use anstyle::Style;

use super::entry::{Entry, Item, Section, Sources, level};
use crate::case::Case;
use crate::requirement::{Party, Requirement};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Returns the entry of one requirement.
pub fn show(entry: &Entry<'_>) -> String {
    let requirement = entry.requirement;
    let mut text = format!("{BOLD}{}{BOLD:#}\n\n{}\n\n", requirement.id, requirement.text);
    let source = ("source", entry.link.clone().unwrap_or_else(|| requirement.source.clone()));
    for (name, value) in entry.facts.iter().chain([&source]) {
        let _ = writeln!(text, "  {name:<8} {value}");
    }
    add_parts(&mut text, &entry.parts);
    text
}

/// Returns the title, the requirements and the script of a case.
pub fn show_case(sources: &Sources, case: &Case) -> String {
    let mut text = format!("{BOLD}{}{BOLD:#}\n\n{}\n", case.id, case.title);
    add_parts(&mut text, &sources.case_parts(case));
    text
}

fn add_parts(text: &mut String, parts: &[(&'static str, Section)]) {
    for (title, part) in parts {
        let _ = writeln!(text, "\n{title}");
        match part {
            Section::Sentences(sentences) => drop(writeln!(text, "  {sentences}")),
            Section::Command(command) => drop(writeln!(text, "  {command}")),
            Section::Files(items) => text.push_str(&files(items)),
            Section::Lines(lines) => {
                for line in lines {
                    let _ = writeln!(text, "  {line}");
                }
            }
        }
    }
}

fn files(items: &[Item]) -> String {
    let width = items.iter().map(|item| item.id.len()).max().unwrap_or_default();
    items.iter().map(|Item { id, title, .. }| format!("  {id:<width$}  {DIM}{title}{DIM:#}\n")).collect()
}

/// Lists requirements, one per line, those of agents first.
pub fn list(requirements: &[&Requirement]) -> String {
    let width = requirements.iter().map(|requirement| requirement.id.len()).max().unwrap_or_default();
    let mut text = String::new();
    for party in Party::ALL {
        let own: Vec<_> = requirements.iter().filter(|requirement| requirement.party == party).collect();
        if own.is_empty() {
            continue;
        }
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{gap}{BOLD}Requirements for {}s{BOLD:#}", party.name());
        for requirement in own {
            let Requirement { id, status, text: asks, .. } = requirement;
            let (level, status) = (level(requirement.level), status.name());
            let _ = writeln!(text, "  {id:<width$}  {level:<6} {status:<7}  {DIM}{asks}{DIM:#}");
        }
    }
    text
}
