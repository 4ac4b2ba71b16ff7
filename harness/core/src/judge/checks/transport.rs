//! Area `transport`: what the bytes on the stream may be.

use crate::judge::check::{Check, On};
use crate::judge::moment::{LineSeen, Moment};
use crate::judge::ruling::Ruling;
use crate::requirement::Party;
use crate::trace::ProcessEvent;
use crate::wire::{Content, LineEnd};

pub(super) const CHECKS: &[Check] = &[
    Check::agent("transport.utf8.agent", On::Line(utf8)),
    Check::agent("transport.newline-terminated.agent", On::Line(newline_terminated)),
    Check::agent("transport.no-embedded-newline.agent", On::Line(no_embedded_newline)),
    Check::agent("transport.stdout-only-messages", On::Line(only_messages)),
    Check::agent("transport.no-batch.agent", On::Line(no_batch)),
    Check::agent("transport.stderr-utf8", On::Stderr(stderr_utf8)),
    Check::agent("transport.stdio-supported.agent", On::Process(stdio_supported)),
    Check::client("transport.utf8.client", On::Line(utf8)),
    Check::client("transport.newline-terminated.client", On::Line(newline_terminated)),
    Check::client("transport.no-embedded-newline.client", On::Line(no_embedded_newline)),
    Check::client("transport.stdin-only-messages", On::Line(only_messages)),
    Check::client("transport.no-batch.client", On::Line(no_batch)),
];

/// "Messages are … UTF-8 encoded." Pure ASCII shows nothing, so only lines with other characters count.
///
/// Correct but unusual: U+0000 and unassigned characters, which are valid UTF-8, and a last line that was cut off.
fn utf8(_: &Moment<'_>, line: &LineSeen<'_>, ruling: &mut Ruling<'_>) {
    match line.content {
        // What was cut off may have been cut in the middle of a character.
        Content::NotUtf8(_) if !is_whole(line) => {}
        Content::NotUtf8(at) => ruling.fail(format!("byte {at} of the line begins no valid UTF-8 sequence"), &[]),
        _ if !line.bytes.is_ascii() => ruling.pass(),
        _ => {}
    }
}

/// "Messages are delimited by newlines."
///
/// Correct but unusual: CR LF, white space around a message, and a program that was killed between a message and its line feed.
/// A recording does not show what ended the program, and when.
fn newline_terminated(moment: &Moment<'_>, line: &LineSeen<'_>, ruling: &mut Ruling<'_>) {
    match (line.content, line.end) {
        (Content::Several { number, .. }, _) => {
            ruling.fail(format!("{number} JSON values stand in one line"), &[]);
        }
        (Content::Blank, _) | (_, LineEnd::Cut) => {}
        (Content::One { .. }, LineEnd::Eof) if moment.talk.shutting_down.is_some() => {
            let message = format!("the last message has no line feed, and the {} was being stopped", moment.from);
            ruling.inconclusive(message, &[]);
        }
        // Who ended a client, or an agent in a recording, is not known: its user may have, at any moment.
        (Content::One { .. }, LineEnd::Eof) if moment.from == Party::Client || !moment.talk.whole => {
            ruling.inconclusive("the stream ended behind a message without its line feed", &[]);
        }
        (Content::One { .. }, LineEnd::Eof) => {
            ruling.fail("the stream ended behind a message without its line feed", &[])
        }
        (Content::One { .. }, _) => ruling.pass(),
        _ => {}
    }
}

/// "Messages … MUST NOT contain embedded newlines." Shown by a message that has line breaks to escape.
///
/// Correct but unusual: a message that was cut off when the program ended, and a string with a backslash before an `n`, such as
/// a path of Windows, which shows nothing.
fn no_embedded_newline(_: &Moment<'_>, line: &LineSeen<'_>, ruling: &mut Ruling<'_>) {
    match line.content {
        Content::NotJson { unfinished: true, .. } if is_whole(line) && begins_a_value(line.bytes) => {
            ruling.fail("the line begins a JSON value and does not end it", &[]);
        }
        Content::One { .. } if has_escaped_newline(line.bytes) => ruling.pass(),
        _ => {}
    }
}

/// Whether JSON text has an escaped line feed. The second of two backslashes escapes nothing.
fn has_escaped_newline(bytes: &[u8]) -> bool {
    let mut bytes = bytes.iter();
    while bytes.any(|byte| *byte == b'\\') {
        if bytes.next() == Some(&b'n') {
            return true;
        }
    }
    false
}

/// Whether the line was ended by its sender; otherwise its rest was lost, or has not come yet.
fn is_whole(line: &LineSeen<'_>) -> bool {
    matches!(line.end, LineEnd::Lf | LineEnd::CrLf)
}

/// Whether an unfinished line looks like the first line of a list or an object that goes on in the next line.
fn begins_a_value(bytes: &[u8]) -> bool {
    matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// "The agent MUST NOT write anything to its stdout that is not a valid ACP message", and the client nothing else to
/// the agent's stdin.
///
/// Correct but unusual: a message with white space around it, of any depth and size, or cut off when the program ended. Lists
/// and objects that are not messages have requirements of their own.
fn only_messages(_: &Moment<'_>, line: &LineSeen<'_>, ruling: &mut Ruling<'_>) {
    match line.content {
        Content::One { value, .. } if value.is_object() || value.is_array() => ruling.pass(),
        Content::One { .. } => ruling.fail("the line is a bare JSON value", &[]),
        Content::Blank => ruling.fail("an empty line stands on the stream", &[]),
        Content::NotJson { unfinished: true, .. } if begins_a_value(line.bytes) => {}
        Content::NotJson { why, .. } => ruling.fail(format!("the line is no JSON: {why}"), &[]),
        Content::NotUtf8(_) | Content::Several { .. } => {}
    }
}

/// v1 knows no batches: "individual JSON-RPC requests, notifications, or responses."
///
/// Correct but unusual: many messages at once, each on its own line. Lists inside a message are free.
fn no_batch(_: &Moment<'_>, line: &LineSeen<'_>, ruling: &mut Ruling<'_>) {
    match line.content {
        Content::One { value, .. } if value.is_array() => ruling.fail("the line holds a JSON array", &[]),
        Content::One { .. } => ruling.pass(),
        _ => {}
    }
}

/// "The agent MAY write UTF-8 strings to its standard error." What is seen may be a piece that was cut anywhere.
fn stderr_utf8(_: &Moment<'_>, bytes: &[u8], ruling: &mut Ruling<'_>) {
    let begun = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
    let good = std::str::from_utf8(&bytes[begun..]).map_or_else(|error| error.error_len().is_none(), |_| true);
    ruling.decide(good, || "bytes on stderr are no UTF-8".to_owned());
}

/// "Agents and clients SHOULD support stdio whenever possible": shown by a handshake over it.
fn stdio_supported(moment: &Moment<'_>, process: &ProcessEvent, ruling: &mut Ruling<'_>) {
    if matches!(process, ProcessEvent::StdoutEnded) && moment.talk.initialized.is_some() {
        ruling.pass();
    }
}
