//! `completions`, made from the command line of this program; `--color`.

use std::io::Write;

use anstream::ColorChoice;
use clap::CommandFactory;

use super::args::{Args, ColorWhen, CompletionsArgs};
use super::exit::ProgramExit;
use super::output::stdout;

/// Applies `--color` to both streams. `Auto` respects `NO_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE`.
pub(super) fn set_color(when: ColorWhen) {
    match when {
        ColorWhen::Auto => ColorChoice::Auto,
        ColorWhen::Always => ColorChoice::Always,
        ColorWhen::Never => ColorChoice::Never,
    }
    .write_global();
}

/// Prints the completions of a shell.
pub(super) fn completions(args: &CompletionsArgs) -> anyhow::Result<ProgramExit> {
    let mut command = Args::command();
    let name = command.get_name().to_owned();
    // clap_complete panics when a write fails, as it does when `head` closes the output.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    stdout().write_all(&script)?;
    Ok(ProgramExit::Good)
}
