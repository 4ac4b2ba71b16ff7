//! The file that a page is: its parts put together, and nothing in it that could be taken for markup.

use std::fmt::Write as _;
use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPTS: [&str; 3] = [include_str!("base.js"), include_str!("json.js"), include_str!("chart.js")];

/// What is looked at in a page.
pub(super) struct Document<'d> {
    pub(super) title: &'d str,
    /// HTML that stands in the page also without a script.
    pub(super) head: &'d str,
    /// The script that shows the data.
    pub(super) script: &'d str,
    /// What the script reads, as JSON.
    pub(super) data: &'d str,
}

impl Document<'_> {
    /// Writes the page, with a chart for each name, as JSON.
    ///
    /// # Errors
    ///
    /// Only those of the stream.
    pub(super) fn write<'c>(
        &self,
        out: &mut dyn Write,
        charts: impl Iterator<Item = (&'c str, &'c str)>,
    ) -> io::Result<()> {
        let script = SCRIPTS.into_iter().chain([self.script]).collect::<String>();
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
            digest(STYLE),
            digest(&script)
        );
        let mut data = format!("<script type=\"application/json\" id=\"data\">{}</script>\n", inert(self.data));
        for (name, chart) in charts {
            let name = escape(name);
            let _ = writeln!(data, "<script type=\"application/json\" data-chart=\"{name}\">{}</script>", inert(chart));
        }
        let parts = [
            ("policy", policy),
            ("title", escape(self.title)),
            ("style", STYLE.to_owned()),
            ("head", self.head.to_owned()),
            ("data", data),
            ("script", script),
        ];
        fill(out, &parts)
    }
}

/// Puts each part where the template names it; what a part holds is not looked at.
fn fill(out: &mut dyn Write, parts: &[(&str, String)]) -> io::Result<()> {
    let mut rest = TEMPLATE;
    while let Some((before, behind)) = rest.split_once("{{") {
        let (name, after) = behind.split_once("}}").unwrap_or((behind, ""));
        out.write_all(before.as_bytes())?;
        let part = parts.iter().find(|(known, _)| *known == name).map_or("", |(_, part)| part.as_str());
        out.write_all(part.as_bytes())?;
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

fn digest(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}

/// Something as JSON in one line.
pub(super) fn json(value: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(value)?)
}

/// JSON in which nothing can end the element that it stands in, or be taken for the end of a line by a script.
fn inert(json: &str) -> String {
    let mut safe = String::with_capacity(json.len() + json.len() / 16);
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(safe, "\\u{:04x}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    safe
}

/// Text as the content of an element or the value of an attribute.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // What is no character of HTML, or turns the direction of what stands behind it.
            c if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => {
                safe.push('\u{fffd}');
            }
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</script><img src=x onerror=alert(1)>{{script}}<!--<script>\u{2028}'\"&\u{0}\u{202e}";

    fn page() -> String {
        let data = json(&HOSTILE).expect("a text is JSON");
        let document = Document { title: HOSTILE, head: &escape(HOSTILE), script: "", data: &data };
        let mut page = Vec::new();
        document.write(&mut page, [(HOSTILE, data.as_str())].into_iter()).expect("a vector takes everything");
        String::from_utf8(page).expect("a page is UTF-8")
    }

    #[test]
    fn nothing_hostile_becomes_markup() {
        let page = page();
        assert!(!page.contains("<img"), "{page}");
        assert_eq!(page.matches("</script").count(), 3, "the data, a chart and the script");
        assert!(!page.contains("<!--<"));
        assert!(!inert(HOSTILE).contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
    }

    #[test]
    fn what_is_inert_is_still_the_same() {
        let read: String = serde_json::from_str(&inert(&json(&HOSTILE).expect("JSON"))).expect("JSON");
        assert_eq!(read, HOSTILE);
    }

    #[test]
    fn the_policy_allows_what_stands_in_the_page_and_nothing_else() {
        let page = page();
        let between = |from: &str, to: &str| {
            let (_, behind) = page.split_once(from).expect("the beginning");
            behind.split_once(to).expect("the end").0.to_owned()
        };
        let policy = between("http-equiv=\"Content-Security-Policy\" content=\"", "\"");
        assert!(policy.starts_with("default-src 'none';"), "{policy}");
        for (from, to) in [("<style>", "</style>"), ("<script>", "</script>")] {
            assert!(policy.contains(&digest(&between(from, to))), "{from} is not allowed by {policy}");
        }
    }

    #[test]
    fn no_part_of_the_page_leaves_its_element_or_writes_markup() {
        for script in SCRIPTS.iter().copied().chain([include_str!("page.js"), include_str!("matrix.js")]) {
            assert!(!script.contains("</script") && !script.contains("<!--"));
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "http"] {
                assert!(!script.contains(word), "a script says {word}");
            }
        }
        assert!(!STYLE.contains("</") && !STYLE.contains("url(") && !STYLE.contains("@import"));
    }
}
