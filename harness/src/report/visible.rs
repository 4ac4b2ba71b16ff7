//! Makes texts of subjects safe for forms that control characters break or that have little room.

/// Returns the text with characters that no form can show (control characters, line separators, marks of writing
/// direction, the byte order mark, U+FFFE and U+FFFF) written as `\u{1b}`. Line feeds stay.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unfit(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

fn is_unfit(c: char) -> bool {
    matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
        || c.is_control() && c != '\n'
}

/// Returns the same in one line.
pub(crate) fn in_one_line(text: &str) -> String {
    visible(&text.replace(['\n', '\t'], " "))
}

/// Returns the text in one line with all marks of Markdown and HTML escaped. A character reference is never a mark, not
/// even in a table.
pub(crate) fn in_markdown(text: &str) -> String {
    let text = in_one_line(text);
    let mut escaped = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        // Between letters these two have no meaning, and ids and addresses often contain them.
        let in_word =
            "_#".contains(c) && before.is_alphanumeric() && rest.peek().is_some_and(|next| next.is_alphabetic());
        if !in_word && "\\`*_[]<>&|~#@$".contains(c) {
            escaped.push_str(&format!("&#{};", u32::from(c)));
        } else {
            escaped.push(c);
        }
        before = c;
    }
    escaped
}

/// Shortens a text with more than `most` characters.
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
        assert_eq!(visible("\u{feff}{}"), r"\u{feff}{}");
        assert_eq!(visible("\u{1b}[31m\0\r\u{85}\u{202e}\u{fffe}"), r"\u{1b}[31m\u{0}\u{d}\u{85}\u{202e}\u{fffe}");
        assert_eq!(in_one_line("a\n::error::b\u{2028}"), r"a ::error::b\u{2028}");
    }

    #[test]
    fn text_has_no_marks_in_markdown() {
        assert_eq!(in_markdown("an <id>\na|b, *not* _meta"), "an &#60;id&#62; a&#124;b, &#42;not&#42; &#95;meta");
        assert_eq!(
            in_markdown("## a_b schema#ErrorCode a#1 a__b"),
            "&#35;&#35; a_b schema#ErrorCode a&#35;1 a&#95;&#95;b"
        );
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöü", 2), "äö … (6 bytes)");
    }
}
