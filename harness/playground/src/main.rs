//! Checks a recording in a browser: reads it from standard input, and writes a page about it to standard output.
//!
//! A browser runs this as WebAssembly with the system interface of `page/wasi.js`, so that a recording does not leave the computer.
//! The first argument is the name of the recording; the second, if there is one, the party to report on. A recording that cannot be
//! read is reported on standard error, with exit code 2.

use std::error::Error;
use std::io::{Read, Write, stderr, stdin, stdout};
use std::process::ExitCode;

use acp_conformance::check::page;
use acp_conformance::requirement::Party;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut text = error.to_string();
            let mut source = error.source();
            while let Some(cause) = source {
                text.push_str(&format!(": {cause}"));
                source = cause.source();
            }
            // Without standard error, the exit code must do.
            drop(writeln!(stderr(), "{text}"));
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let name = words.next().ok_or("usage: playground NAME [agent|client] < RECORDING > PAGE")?;
    let party = |word: String| {
        let known = Party::ALL.into_iter().find(|party| party.name() == word);
        known.ok_or_else(|| format!("`{word}` is neither agent nor client"))
    };
    let asked = words.next().map(party).transpose()?;
    let mut bytes = Vec::new();
    stdin().read_to_end(&mut bytes)?;
    stdout().write_all(&page(name, bytes, asked)?)?;
    Ok(())
}
