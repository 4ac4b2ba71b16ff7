//! The two walks over a trace: one that learns which texts there are, and one that replaces them.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use super::cipher::{Cipher, Key, Lexicon};
use super::line::{Part, walk};
use super::literal::Literal;
use super::place::{self, Fate, Setting};
use super::speech::{PIECE, Speech};
use super::words;
use crate::requirement::Party;
use crate::trace::{Event, ProcessEvent, Trace, What};
use crate::wire::{Content, Envelope, RpcId, read_line};

/// A trace without what somebody said, and what could not even be replaced.
#[derive(Debug)]
pub struct Redacted {
    /// The trace.
    pub trace: Trace,
    /// How many sentences about the steps of the case were cut before what they quote.
    pub cut: usize,
}

/// Replaces what was said in a trace; see the head of this module.
#[must_use]
pub fn redact(trace: &Trace, key: Key) -> Redacted {
    let mut reader = Reader::default();
    trace.events.iter().for_each(|event| reader.read(event));
    let mut writer = reader.close(key);
    let mut redacted = trace.clone();
    for event in &mut redacted.events {
        writer.replace(event);
    }
    for (position, word) in redacted.header.command.iter_mut().enumerate() {
        *word = writer.argument(position, word);
    }
    Redacted { trace: redacted, cut: writer.cut }
}

/// The first walk.
#[derive(Default)]
struct Reader {
    lexicon: Lexicon,
    speech: Speech,
    settings: Settings,
}

impl Reader {
    fn read(&mut self, event: &Event) {
        let (bytes, from) = match &event.what {
            What::Line { bytes, from, .. } => (bytes, Some(*from)),
            What::Unattributed(bytes) => (bytes, None),
            What::Stderr(bytes) | What::Stdout(bytes) => {
                return self.lexicon.learn(&String::from_utf8_lossy(bytes));
            }
            What::Process(ProcessEvent::AgentStarted { cwd, .. }) => return self.lexicon.learn(cwd),
            What::Process(_) | What::Step(_) => return,
        };
        let message = message(bytes);
        if let Some(Envelope::Call(call)) = message.as_ref().map(Envelope::of) {
            self.lexicon.learn_id(call.method);
        }
        let is_piece = message.as_ref().is_some_and(|message| self.speech.hear(event, message));
        let setting = self.settings.next(event.connection, from, message.as_ref());
        if !is_json(bytes) {
            return self.lexicon.learn(&String::from_utf8_lossy(bytes));
        }
        walk(bytes, |range, part| {
            let Part::Value(members) = part else { return };
            let text = Literal::read(&bytes[range], true).text();
            match place::of_value(members, &text, setting) {
                Fate::Stays | Fate::Media => {}
                Fate::Id if place::looks_like_an_id(&text) => self.lexicon.learn_id(&text),
                _ if is_piece && members == PIECE => {}
                _ => self.lexicon.learn(&text),
            }
        });
    }

    fn close(mut self, key: Key) -> Writer {
        self.speech.texts.iter().for_each(|text| self.lexicon.learn(text));
        let mut cipher = self.lexicon.close(key);
        let spoken = self.speech.texts.iter().map(|text| cipher.text(text, &words::in_a_report(text))).collect();
        Writer { cipher, speech: self.speech, spoken, settings: Settings::default(), cut: 0 }
    }
}

/// The second walk.
struct Writer {
    cipher: Cipher,
    speech: Speech,
    /// The streams as they become.
    spoken: Vec<String>,
    settings: Settings,
    cut: usize,
}

impl Writer {
    fn replace(&mut self, event: &mut Event) {
        let (n, connection) = (event.n, event.connection);
        match &mut event.what {
            What::Line { bytes, from, .. } => {
                let setting = self.settings.next(connection, Some(*from), message(bytes).as_ref());
                *bytes = self.line(n, bytes, setting);
            }
            What::Unattributed(bytes) => {
                let setting = self.settings.next(connection, None, message(bytes).as_ref());
                *bytes = self.line(n, bytes, setting);
            }
            What::Stderr(bytes) | What::Stdout(bytes) => *bytes = self.print(bytes),
            What::Process(process) => self.process(process),
            What::Step(step) => {
                for text in [&mut step.expected, &mut step.seen] {
                    let kept = before_quotes(text);
                    if kept < text.len() {
                        text.truncate(kept);
                        text.push('…');
                        self.cut += 1;
                    }
                }
            }
        }
    }

    fn line(&mut self, n: usize, bytes: &[u8], setting: Setting) -> Vec<u8> {
        if !is_json(bytes) {
            return self.print(bytes);
        }
        let mut out = Vec::with_capacity(bytes.len());
        walk(bytes, |range, part| {
            let inside = &bytes[range];
            match part {
                Part::Outside => self.outside(inside, &mut out),
                Part::Key(around) => {
                    let literal = Literal::read(inside, true);
                    let name = literal.text();
                    let new = if place::is_name(&name, around, setting) { name } else { self.cipher.text(&name, &[]) };
                    literal.spell(&new, &mut out);
                }
                Part::Value(members) => {
                    let literal = Literal::read(inside, true);
                    let new = self.value(n, members, literal.text(), setting);
                    literal.spell(&new, &mut out);
                }
            }
        });
        out
    }

