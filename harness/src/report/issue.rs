//! One failed requirement as a bug report in Markdown, for the issue tracker of the subject.

use std::io::{self, Write};

use super::broken::examples;
use super::markdown::{fenced, linked};
use super::visible::in_markdown;
use super::words::{count, level, protocol_of, reproduce, subject};
use crate::results::{RequirementReport, RunReport};

/// Writes the bug report; the first line is its title.
pub fn write_issue(report: &RunReport, requirement: &RequirementReport, out: &mut dyn Write) -> io::Result<()> {
    let all = examples(requirement);
    let party = report.subject.kind;
    writeln!(out, "# {}\n", in_markdown(&requirement.text))?;
    let against = in_markdown(&protocol_of(&report.suite));
    let (name, level) = (in_markdown(&subject(report)), level(requirement.level));
    writeln!(
        out,
        "{name} does not satisfy a {level} of the Agent Client Protocol ({against}): {}.\n",
        linked(requirement)
    )?;
    if let Some(first) = all.first() {
        writeln!(out, "**Case:** {}\n", in_markdown(&first.finding.case_name()))?;
        writeln!(out, "**Found:** {}\n", in_markdown(&first.finding.text))?;
        let lines: Vec<&str> = first.finding.stderr_first().map(String::as_str).collect();
        if !lines.is_empty() {
            writeln!(out, "The messages that prove it, as sent:\n\n{}\n", fenced("text", &lines.join("\n")))?;
        }
        if let Some(command) = reproduce(&first.finding.case, &first.finding.after, &command(report)) {
            let command = command.trim_start_matches("reproduce: ");
            writeln!(out, "To reproduce it:\n\n{}\n", fenced("sh", command))?;
        }
    }
    for (language, hint) in &requirement.hints {
        writeln!(out, "With the SDK for {}: {}\n", in_markdown(language), in_markdown(hint))?;
    }
    if all.len() > 1 {
        let more = count(all.len() - 1, "more finding shows", "more findings show");
        writeln!(out, "{more} the same.\n")?;
    }
    if let Some(also) = requirement.also() {
        writeln!(out, "The same mistake {}.\n", in_markdown(&also))?;
    }
    let version = in_markdown(&report.suite.version);
    writeln!(out, "Found by acp-conformance {version}, which tested the {party} as its {}.", party.other())?;
    out.flush()
}

/// Returns the command that runs a case of the report again; empty if the subject cannot be started.
fn command(report: &RunReport) -> String {
    let subject = &report.subject;
    if subject.command.is_empty() && subject.profile.is_none() {
        return String::new();
    }
    let edition = &report.suite.edition;
    let protocol = if edition.starts_with("v1@") { String::new() } else { format!(" --protocol {edition}") };
    let profile = subject.profile.as_ref().map(|profile| format!(" --profile {}", shell_words::quote(&profile.name)));
    let is_stdio = report.transport().is_stdio();
    let transport = (!is_stdio).then(|| format!(" --transport {}", report.suite.transport));
    let words =
        if subject.command.is_empty() { String::new() } else { format!(" -- {}", shell_words::join(&subject.command)) };
    let options = [protocol, profile.unwrap_or_default(), transport.unwrap_or_default()].concat();
    format!("acp-conformance {}{options} --case {}{words}", subject.kind, super::CASE_PLACE)
}
