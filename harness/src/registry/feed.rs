//! The changes of a registry as an Atom feed (RFC 4287): an entry for each run with changes.

use std::io::{self, Write};

use super::changes::{change_text, title};
use super::report::RegistryReport;
use crate::protocol::sha256;

/// Writes the feed of these results.
///
/// # Errors
///
/// Errors of the stream.
pub fn write_feed(report: &RegistryReport, out: &mut dyn Write) -> io::Result<()> {
    let (registry, id) = (escaped(&report.registry), feed_id(&report.registry));
    writeln!(out, r#"<?xml version="1.0" encoding="utf-8"?>"#)?;
    writeln!(out, r#"<feed xmlns="http://www.w3.org/2005/Atom">"#)?;
    writeln!(out, "  <title>ACP conformance of the agents in {registry}</title>")?;
    writeln!(out, "  <id>{id}</id>")?;
    writeln!(out, "  <updated>{}</updated>", escaped(&report.ended))?;
    writeln!(out, "  <author><name>acp-conformance</name></author>")?;
    for changes in report.changes.iter().filter(|changes| !changes.changes.is_empty()) {
        let ended = escaped(&changes.ended);
        writeln!(out, "  <entry>")?;
        writeln!(out, "    <title>{}</title>", escaped(&title(changes)))?;
        writeln!(out, "    <id>{id}:{ended}</id>")?;
        writeln!(out, "    <updated>{ended}</updated>")?;
        writeln!(out, "    <content type=\"text\">{}</content>", escaped(&change_text(changes)))?;
        writeln!(out, "  </entry>")?;
    }
    writeln!(out, "</feed>")?;
    out.flush()
}

/// Returns the id of the feed of a registry: an address, and so without the characters that a path may have.
fn feed_id(registry: &str) -> String {
    format!("urn:acp-conformance:registry:{}", &sha256(registry)[..16])
}

/// Escapes a text for XML, which has no way to write most control characters.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() || ['\u{fffe}', '\u{ffff}'].contains(&c) => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::changes::tests::entry;
    use crate::registry::changes::{RegistryChanges, changes_between};
    use crate::registry::report::FORMAT;

    #[test]
    fn feed_is_xml_with_an_entry_for_each_run_with_changes() {
        let mut new = entry("a", "1.0.1", &[]);
        new.name = "<b>&\u{1b}".to_owned();
        let changes = |ended: &str, new: &[_]| RegistryChanges {
            ended: ended.to_owned(),
            since: "2026-11-25T00:00:00Z".to_owned(),
            other_suite: false,
            changes: changes_between(&[entry("a", "1.0.0", &[])], new),
        };
        let report = RegistryReport {
            format: FORMAT.to_owned(),
            suite: "0.1.0".to_owned(),
            registry: "a.json".to_owned(),
            ended: "2026-11-27T00:00:00Z".to_owned(),
            changes: vec![
                changes("2026-11-27T00:00:00Z", std::slice::from_ref(&new)),
                changes("2026-11-26T00:00:00Z", &[entry("a", "1.0.0", &[])]),
            ],
            entries: vec![new],
        };
        let mut feed = Vec::new();
        write_feed(&report, &mut feed).expect("a vector takes everything");
        let feed = String::from_utf8(feed).expect("a feed is UTF-8");
        let document = roxmltree::Document::parse(&feed).expect("XML");
        let texts = |name: &str| {
            let found = document.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2005/Atom", name)));
            found.map(|node| node.text().unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(texts("entry").len(), 1);
        assert_eq!(texts("title")[1], "1 change in 1 agent");
        assert_eq!(texts("content"), ["<b>&\u{fffd} (a)\n  version: 1.0.0 → 1.0.1\n"]);
    }
}
