//! Faults in splitting the input into lines. Each gets the bytes of one `read()`.

/// Code points that some libraries treat as line ends.
const FALSE_LINE_ENDS: [&str; 5] = ["\u{2028}", "\u{2029}", "\u{85}", "\u{b}", "\u{c}"];

/// Treats the bytes of one `read()` as one message.
pub(crate) fn chunk_per_message(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.retain(|byte| *byte != b'\n');
    bytes.push(b'\n');
    bytes
}

/// Decodes the bytes of one `read()` separately as UTF-8.
pub(crate) fn split_decoding(bytes: Vec<u8>) -> Vec<u8> {
    String::from_utf8_lossy(&bytes).into_owned().into_bytes()
}

/// Ends a line also at separators other than the line feed.
pub(crate) fn splitlines(bytes: Vec<u8>) -> Vec<u8> {
    match String::from_utf8(bytes) {
        Ok(text) => FALSE_LINE_ENDS.iter().fold(text, |text, end| text.replace(end, "\n")).into_bytes(),
        // The read cut a character; such bytes stay unchanged.
        Err(error) => error.into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaks_framing() {
        assert_eq!(splitlines("a\u{2028}b\n".into()), b"a\nb\n");
        assert_eq!(splitlines(b"a\xe2\x82".to_vec()), b"a\xe2\x82");
        assert_eq!(chunk_per_message(b"{\"a\":".to_vec()), b"{\"a\":\n");
        assert_eq!(chunk_per_message(b"{}\n{}\n".to_vec()), b"{}{}\n");
        assert_eq!(split_decoding(b"\xe2\x82".to_vec()), "\u{fffd}".as_bytes());
    }
}
