//! The faults by name, and the lists of faults.

use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::{client::Launch, layer::Layer};

/// One deliberate violation, named after the wrong behaviour.
#[derive(Debug)]
pub struct Fault {
    /// The name on the command line.
    pub name: &'static str,
    /// One line that describes the wrong behaviour.
    pub about: &'static str,
    /// The place where the fault acts.
    pub(super) kind: Kind,
}

/// The place where a fault acts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// Once, before the program starts.
    Start(fn()),
    /// In the bytes of one `read()`.
    Bytes(fn(Vec<u8>) -> Vec<u8>),
    /// At a line of the other side that is not a JSON object; the program ends there.
    EndAtBadInput,
    /// In the start of the client's agent, or of its login.
    Launch(Launch),
    /// In the messages.
    Messages(fn() -> Box<dyn Layer>),
}

/// Reads the name of one of these faults from the command line.
pub(super) fn parser(faults: &'static [Fault]) -> impl TypedValueParser<Value = &'static Fault> {
    let find = move |name: String| faults.iter().find(|fault| fault.name == name).ok_or("unknown fault");
    PossibleValuesParser::new(faults.iter().map(|fault| fault.name)).try_map(find)
}

/// Prints the names, each with its line.
#[expect(clippy::print_stdout, reason = "the list of faults is what the user asked for")]
pub(super) fn print(faults: &[Fault]) {
    faults.iter().for_each(|fault| println!("{:28} {}", fault.name, fault.about));
}
