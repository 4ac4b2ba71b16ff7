//! Properties of all inputs. Each module is a target: its `holds` accepts any bytes and panics if a property does not
//! hold.
//!
//! An ordinary test of the main package includes this file by its path, and tests the inputs of `fuzz/corpus/`.

use acp_conformance::diagnostic::{Diagnostic, RenderStyle, render_all};
use acp_conformance::example::conversation::Reader;
use acp_conformance::trace::Trace;

pub mod case;
pub mod expected;
pub mod forms;
pub mod frames;
pub mod judge;
pub mod line;
pub mod model;
pub mod profile;
pub mod record;
pub mod recording;
pub mod redact;
pub mod trace;

/// A property of all inputs.
pub type Holds = fn(&[u8]);

/// Every target by its name.
pub const TARGETS: [(&str, Holds); 12] = [
    ("case", case::holds),
    ("expected", expected::holds),
    ("forms", forms::holds),
    ("frames", frames::holds),
    ("judge", judge::holds),
    ("line", line::holds),
    ("model", model::holds),
    ("profile", profile::holds),
    ("record", record::holds),
    ("recording", recording::holds),
    ("redact", redact::holds),
    ("trace", trace::holds),
];

/// Reads a conversation from any bytes; bytes that are not a line of one are left out.
fn conversation_of(data: &[u8]) -> Trace {
    let text = String::from_utf8_lossy(data);
    let (above, conversation) = text.split_once("\n---\n").unwrap_or(("", &text));
    let mut reader = Reader::new(above);
    for line in conversation.lines() {
        let _ = reader.line(line);
    }
    reader.trace
}

/// Writes the trace as a file.
fn written(trace: &Trace) -> Vec<u8> {
    let mut bytes = Vec::new();
    trace.write(&mut bytes).expect("a vector takes everything");
    bytes
}

/// Checks that a file has a result or an error, and never both, and that every mistake can be rendered.
fn drawn(is_sound: bool, problems: &[Diagnostic]) {
    assert_ne!(is_sound, problems.iter().any(Diagnostic::is_error), "{}", render_all(problems, RenderStyle::Plain));
    let plain = render_all(problems, RenderStyle::Plain);
    assert_eq!(plain.is_empty(), problems.is_empty());
    assert!(!render_all(problems, RenderStyle::Styled).contains('\u{7}'), "a control character of the file is drawn");
}
