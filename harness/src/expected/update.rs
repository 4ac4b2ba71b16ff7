//! Updates a baseline in place, and keeps everything else that people wrote into it.

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use super::Expectation;

/// The changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaselineChanges {
    /// The positions of removed entries.
    pub removed: Vec<usize>,
    /// The new entries, at the end.
    pub added: Vec<Expectation>,
}

/// The beginning of a new file.
const HEADING: &str =
    "# What is known to fail. An entry that no longer fails, or whose last day is past, fails the run.\n\n";

/// Returns the text of a baseline with the changes. Everything else stays unchanged: comments, order, blank lines. A
/// comment directly above a removed entry is removed with it.
///
/// # Errors
///
/// The text is not a baseline.
pub fn update(text: &str, changes: &BaselineChanges) -> Result<String, String> {
    let heading = if text.trim().is_empty() { HEADING } else { "" };
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let entries = entries(&mut document)?;
    let mut removed = changes.removed.clone();
    removed.sort_unstable();
    removed.retain(|index| *index < entries.len());
    for index in removed.into_iter().rev() {
        entries.remove(index);
    }
    for entry in &changes.added {
        entries.push(table(entry));
    }
    Ok(format!("{heading}{document}"))
}

/// Returns the list of entries as separate tables, in whatever form it was written.
fn entries(document: &mut DocumentMut) -> Result<&mut ArrayOfTables, String> {
    let item = document.entry("expected").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    if !item.is_array_of_tables() {
        let written = std::mem::take(item);
        *item = written.into_array_of_tables().map(Item::ArrayOfTables).unwrap_or_default();
    }
    item.as_array_of_tables_mut().ok_or_else(|| "`expected` is not a list of tables".to_owned())
}

fn table(entry: &Expectation) -> Table {
    let mut table = Table::new();
    let members = [
        ("requirement", entry.requirement.as_ref()),
        ("case", entry.case.as_ref()),
        ("reason", Some(&entry.reason)),
        ("link", entry.link.as_ref()),
    ];
    for (key, text) in members {
        if let Some(text) = text {
            table.insert(key, value(text));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::load_text;
    use super::*;
    use crate::edition::V1;

    const WRITTEN: &str = "\
# Ours, see the board.

# Fixed in 2.0.
[[expected]]
requirement = \"cancel.stop-reason\"   # the usual one
reason      = 'answers end_turn'
expires = 2027-01-31

# Until there is a login.
[[expected]]
case = \"v1/agent/init/handshake\"
reason = \"wants a login\"
link = \"https://example.org/1\"
# the end
";

    fn changed(text: &str, removed: &[usize], added: &[Expectation]) -> String {
        update(text, &BaselineChanges { removed: removed.to_vec(), added: added.to_vec() }).expect("a baseline")
    }

    #[test]
    fn what_holds_stays_as_it_was_written() {
        assert_eq!(changed(WRITTEN, &[], &[]), WRITTEN);
        let without_second = changed(WRITTEN, &[1], &[Expectation::new("fs.read.line-and-limit", "new")]);
        let (kept, rest) = WRITTEN.split_once("\n# Until").expect("two entries");
        assert!(without_second.starts_with(kept), "{without_second}");
        assert!(!without_second.contains("a login") && rest.contains("a login"), "{without_second}");
        assert!(
            without_second.contains("\n[[expected]]\nrequirement = \"fs.read.line-and-limit\"\nreason = \"new\"\n"),
            "{without_second}"
        );
        assert!(without_second.ends_with("# the end\n"), "{without_second}");
    }

    #[test]
    fn what_is_written_can_be_read() {
        for text in
            ["", "# nothing yet\n", "expected = [{ requirement = \"fs.read.line-and-limit\", reason = \"x\" }]\n"]
        {
            let before = load_text("x", text, None, V1.catalogue()).0.expect("a sound file").len();
            let new = Expectation::new("cancel.stop-reason", "new \"reason\"");
            let written = changed(text, &[], std::slice::from_ref(&new));
            let (read, problems) = load_text("x", &written, None, V1.catalogue());
            let read = read.unwrap_or_else(|| panic!("{written}\n{problems:?}"));
            assert_eq!(read.len(), before + 1, "{written}");
            assert_eq!(read[before].to_string(), new.to_string());
            assert_eq!(read[before].reason, new.reason);
        }
    }
}
