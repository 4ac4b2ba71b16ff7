//! The formats, their gaps, and how the beginning of a file identifies them.

use serde_json::Value;

use super::har::{self, is_har};
use super::import;
use super::problem::RecordingProblem;
use crate::trace::Lack;
use crate::wire::{Content, Envelope, read_line};

/// The format of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A trace of this program.
    Trace,
    /// One message per line, of both parties mixed.
    Ndjson,
    /// Lines of both parties, each after an arrow, as `sacp-tee` writes them.
    Tee,
    /// The trace of the conductor of the Rust SDK.
    Conductor,
    /// The list that Zed's log view copies.
    Zed,
    /// The export of acp-devtools.
    Devtools,
    /// A HAR of HTTP or WebSocket.
    Har,
}

const WHAT_CAN_BE_READ: &str = "What can be read: a trace of this program, messages of JSON-RPC a line (such as `acpx --format \
                                json` prints), the log of sacp-tee, a trace of the SDK's conductor (--trace), an export \
                                of acp-devtools, what Zed's log view copies, and a HAR of HTTP or WebSocket. See docs/recordings.md.";

impl Format {
    /// Every format.
    pub const ALL: [Self; 7] =
        [Self::Trace, Self::Ndjson, Self::Tee, Self::Conductor, Self::Zed, Self::Devtools, Self::Har];

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Ndjson => "ndjson",
            Self::Tee => "sacp-tee",
            Self::Conductor => "conductor",
            Self::Zed => "zed",
            Self::Devtools => "acp-devtools",
            Self::Har => "har",
        }
    }

    /// Returns the gaps of a recording in this format.
    pub fn lacks(self) -> Vec<Lack> {
        match self {
            Self::Trace => Vec::new(),
            Self::Ndjson => vec![Lack::Bytes, Lack::Times, Lack::Processes, Lack::Replays],
            Self::Tee => vec![Lack::Ends, Lack::Times, Lack::Processes],
            // Notifications may overtake answers on their way through the conductor.
            Self::Conductor => vec![Lack::Bytes, Lack::Processes, Lack::Order],
            Self::Zed => vec![Lack::Bytes, Lack::Times, Lack::Processes],
            Self::Devtools => vec![Lack::Bytes, Lack::Processes],
            // Those of HTTP; a WebSocket has times and an order.
            Self::Har => har::GAPS_OF_HTTP.to_vec(),
        }
    }

    /// Detects the format of a recording by its beginning.
    ///
    /// # Errors
    ///
    /// It is empty, is not text, or has no known format.
    pub fn detect(beginning: &[u8]) -> Result<Self, RecordingProblem> {
        let text = text(beginning)?;
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        if first.starts_with(import::TO_AGENT) || first.starts_with(import::TO_CLIENT) {
            return Ok(Self::Tee);
        }
        if text.trim_start().starts_with('[') {
            return if text.contains("\"_direction\"") || text.trim_start()[1..].trim_start().starts_with(']') {
                Ok(Self::Zed)
            } else {
                Err(RecordingProblem::of_all(
                    "it is a JSON list, and none that Zed's log view copies",
                    WHAT_CAN_BE_READ,
                ))
            };
        }
        if is_har(text) {
            return Ok(Self::Har);
        }
        if is_devtools_export(text) {
            return Ok(Self::Devtools);
        }
        if is_report(text) {
            let what = "it is a report of acp-conformance, not a recording";
            let remedy = "Keep the traces of a run with `--trace-dir DIR`, and check those.";
            return Err(RecordingProblem::of_all(what, remedy));
        }
        if first.starts_with("=== Conductor Debug Log ===") {
            let what = "it is the debug log of the conductor, which does not keep the order of the lines";
            return Err(RecordingProblem::of_all(what, "Record with `--trace FILE` instead of `--debug`."));
        }
        let number = 1 + text.lines().take_while(|line| line.trim().is_empty()).count();
        // The first line may be longer than the part that was read, but no tool starts with such a line.
        match read_line(first.as_bytes()) {
            Content::One { value, .. } => Self::of_line(number, &value),
            Content::NotJson { unfinished: true, .. } if text.lines().nth(number).is_some() => {
                let remedy = "Write each message in one line, for example with `jq -c .`.";
                Err(RecordingProblem::at(number, "a message begins here and continues in the next line", remedy))
            }
            Content::NotJson { unfinished: true, .. } => Err(RecordingProblem::cut_off(number)),
            _ => Err(RecordingProblem::at(number, "this is neither JSON nor a log that is known", WHAT_CAN_BE_READ)),
        }
    }

    fn of_line(number: usize, value: &Value) -> Result<Self, RecordingProblem> {
        let has = |names: &[&str]| names.iter().all(|name| value.get(name).is_some());
        if has(&["format"]) && !has(&["method"]) {
            Ok(Self::Trace)
        } else if has(&["type", "ts", "from", "to"]) {
            Ok(Self::Conductor)
        } else if has(&["timestamp", "direction", "message"]) {
            let what =
                "it is a log of `sacp-tee --json`, in which errors look like results and both directions like one";
            Err(RecordingProblem::of_all(what, "Record without `--json`."))
        } else if matches!(Envelope::of(value), Envelope::Unclear) {
            Err(RecordingProblem::at(number, "this is JSON, but not a message of the protocol", WHAT_CAN_BE_READ))
        } else {
            Ok(Self::Ndjson)
        }
    }
}

/// Whether the members before the messages are those of an export of acp-devtools.
fn is_devtools_export(text: &str) -> bool {
    let head = text.split_once("\"messages\"").map_or("", |(head, _)| head);
    head.trim_start().starts_with('{') && ["\"exportedAt\"", "\"acp-devtools\""].iter().all(|mark| head.contains(mark))
}

/// Whether the beginning of a file is that of our own report in JSON.
fn is_report(beginning: &str) -> bool {
    let format = beginning.trim_start().strip_prefix('{').and_then(|text| text.trim_start().strip_prefix("\"format\""));
    let name = format.and_then(|text| text.trim_start().strip_prefix(':'));
    name.is_some_and(|text| text.trim_start().starts_with("\"acp-conformance-report/"))
}

/// Returns the beginning as text, without a character that was cut at its end.
fn text(beginning: &[u8]) -> Result<&str, RecordingProblem> {
    let packed = |how: &str| RecordingProblem::of_all(format!("it is packed ({how})"), "Unpack it first.");
    let unpacked = match beginning {
        [0x1f, 0x8b, ..] => Err(packed("gzip")),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Err(packed("zstd")),
        [b'P', b'K', 3, 4, ..] => Err(packed("zip")),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            Err(RecordingProblem::of_all("it is UTF-16", "Save it as UTF-8; PowerShell writes UTF-16 with `>`."))
        }
        other => Ok(other),
    }?;
    if unpacked.iter().all(u8::is_ascii_whitespace) {
        let remedy = "Did the tool stop before the first message, or does it write to another file?";
        return Err(RecordingProblem::of_all("it is empty", remedy));
    }
    let text = match std::str::from_utf8(unpacked) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&unpacked[..error.valid_up_to()]).ok(),
        // The output of an agent may contain any bytes, and has an arrow before it.
        Err(error) if unpacked.starts_with(import::TO_AGENT.as_bytes()) || error.valid_up_to() > 0 => {
            std::str::from_utf8(&unpacked[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    };
    text.filter(|text| !text.contains('\0')).ok_or_else(|| RecordingProblem::of_all("it is not text", WHAT_CAN_BE_READ))
}
