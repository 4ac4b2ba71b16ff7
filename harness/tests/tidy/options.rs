//! `docs/options.md` lists the commands and options of clap, and README shows a report as the program prints it.

use std::fmt::Write as _;

use acp_conformance::cli::Args;
use clap::{Arg, Command, CommandFactory as _};
use libtest_mimic::Trial;

use super::{read, root};
use crate::kept::kept;

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    trials![
        "tidy/options":
        the_option_reference_is_current,
        the_readme_shows_a_printed_report,
    ]
}

const PAGE: &str = "docs/options.md";

fn the_option_reference_is_current() {
    let mut program = Args::command();
    program.build();
    let mut text =
        "<!-- Made from the command line by `ACP_BLESS=1 cargo test --test it tidy/`. Change the help instead. -->\n\n\
                    # Options\n\n`acp-conformance COMMAND --help` prints the same, with examples.\n"
            .to_owned();
    let commands: Vec<&Command> = program.get_subcommands().filter(|command| command.get_name() != "help").collect();
    text.push('\n');
    for command in &commands {
        let name = command.get_name();
        let _ = writeln!(text, "- [`{name}`](#{name}): {}", about(command));
    }
    commands.iter().for_each(|command| section(&mut text, command));
    text.push_str("\n## Every command\n");
    table(&mut text, program.get_arguments().filter(|arg| arg.is_global_set()));
    let _ = write!(text, "\n## Exit codes\n\n```text\n{}\n```\n", plain(program.get_after_help()).trim());
    kept(&root().join(PAGE), &text).unwrap_or_else(|problem| panic!("{problem}"));
}

/// Describes a command, or each of its subcommands: only `certify` has some.
fn section(text: &mut String, command: &Command) {
    let _ = write!(text, "\n## {}\n\n{}.\n", command.get_name(), about(command));
    let subcommands: Vec<&Command> = command.get_subcommands().filter(|one| one.get_name() != "help").collect();
    if subcommands.is_empty() {
        groups(text, command);
    }
    for one in subcommands {
        let _ = write!(text, "\n### {} {}\n\n{}.\n", command.get_name(), one.get_name(), about(one));
        groups(text, one);
    }
}

/// Writes a table for each group of options, in the order of the help.
fn groups(text: &mut String, command: &Command) {
    let mut headings: Vec<Option<&str>> = Vec::new();
    for heading in own(command).map(Arg::get_help_heading) {
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for heading in headings {
        let _ = heading.map_or(Ok(()), |heading| write!(text, "\n**{heading}**\n"));
        table(text, own(command).filter(|arg| arg.get_help_heading() == heading));
    }
}

/// Returns the arguments that not every command has.
fn own(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_global_set())
}

fn table<'c>(text: &mut String, args: impl Iterator<Item = &'c Arg>) {
    text.push_str("\n| option | meaning |\n|---|---|\n");
    for arg in args.filter(|arg| !arg.is_hide_set() && arg.get_id() != "help") {
        let _ = writeln!(
            text,
            "| {} | {}{} |",
            name(arg),
            cell(&plain(arg.get_long_help().or(arg.get_help()))),
            values(arg)
        );
    }
}

fn name(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let value = if arg.get_action().takes_values() { names.as_str() } else { "" };
    let flags = [arg.get_short().map(|short| format!("-{short}")), arg.get_long().map(|long| format!("--{long}"))];
    let flags: Vec<String> = flags.into_iter().flatten().collect();
    let shown = [flags.join(", "), value.to_owned()].join(" ");
    format!("`{}`", cell(shown.trim()))
}

/// Returns the default and the possible values of an option, as far as clap shows them.
fn values(arg: &Arg) -> String {
    let shown = arg.get_action().takes_values() && !arg.is_hide_possible_values_set();
    let values: Vec<String> =
        arg.get_possible_values().iter().filter(|_| shown).map(|value| format!("`{}`", value.get_name())).collect();
    let values = if values.is_empty() { String::new() } else { format!(" [{}]", values.join(", ")) };
    let is_shown = arg.get_action().takes_values() && !arg.is_hide_default_value_set();
    let default = arg.get_default_values().first().filter(|_| is_shown);
    values + &default.map_or_else(String::new, |default| format!(" [default: {}]", default.display()))
}

fn about(command: &Command) -> String {
    cell(&plain(command.get_about()))
}

fn plain(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

/// Escapes a text for a table cell of Markdown.
fn cell(text: &str) -> String {
    text.replace("\n\n", ". ").replace('\n', " ").replace('|', "\\|").replace('<', "&lt;")
}

fn the_readme_shows_a_printed_report() {
    const BEGIN: &str = "<!-- from snapshots/reports/text.snap -->\n";
    const END: &str = "<!-- end -->\n";
    let readme = read("README.md");
    let report = read("snapshots/reports/text.snap");
    let failure: Vec<&str> =
        report.lines().skip_while(|line| !line.starts_with("failed")).take_while(|line| !line.is_empty()).collect();
    assert!(failure.len() > 3, "the report has no failure: {report}");
    let (head, rest) = readme.split_once(BEGIN).expect("README.md has the mark of the report");
    let (_, tail) = rest.split_once(END).expect("README.md has the end of the report");
    let wanted = format!("{head}{BEGIN}```text\n{}\n```\n{END}{tail}", failure.join("\n"));
    kept(&root().join("README.md"), &wanted).unwrap_or_else(|problem| panic!("{problem}"));
    assert!(wanted.lines().count() < 120, "README.md has {} lines; move some to docs/", wanted.lines().count());
}
