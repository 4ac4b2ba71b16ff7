//! The person at the terminal: instructions go to standard error, keys come from standard input.

use std::io::IsTerminal;
use std::time::Duration;

use super::output::say;
use crate::manual::{Key, Person};

/// The description of the keys.
pub(super) const KEYS: &str =
    "Enter shows the instruction again; s + Enter skips the case, r + Enter repeats it, q + Enter ends the run.";

/// The time a person has for each instruction.
pub(super) const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// Shows the keys to the person at the terminal. Returns `None` if standard input is not a terminal.
pub(super) fn at_a_terminal(patience: Option<Duration>) -> Option<Person> {
    if !std::io::stdin().is_terminal() {
        return None;
    }
    say(&format!("Some cases show an instruction for you. {KEYS}"));
    Some(at_standard_input(patience.unwrap_or(PATIENCE)))
}

/// Creates the person who types on standard input.
pub(super) fn at_standard_input(patience: Duration) -> Person {
    let (person, keys) = Person::new(patience, say);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            match key(&line) {
                Some(key) => keys.press(key),
                None => say(KEYS),
            }
        }
        // Each case would wait for its time limit for a person who cannot press a key.
        say("standard input has ended, so the run ends; start it in a terminal");
        keys.press(Key::Quit);
    });
    person
}

fn key(line: &str) -> Option<Key> {
    match line.trim() {
        "" => Some(Key::Again),
        "s" => Some(Key::Skip),
        "r" => Some(Key::Repeat),
        "q" => Some(Key::Quit),
        _ => None,
    }
}
