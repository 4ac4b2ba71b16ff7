//! The file of a page: joins its parts, and keeps their texts from becoming markup.

use std::fmt::Write as _;
use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::report::visible::visible;

const STYLE: &str = include_str!("page.css");
const WITHOUT_SCRIPT: &str = "The tables and charts of this page are made by a script, which does not run here. All that they \
    show stands as JSON in the source of this page.";
const SCRIPTS: [&str; 3] = [include_str!("base.js"), include_str!("json.js"), include_str!("chart.js")];

/// The parts of a page.
pub(super) struct PageDocument<'d> {
    pub(super) title: &'d str,
    /// HTML for readers without scripts.
    pub(super) head: &'d Markup,
    /// The script that shows the data.
    pub(super) script: &'d str,
    /// The data for the script, as JSON.
    pub(super) data: &'d str,
}

impl PageDocument<'_> {
    /// Writes the page with its charts, each by name and as JSON.
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
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="referrer" content="no-referrer";
                    title { (visible(self.title)) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    header {
                        (self.head)
                        noscript { p class="note" { (WITHOUT_SCRIPT) } }
                    }
                    main id="main" {}
                    p id="said" class="hidden" role="status" {}
                    script type="application/json" id="data" { (inert(self.data)) }
                    @for (name, chart) in charts {
                        "\n" script type="application/json" data-chart=(name) { (inert(chart)) }
                    }
                    "\n" script { (PreEscaped(script)) }
                }
            }
        };
        out.write_all(page.into_string().as_bytes())
    }
}

fn digest(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}

/// Escapes JSON so that it cannot end its element, and so that a script finds no line ends in it.
fn inert(json: &str) -> PreEscaped<String> {
    let mut safe = String::with_capacity(json.len() + json.len() / 16);
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(safe, "\\u{:04x}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    PreEscaped(safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</script><img src=x onerror=alert(1)>{{script}}<!--<script>\u{2028}'\"&\u{0}\u{202e}";

    fn page() -> String {
        let data = serde_json::to_string(HOSTILE).expect("a text is JSON");
        let document = PageDocument { title: HOSTILE, head: &html! { (HOSTILE) }, script: "", data: &data };
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
        assert!(!inert(HOSTILE).0.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
    }

    #[test]
    fn what_is_inert_is_still_the_same() {
        let read: String =
            serde_json::from_str(&inert(&serde_json::to_string(HOSTILE).expect("JSON")).0).expect("JSON");
        assert_eq!(read, HOSTILE);
    }

    #[test]
    fn the_policy_allows_what_stands_in_the_page_and_nothing_else() {
        let page = page();
        let between = |from: &str, to: &str| {
            let (_, after) = page.split_once(from).expect("the beginning");
            after.split_once(to).expect("the end").0.to_owned()
        };
        let policy = between("http-equiv=\"Content-Security-Policy\" content=\"", "\"");
        assert!(policy.starts_with("default-src 'none';"), "{policy}");
        for (from, to) in [("<style>", "</style>"), ("<script>", "</script>")] {
            assert!(policy.contains(&digest(&between(from, to))), "{from} is not allowed by {policy}");
        }
    }

    #[test]
    fn no_part_of_the_page_leaves_its_element_or_writes_markup() {
        let of_pages = [include_str!("page.js"), include_str!("board.js")];
        for script in SCRIPTS.into_iter().chain(of_pages) {
            assert!(!script.contains("</script") && !script.contains("<!--"));
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "http"] {
                assert!(!script.contains(word), "a script says {word}");
            }
        }
        assert!(!STYLE.contains("</") && !STYLE.contains("url(") && !STYLE.contains("@import"));
    }
}
