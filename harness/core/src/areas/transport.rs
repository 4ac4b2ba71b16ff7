//! Area `transport`: the bytes and lines on the streams.

pub(super) mod delivery;
mod state;

pub use self::state::State;
use crate::areas::{Check, CheckContext, On, of_both};
use crate::conversation::LineSeen;
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;
use crate::trace::ProcessEvent;
use crate::wire::{Content, LineEnd};

pub(super) const CHECKS: &[Check] = &[
    Check::agent("transport.stdout-only-messages", On::Line(only_messages)),
    Check::client("transport.stdin-only-messages", On::Line(only_messages)),
    Check::agent("transport.stderr-utf8", On::Stderr(stderr_utf8)),
    Check::agent("transport.stdio-supported.agent", On::Process(stdio_supported)),
];

pub(super) const BOTH: &[[Check; 2]] = &[
    Check::both(of_both!("transport.utf8"), On::Line(utf8)),
    Check::both(of_both!("transport.newline-terminated"), On::Line(newline_terminated)),
    Check::both(of_both!("transport.no-embedded-newline"), On::Line(no_embedded_newline)),
    Check::both(of_both!("transport.no-batch"), On::Line(no_batch)),
];

/// "Messages are … UTF-8 encoded." Pure ASCII proves nothing, so only lines with other characters count.
///
/// Correct but unusual: U+0000 and unassigned characters, which are valid UTF-8, and a last line that was cut off.
fn utf8(ctx: &CheckContext<'_>, line: &LineSeen<'_>, ruling: &mut Ruling<'_>) {
    match line.content {
        // The line may have been cut inside a character.
        Content::NotUtf8(_) if !is_whole(line) => {}
        Content::NotUtf8(at) => ruling.fail(fact!(
            "invalid-utf8",
            "the {party} sent a line that is invalid UTF-8 from byte {offset}; expected UTF-8",
            party = ctx.from,
            offset = at
        )),
        // Escapes are the other way to write such a character, and the usual one of some JSON libraries.
        _ if !line.is_ascii || escapes_beyond_ascii(line.bytes) => ruling.pass(),
        _ => {}
    }
}

/// Whether JSON in ASCII escapes a character beyond ASCII.
fn escapes_beyond_ascii(json: &[u8]) -> bool {
    let mut bytes = json.iter();
    while bytes.any(|byte| *byte == b'\\') {
        if bytes.next() == Some(&b'u') {
            let digits: Vec<u8> = bytes.by_ref().take(4).copied().collect();
            let code = std::str::from_utf8(&digits).ok().and_then(|digits| u16::from_str_radix(digits, 16).ok());
            if code.is_some_and(|code| code > 0x7F) {
                return true;
            }
        }
    }
    false
}

/// "Messages are delimited by newlines."
///
/// Correct but unusual: CR LF, white space around a message, and a program that was killed between a message and its
/// line feed. A recording does not contain the cause and the time of the exit.
fn newline_terminated(ctx: &CheckContext<'_>, line: &LineSeen<'_>, ruling: &mut Ruling<'_>) {
    let unterminated =
        || fact!("unterminated", "the {party} ended the stream after a message without a line feed", party = ctx.from);
    match (line.content, line.end) {
        (Content::Several { number, .. }, _) => ruling.fail(fact!(
            "several-values",
            "the {party} sent {count} JSON values in one line; expected one message a line",
            party = ctx.from,
            count = number
        )),
        (Content::Blank, _) | (_, LineEnd::Cut) => {}
        (Content::One { .. }, LineEnd::Eof) if ctx.conversation.shutting_down.is_some() => ruling.inconclusive(fact!(
            "cut-off-at-shutdown",
            "the {party} sent its last message without a line feed while it was being stopped",
            party = ctx.from
        )),
        // The user may have ended a client, or an agent in a recording, at any moment.
        (Content::One { .. }, LineEnd::Eof) if ctx.from == Party::Client || !ctx.conversation.whole => {
            ruling.inconclusive(unterminated());
        }
        (Content::One { .. }, LineEnd::Eof) => ruling.fail(unterminated()),
        (Content::One { .. }, _) => ruling.pass(),
        _ => {}
    }
}