    fn value(&mut self, n: usize, members: &[String], text: String, setting: Setting) -> String {
        if members == PIECE
            && let Some((stream, part)) = self.speech.piece(n, &text)
        {
            return self.spoken[stream][part].to_owned();
        }
        let shown = match place::of_value(members, &text, setting) {
            Fate::Stays => return text,
            Fate::Id if place::looks_like_an_id(&text) => return text,
            Fate::Media => return self.media(&text),
            Fate::Url => place::shown_of_url(&text),
            Fate::Error => words::in_an_error(&text),
            Fate::Report => words::in_a_report(&text),
            Fate::Id | Fate::Text => Vec::new(),
        };
        self.cipher.text(&text, &shown)
    }

    /// Base64 stays base64 of the same length, with the few characters that tell the format; what is none stays none.
    fn media(&mut self, text: &str) -> String {
        let config = GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true);
        let is_base64 = GeneralPurpose::new(&base64::alphabet::STANDARD, config).decode(text).is_ok();
        match text.split_at_checked(place::MAGIC).filter(|_| is_base64) {
            Some((magic, rest)) if text.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                magic.to_owned() + &self.cipher.whole(rest).replace(|c: char| !c.is_ascii_digit(), "c")
            }
            Some((magic, rest)) => magic.to_owned() + &self.cipher.whole(rest),
            None => self.cipher.text(text, &[]),
        }
    }

    /// What stands outside of strings: marks, numbers and the three words of JSON, and whatever else there is.
    fn outside(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let is_mark = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"+-.".contains(byte);
        for piece in bytes.split_inclusive(is_mark) {
            let mark = piece.last().is_some_and(is_mark);
            let (word, end) = piece.split_at(piece.len() - usize::from(mark));
            let is_json = word.is_empty() || serde_json::from_slice::<serde::de::IgnoredAny>(word).is_ok();
            out.extend(if is_json { word.to_owned() } else { self.print(word) });
            out.extend_from_slice(end);
        }
    }

    /// Something that is no JSON.
    fn print(&mut self, bytes: &[u8]) -> Vec<u8> {
        let literal = Literal::read(bytes, false);
        let mut out = Vec::with_capacity(bytes.len());
        literal.spell(&self.cipher.text(&literal.text(), &[]), &mut out);
        out
    }

    fn process(&mut self, process: &mut ProcessEvent) {
        match process {
            ProcessEvent::AgentStarted { args, cwd, environment, .. } => {
                for (position, word) in args.iter_mut().enumerate() {
                    *word = self.argument(position + 1, word);
                }
                *cwd = self.cipher.text(cwd, &[]);
                environment.iter_mut().for_each(|name| *name = self.cipher.text(name, &[]));
            }
            ProcessEvent::NotSpawned(why) => *why = self.cipher.text(why, &words::in_an_error(why)),
            _ => {}
        }
    }

    /// A word of a command line: the name of the program stays, and so does the name of an option.
    fn argument(&mut self, position: usize, word: &str) -> String {
        let shown = match word.rfind('/') {
            _ if word.starts_with("--") => 0..word.find('=').unwrap_or(word.len()),
            at if position == 0 => at.map_or(0, |at| at + 1)..word.len(),
            _ => 0..0,
        };
        self.cipher.text(word, &[shown])
    }
}

/// What is known of each line from those before it: the requests of somebody's own methods that are open.
#[derive(Default)]
struct Settings {
    own: HashSet<(usize, Party, RpcId)>,
}

impl Settings {
    fn next(&mut self, connection: usize, from: Option<Party>, message: Option<&Value>) -> Setting {
        let Some(message) = message else { return Setting::default() };
        match Envelope::of(message) {
            Envelope::Call(call) => {
                let is_own = call.method.starts_with('_');
                if let (true, Some(from), Some(id)) = (is_own, from, call.id) {
                    self.own.insert((connection, from, RpcId::new(id)));
                }
                Setting { is_own, is_introduction: call.method == "initialize" }
            }
            Envelope::Response { id: Some(id), result, .. } => Setting {
                is_own: from.is_some_and(|from| self.own.remove(&(connection, from.other(), RpcId::new(id)))),
                is_introduction: result.is_some_and(|result| result.get("protocolVersion").is_some()),
            },
            Envelope::Response { .. } | Envelope::Unclear => Setting::default(),
        }
    }
}

fn message(bytes: &[u8]) -> Option<Value> {
    match read_line(bytes) {
        Content::One { value, .. } => Some(value),
        _ => None,
    }
}

/// Whether a line is meant to be JSON, well made or not.
fn is_json(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().first().is_some_and(|first| b"{[".contains(first)) || message(bytes).is_some()
}

/// How much of a sentence about a step stands before the first thing that it may quote.
fn before_quotes(text: &str) -> usize {
    let marks = ["\"", "`", "{", "[", " /", ":\\"];
    marks.iter().filter_map(|mark| text.find(mark)).min().unwrap_or(text.len())
}
