//! Texts of subjects, fit for forms that break at control characters or have no room.

/// The text with what no form can show as it is (control characters, line separators, marks that turn the direction of
/// writing, U+FFFE and U+FFFF) written as `\u{1b}`. Line feeds stay.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unfit(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

fn is_unfit(c: char) -> bool {
    matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}')
        || c.is_control() && c != '\n'
}

/// The same in one line.
pub(crate) fn in_one_line(text: &str) -> String {
    visible(&text.replace(['\n', '\t'], " "))
}

/// The text, cut where it has more characters than that.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{} … ({} bytes)", &text[..at], text.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_shown_is_named() {
        assert_eq!(visible("a\tb\nc"), "a\\u{9}b\nc");
        assert_eq!(visible("\u{1b}[31m\0\r\u{85}\u{202e}\u{fffe}"), r"\u{1b}[31m\u{0}\u{d}\u{85}\u{202e}\u{fffe}");
        assert_eq!(in_one_line("a\n::error::b\u{2028}"), r"a ::error::b\u{2028}");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöü", 2), "äö … (6 bytes)");
    }
}