/// "Messages … MUST NOT contain embedded newlines." A message with escaped line breaks exercises this.
///
/// Correct but unusual: a message that was cut off when the program ended, and a string with a backslash before an `n`,
/// such as a path of Windows, which proves nothing.
fn no_embedded_newline(ctx: &CheckContext<'_>, line: &LineSeen<'_>, ruling: &mut Ruling<'_>) {
    match line.content {
        Content::NotJson { unfinished: true, .. } if is_whole(line) && begins_a_value(line.bytes) => {
            ruling.fail(fact!(
                "unfinished-value",
                "the {party} sent a line that begins a JSON value and does not end it; expected a whole message",
                party = ctx.from
            ))
        }
        Content::One { .. } if has_escaped_newline(line.bytes) => ruling.pass(),
        _ => {}
    }
}

/// Whether JSON text contains an escaped line feed. The second of two backslashes does not begin an escape.
fn has_escaped_newline(bytes: &[u8]) -> bool {
    let mut bytes = bytes.iter();
    while bytes.any(|byte| *byte == b'\\') {
        if bytes.next() == Some(&b'n') {
            return true;
        }
    }
    false
}

/// Whether the sender ended the line; otherwise its rest was lost, or has not come yet.
fn is_whole(line: &LineSeen<'_>) -> bool {
    matches!(line.end, LineEnd::Lf | LineEnd::CrLf)
}

/// Whether an unfinished line looks like the first line of a list or an object that continues in the next line.
fn begins_a_value(bytes: &[u8]) -> bool {
    matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// "The agent MUST NOT write anything to its stdout that is not a valid ACP message", and the client must write only
/// messages to the agent's stdin.
///
/// Correct but unusual: a message with white space around it, of any depth and size, or cut off when the program ended.
/// Lists and objects that are not messages have requirements of their own.
fn only_messages(ctx: &CheckContext<'_>, line: &LineSeen<'_>, ruling: &mut Ruling<'_>) {
    match line.content {
        Content::One { value, .. } if value.is_object() || value.is_array() => ruling.pass(),
        Content::One { .. } => ruling.fail(fact!(
            "bare-value",
            "the {party} sent a line with a JSON value that is neither an object nor an array; expected a message",
            party = ctx.from
        )),
        Content::Blank => {
            ruling.fail(fact!("blank-line", "the {party} sent an empty line; expected only messages", party = ctx.from))
        }
        Content::NotJson { unfinished: true, .. } if begins_a_value(line.bytes) => {}
        Content::NotJson { why, .. } => ruling.fail(fact!(
            "not-json",
            "the {party} sent a line that is not JSON: {error}",
            party = ctx.from,
            error = why
        )),
        Content::NotUtf8(_) | Content::Several { .. } => {}
    }
}

/// The protocol has no batches: "individual JSON-RPC requests, notifications, or responses."
///
/// Correct but unusual: many messages at once, each on its own line. Lists inside a message are allowed.
fn no_batch(ctx: &CheckContext<'_>, line: &LineSeen<'_>, ruling: &mut Ruling<'_>) {
    match line.content {
        Content::One { value, .. } if value.is_array() => ruling.fail(fact!(
            "batch",
            "the {party} sent a JSON array; expected single messages, since the protocol has no batches",
            party = ctx.from
        )),
        Content::One { .. } => ruling.pass(),
        _ => {}
    }
}

/// "The agent MAY write UTF-8 strings to its standard error." The trace may contain pieces that were cut anywhere.
fn stderr_utf8(ctx: &CheckContext<'_>, bytes: &[u8], ruling: &mut Ruling<'_>) {
    let begun = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
    let good = std::str::from_utf8(&bytes[begun..]).map_or_else(|error| error.error_len().is_none(), |_| true);
    ruling.decide(good, || {
        fact!("invalid-utf8", "the {party} wrote bytes to standard error that are not UTF-8", party = ctx.from)
    });
}

/// "Agents and clients SHOULD support stdio whenever possible": a handshake over stdio proves it.
fn stdio_supported(ctx: &CheckContext<'_>, process: &ProcessEvent, ruling: &mut Ruling<'_>) {
    if matches!(process, ProcessEvent::StdoutEnded) && ctx.conversation.initialized.is_some() {
        ruling.pass();
    }
}
