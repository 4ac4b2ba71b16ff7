//! The inside of a JSON string, character by character with the bytes of each, so that another text of the same shape can be
//! encoded in the same way.

use std::ops::Range;

use crate::wire::stand_in;

/// One character with its encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Glyph {
    /// The character; `None` for invalid bytes.
    meant: Option<char>,
    /// Its bytes.
    spelling: Range<usize>,
    /// Whether it is encoded by its code, as in `\u00e9`.
    coded: bool,
}

/// A string as encoded in a line, without its quotes.
#[derive(Debug)]
pub(super) struct Literal<'l> {
    bytes: &'l [u8],
    glyphs: Vec<Glyph>,
}

impl<'l> Literal<'l> {
    /// Splits a string into characters. With `escapes`, a backslash begins an escape; without, it is an ordinary character.
    pub(super) fn read(bytes: &'l [u8], escapes: bool) -> Self {
        let mut glyphs = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let glyph = match bytes[at] {
                b'\\' if escapes => escape(bytes, at),
                _ => plain(bytes, at),
            };
            at = glyph.spelling.end;
            glyphs.push(glyph);
        }
        Self { bytes, glyphs }
    }

    /// Returns the text, with a replacement character for each invalid byte, and with lone surrogates as [`wire`](crate::wire)
    /// reads them.
    pub(super) fn text(&self) -> String {
        let stand_in = |glyph: &Glyph| unit(self.bytes, glyph.spelling.start).and_then(stand_in);
        let read = |glyph: &Glyph| glyph.meant.or_else(|| stand_in(glyph).filter(|_| glyph.coded));
        self.glyphs.iter().map(|glyph| read(glyph).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    }

    /// Encodes another text with as many characters in the same way; equal characters keep their bytes.
    pub(super) fn spell(&self, text: &str, to: &mut Vec<u8>) {
        let mut chars = text.chars();
        for glyph in &self.glyphs {
            let new = chars.next();
            match new.filter(|new| glyph.meant.is_some_and(|meant| meant != *new)) {
                None => to.extend_from_slice(&self.bytes[glyph.spelling.clone()]),
                Some(new) if glyph.coded => {
                    let mut units = [0; 2];
                    for unit in new.encode_utf16(&mut units) {
                        to.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                    }
                }
                Some(new) => to.extend_from_slice(new.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }
}

fn plain(bytes: &[u8], at: usize) -> Glyph {
    let end = bytes.len().min(at + 4);
    let text = match std::str::from_utf8(&bytes[at..end]) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[at..at + error.valid_up_to()]).unwrap_or_default(),
    };
    let meant = text.chars().next();
    Glyph { meant, spelling: at..at + meant.map_or(1, char::len_utf8), coded: false }
}

fn escape(bytes: &[u8], at: usize) -> Glyph {
    if bytes.get(at + 1) != Some(&b'u') {
        let meant = match bytes.get(at + 1) {
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(&other @ (b'"' | b'\\' | b'/')) => char::from(other),
            // This happens only in invalid JSON; the backslash has no meaning, and the next character is an ordinary one.
            _ => return Glyph { meant: None, spelling: at..at + 1, coded: false },
        };
        return Glyph { meant: Some(meant), spelling: at..at + 2, coded: false };
    }
    let Some(first) = unit(bytes, at) else { return Glyph { meant: None, spelling: at..at + 2, coded: false } };
    let pair = unit(bytes, at + 6).and_then(|second| char::decode_utf16([first, second]).next()?.ok());
    match (char::decode_utf16([first]).next(), pair) {
        (Some(Ok(meant)), _) => Glyph { meant: Some(meant), spelling: at..at + 6, coded: true },
        (_, Some(meant)) => Glyph { meant: Some(meant), spelling: at..at + 12, coded: true },
        _ => Glyph { meant: None, spelling: at..at + 6, coded: true },
    }
}

/// Returns the UTF-16 unit of the escape at this place.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_text_is_spelt_as_the_first_was() {
        let bytes = b"a\\u0062 \\n\\ud83d\\ude00\\u00e9\xff\\ud800\\\"\xc3\xa9\\u00\\g";
        let literal = Literal::read(bytes, true);
        let text = literal.text();
        assert_eq!(text, "ab \n\u{1F600}é\u{FFFD}\u{10D800}\"é\u{FFFD}00\u{FFFD}g");
        let mut same = Vec::new();
        literal.spell(&text, &mut same);
        assert_eq!(same, bytes);
        let mut other = Vec::new();
        literal.spell(
            &text.replace('b', "x").replace('g', "y").replace('é', "è").replace('\u{1F600}', "\u{20000}"),
            &mut other,
        );
        assert_eq!(other, b"a\\u0078 \\n\\ud840\\udc00\\u00e8\xff\\ud800\\\"\xc3\xa8\\u00\\y");
    }

    #[test]
    fn without_escapes_a_backslash_is_a_character() {
        assert_eq!(Literal::read(b"C:\\new", false).text(), "C:\\new");
    }
}
