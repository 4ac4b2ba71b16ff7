//! `completions` and `man`, made from the command line of this program; `--color`.

use std::io::{self, Write};

use anstream::ColorChoice;
use anyhow::Context;
use clap::CommandFactory;

use super::args::{Args, ColorWhen, CompletionsArgs, ManArgs};
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
    io::stdout().write_all(&script)?;
    Ok(ProgramExit::Good)
}

/// Prints the manual page of the program, or writes those of all commands.
pub(super) fn man(args: &ManArgs) -> anyhow::Result<ProgramExit> {
    let command = Args::command();
    let Some(dir) = &args.output else {
        clap_mangen::Man::new(command).render(&mut io::stdout())?;
        return Ok(ProgramExit::Good);
    };
    std::fs::create_dir_all(dir)
        .and_then(|()| clap_mangen::generate_to(command, dir))
        .with_context(|| format!("cannot write to {}", dir.display()))?;
    writeln!(stdout(), "Wrote the manual pages to {}", dir.display())?;
    Ok(ProgramExit::Good)
}
