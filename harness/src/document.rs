//! Structured files in which every part has a place.
//!
//! A [`Document`] is a JSON value together with the span of each of its parts, read from YAML ([`yaml`]) or TOML
//! ([`toml`]). Its structure is then compared with a JSON Schema ([`shape`]). So every stage can show a mistake at its
//! place in the file.

pub mod shape;
pub mod toml;
pub mod yaml;

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::source::{SourceFile, Span};

/// A value with the places of its parts.
#[derive(Debug, Clone)]
pub struct Document {
    /// The file it was read from.
    pub source: Arc<SourceFile>,
    /// The content of the file.
    pub value: Value,
    spans: HashMap<String, Spans>,
}

/// The place of one part of a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spans {
    /// The value.
    pub value: Span,
    /// The name of the member, if the part is a member of an object.
    pub key: Option<Span>,
}

/// The places of all parts, by JSON pointer.
pub(crate) type SpanMap = HashMap<String, Spans>;

impl Document {
    pub(crate) fn new(source: Arc<SourceFile>, value: Value, spans: SpanMap) -> Self {
        Self { source, value, spans }
    }

    /// Returns the place of the value at a JSON pointer, or of the nearest part around it.
    pub fn span(&self, pointer: &str) -> Span {
        self.nearest(pointer).map_or_else(Span::default, |spans| {
            // A member without a value has only its name to underline.
            if spans.value.start == spans.value.end { spans.key.unwrap_or(spans.value) } else { spans.value }
        })
    }

    /// Returns the place of the name of the member at a JSON pointer, or else of its value.
    pub fn key_span(&self, pointer: &str) -> Span {
        self.nearest(pointer).map_or_else(Span::default, |spans| spans.key.unwrap_or(spans.value))
    }

    /// Creates an error at the value of a pointer.
    pub fn error(&self, code: &'static str, pointer: &str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, &self.source, self.span(pointer), message)
    }

    /// Creates an error at the name of the member of a pointer.
    pub fn key_error(&self, code: &'static str, pointer: &str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, &self.source, self.key_span(pointer), message)
    }

    /// Returns the places of exactly this part.
    pub(crate) fn spans_at(&self, pointer: &str) -> Option<Spans> {
        self.spans.get(pointer).copied()
    }

    fn nearest(&self, pointer: &str) -> Option<Spans> {
        let mut pointer = pointer;
        loop {
            if let Some(spans) = self.spans.get(pointer) {
                return Some(*spans);
            }
            pointer = &pointer[..pointer.rfind('/')?];
        }
    }
}

/// Decodes the bytes of a file. The text must not begin with a byte order mark.
///
/// # Errors
///
/// A diagnostic at the first byte that is not UTF-8, or for the byte order mark.
pub fn decode(path: &str, bytes: &[u8]) -> Result<Arc<SourceFile>, Box<Diagnostic>> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = error.valid_up_to();
            let source = Arc::new(SourceFile::new(path, String::from_utf8_lossy(bytes)));
            let message = "the file is not UTF-8";
            let diagnostic = Diagnostic::error("file::not-utf8", &source, Span::new(at, at), message)
                .label(format!("the byte 0x{:02X} begins no character", bytes[at]))
                .help("save the file as UTF-8; a `raw:` step writes other bytes with `base64:`");
            return Err(Box::new(diagnostic));
        }
    };
    if let Some(rest) = text.strip_prefix('\u{feff}') {
        let source = Arc::new(SourceFile::new(path, rest));
        let message = "the file begins with a byte order mark";
        let diagnostic = Diagnostic::error("file::byte-order-mark", &source, Span::new(0, 0), message)
            .label("before this")
            .help("save the file as UTF-8 without a byte order mark");
        return Err(Box::new(diagnostic));
    }
    Ok(Arc::new(SourceFile::new(path, text)))
}

/// Appends one token to a JSON pointer.
pub fn child(pointer: &str, token: impl std::fmt::Display) -> String {
    let mut longer = String::with_capacity(pointer.len() + 16);
    // Writing to a string does not fail.
    let _ = write!(longer, "{pointer}/{token}");
    let token = &longer[pointer.len() + 1..];
    if token.contains(['~', '/']) {
        return format!("{pointer}/{}", token.replace('~', "~0").replace('/', "~1"));
    }
    longer
}

/// A place in a document, by its JSON pointer.
#[derive(Debug, Clone)]
pub struct Spot<'d> {
    /// The document.
    pub document: &'d Document,
    /// The JSON pointer.
    pub pointer: String,
}

impl<'d> Spot<'d> {
    /// The whole document.
    pub fn root(document: &'d Document) -> Self {
        Self { document, pointer: String::new() }
    }

    /// Returns the member or item with this name.
    pub fn down(&self, token: impl std::fmt::Display) -> Self {
        Self { document: self.document, pointer: child(&self.pointer, token) }
    }

    /// Returns the place at a JSON pointer relative to this one.
    pub fn deep(&self, pointer: &str) -> Self {
        Self { document: self.document, pointer: format!("{}{pointer}", self.pointer) }
    }

    /// Returns the value itself.
    pub fn value(&self) -> Option<&'d Value> {
        self.document.value.pointer(&self.pointer)
    }

    /// Returns the file.
    pub fn source(&self) -> &'d Arc<SourceFile> {
        &self.document.source
    }

    /// Returns the place of the value.
    pub fn span(&self) -> Span {
        self.document.span(&self.pointer)
    }

    /// Returns the place of the name of the member, or else of its value.
    pub fn key_span(&self) -> Span {
        self.document.key_span(&self.pointer)
    }

    /// Creates an error at the value.
    pub fn error(&self, code: &'static str, message: impl Into<String>) -> Diagnostic {
        self.document.error(code, &self.pointer, message)
    }

    /// Creates an error at the name of the member.
    pub fn key_error(&self, code: &'static str, message: impl Into<String>) -> Diagnostic {
        self.document.key_error(code, &self.pointer, message)
    }
}
