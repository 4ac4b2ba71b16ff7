//! Kept files: output and generated files of the program, next to the tests that compare them. `ACP_BLESS=1` replaces
//! them.

use std::fs;
use std::path::Path;

use similar::TextDiff;

/// Compares a text with a kept file, or writes the file if `ACP_BLESS` is set. A kept file ends with a line end.
///
/// # Errors
///
/// They differ, with the lines that do, or the file cannot be written.
pub fn kept(path: &Path, text: &str) -> Result<(), String> {
    let text = format!("{}\n", text.trim_end_matches('\n'));
    let found = fs::read_to_string(path).unwrap_or_default();
    if found == text {
        return Ok(());
    }
    let shown = path.display();
    if std::env::var_os("ACP_BLESS").is_some() {
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, text));
        return written.map_err(|error| format!("cannot write {shown}: {error}"));
    }
    let diff = TextDiff::from_lines(&found, &text).unified_diff().context_radius(3).to_string();
    Err(format!("{shown} is out of date; if the new text is right, ACP_BLESS=1 writes it:\n{diff}"))
}
