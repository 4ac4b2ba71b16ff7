//! Area `diff`: the patches of diffs.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::areas::{Check, CheckContext, On};
use crate::conversation::Payload;
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::is_absolute;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("diff.git-patch-format", On::Payload(patch_format)).only(TOOL),
    Check::agent("diff.patch-consistent", On::Payload(patch_consistent)).only(TOOL),
    Check::agent("diff.patch-consistent", On::Payload(operation_consistent)).only(TOOL),
];

const TOOL: &[&str] = &["tool_call_update", "tool_call_content_chunk", "session/request_permission"];

/// Returns the Git patches of a payload, each with the pointer of its diff.
fn patches<'p>(payload: &'p Payload<'p>) -> impl Iterator<Item = (String, &'p Value, &'p str)> {
    payload.places("Diff").filter_map(|(at, diff)| {
        let patch = diff.member("patch")?;
        let is_git = patch.text("format") == Some("git_patch");
        let text = patch.member("text")?.as_str().filter(|_| is_git)?;
        Some((payload.pointer(at), diff, text))
    })
}

/// "One or more `diff --git` sections … every path MUST be absolute … and MUST NOT have a prefix … Surrounding commit
/// metadata and email envelopes MUST NOT be included."
///
/// Correct but unusual: quoted paths, paths of Windows, `/dev/null`, empty lines at the start, sections without hunks,
/// such as a change of a mode, and hunks whose empty lines have lost their blank, or are missing at the end of the
/// text.
fn patch_format(_: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for (pointer, _, text) in patches(payload) {
        let Some(first) = text.lines().find(|line| !line.trim().is_empty()) else { continue };
        let relative = paths(text).into_iter().find(|path| path != "/dev/null" && !is_absolute(path));
        let fact = if !first.starts_with("diff --git ") {
            fact!(
                "patch-without-header",
                "the agent sent a git_patch that begins with `{actual}`; expected `diff --git`",
                actual = first; method = payload.method, pointer = pointer
            )
        } else if let Some(path) = relative {
            fact!(
                "patch-path-relative",
                "the agent sent a git_patch with the path `{path}`; expected an absolute one without a prefix",
                path; method = payload.method, pointer = pointer
            )
        } else if let Some(header) = hunk_of_other_length(text) {
            fact!(
                "patch-hunk-length",
                "the agent sent a git_patch with a hunk of another length than its header `{actual}` says",
                actual = header; method = payload.method, pointer = pointer
            )
        } else {
            ruling.pass();
            continue;
        };
        ruling.fail(fact);
    }
}

/// "`patch` … MUST be consistent with `changes`": each file of the patch is one of the changes.
///
/// Correct but unusual: a patch of some of the changes only, and quoted paths, which are not compared. Relative paths
/// and missing changes fail requirements of their own.
fn patch_consistent(_: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for (pointer, diff, text) in patches(payload) {
        let changes = diff.list("changes").iter();
        let named = |change: &Value| {
            ["path", "oldPath"].iter().filter_map(|name| Some(change.text(name)?.to_owned())).collect::<Vec<_>>()
        };
        let changed: BTreeSet<String> = changes.flat_map(named).collect();
        let patched: Vec<String> =
            paths(text).into_iter().filter(|path| path != "/dev/null" && is_absolute(path)).collect();
        match patched.iter().find(|path| !changed.contains(*path)) {
            Some(_) if changed.is_empty() || changed.iter().any(|path| !is_absolute(path)) => {}
            Some(path) => ruling.fail(fact!(
                "patch-of-other-file",
                "the agent sent a patch of `{path}`, which is not among the changes of the diff",
                path; method = payload.method, pointer = pointer
            )),
            None if !patched.is_empty() => ruling.pass(),
            None => {}
        }
    }
}

/// As above: a patch that makes a new file, or deletes one, does not modify it, and the other way round.
///
/// Correct but unusual: a rename, a copy, an operation of a later version, and a diff of several files, whose patches
/// need not come in the order of the changes. These are not compared.
fn operation_consistent(_: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for (pointer, diff, text) in patches(payload) {
        let Some([change]) = diff.member("changes").and_then(Value::as_array).map(Vec::as_slice) else { continue };
        let Some(stated) = change.text("operation") else { continue };
        let header = || text.lines().take_while(|line| !line.starts_with("@@ "));
        let is_one = text.lines().filter(|line| line.starts_with("diff --git ")).count() == 1;
        let shown = match (header().any(|line| line == "--- /dev/null"), header().any(|line| line == "+++ /dev/null")) {
            (true, false) => "add",
            (false, true) => "delete",
            (false, false) if is_modification(text) => "modify",
            _ => continue,
        };
        if is_one && matches!(stated, "add" | "delete" | "modify") && stated != shown {
            ruling.fail(fact!(
                "patch-of-other-operation",
                "the agent sent the operation {actual} with a patch of the operation {shown}; expected the same",
                actual = stated, shown; method = payload.method, pointer = pointer
            ));
        }
    }
}

/// Whether a patch of one file has the header of a modification, and each of its parts has lines before and after the
/// change. The header of a new or renamed file says so, and tools differ in whether they name `/dev/null`.
fn is_modification(patch: &str) -> bool {
    let mut header = patch.lines().take_while(|line| !line.starts_with("@@ ")).skip(1);
    let is_plain = header.all(|line| ["index ", "--- ", "+++ "].iter().any(|start| line.starts_with(start)));
    let mut parts = patch.lines().filter_map(|line| line.strip_prefix("@@ ")).peekable();
    let has_both = |part: &str| {
        let mut sides = part.split(' ').take(2);
        sides.all(|side| !side.ends_with(",0") && side != "-0" && side != "+0")
    };
    is_plain && parts.peek().is_some() && parts.all(has_both)
}

/// Returns the header of the first hunk that has fewer or more lines than it says.
fn hunk_of_other_length(patch: &str) -> Option<&str> {
    let mut lines = patch.lines().peekable();
    while let Some(header) = lines.next() {
        let Some((mut before, mut after)) = hunk_lengths(header) else { continue };
        while let Some(line) =
            lines.next_if(|line| matches!(line.as_bytes().first(), None | Some(b' ' | b'-' | b'+' | b'\\')))
        {
            let (old, new) = match line.as_bytes().first() {
                Some(b'-') => (1, 0),
                Some(b'+') => (0, 1),
                Some(b'\\') => (0, 0),
                // Empty lines after the hunk belong to no line of the file.
                None if (before, after) == (0, 0) => (0, 0),
                _ => (1, 1),
            };
            (before, after) = (before - old, after - new);
        }
        // An agent may trim its text, with empty lines of the file at the end.
        let is_trimmed = lines.peek().is_none() && before == after && before > 0;
        if (before, after) != (0, 0) && !is_trimmed {
            return Some(header);
        }
    }
    None
}

/// Returns the numbers of lines before and after the change that the header of a hunk says.
fn hunk_lengths(header: &str) -> Option<(i64, i64)> {
    let (ranges, _) = header.strip_prefix("@@ -")?.split_once(" @@")?;
    let (before, after) = ranges.split_once(" +")?;
    let length = |range: &str| range.split_once(',').map_or(Some(1), |(_, length)| length.parse().ok());
    Some((length(before)?, length(after)?))
}

/// Returns the unquoted paths in the headers of a patch. A header with different paths, or with blanks in them, has no
/// unique reading; the lines below it name them again.
fn paths(patch: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_header = false;
    for line in patch.lines() {
        if let Some(both) = line.strip_prefix("diff --git ") {
            in_header = true;
            let half = both.len() / 2;
            let same = both.is_char_boundary(half) && both.get(half..half + 1) == Some(" ");
            found
                .extend(both.get(..half).filter(|path| same && both.get(half + 1..) == Some(*path)).map(str::to_owned));
            let mut words = both.split(' ');
            if let (Some(one), Some(other), None) = (words.next(), words.next(), words.next()) {
                found.extend([one, other].map(str::to_owned));
            }
        } else if line.starts_with("@@ ") {
            in_header = false;
        } else if in_header {
            let named = ["--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to "];
            let path = named.iter().find_map(|start| line.strip_prefix(start));
            // Git ends a path with blanks by a tab.
            found.extend(path.map(|path| path.split('\t').next().unwrap_or_default().to_owned()));
        }
    }
    found.retain(|path| !path.is_empty() && !path.starts_with('"'));
    found
}

#[cfg(test)]
mod tests {
    use super::{hunk_of_other_length, paths};

    #[test]
    fn reads_paths_with_blanks_and_renames() {
        let text = "diff --git /a b /a b\n--- /dev/null\n+++ /a b\t\n@@ -0,0 +1 @@\n+++ x\n\
            diff --git /c /d\nsimilarity index 100%\nrename from /c\nrename to /d\n";
        assert_eq!(paths(text), ["/a b", "/dev/null", "/a b", "/c", "/d", "/c", "/d"]);
        assert_eq!(paths("diff --git \"/\\303\\244\" \"/\\303\\244\"\n"), Vec::<String>::new());
    }

    #[test]
    fn counts_the_lines_of_hunks() {
        let patch = |header: &str| {
            format!("diff --git /a /a\n--- /a\n+++ /a\n{header}\n x\n-y\n+z\n\\ No newline at end of file\n\n")
        };
        for right in ["@@ -1,2 +1,2 @@", "@@ -1,2 +1,2 @@ fn x()", "@@ -one,two +1,2 @@", "@@@ -1,2 -1,2 +1,9 @@@"] {
            assert_eq!(hunk_of_other_length(&patch(right)), None, "{right}");
        }
        for wrong in ["@@ -1 +1,2 @@", "@@ -1,2 +1,3 @@", "@@ -1,2 +1 @@"] {
            assert_eq!(hunk_of_other_length(&patch(wrong)), Some(wrong));
        }
        let two = "@@ -1 +1 @@\n-a\n+b\n@@ -9,2 +9,2 @@\n\n-c\n+d\ndiff --git /b /b\n";
        assert_eq!(hunk_of_other_length(two), None, "an empty line in a hunk has lost its blank");
        assert_eq!(hunk_of_other_length("@@ -1,3 +1,3 @@\n-a\n+b\n x"), None, "an empty line at the end is missing");
        let inside = "@@ -1,3 +1,3 @@\n-a\n+b\n x\ndiff --git /b /b\n";
        assert_eq!(hunk_of_other_length(inside), Some("@@ -1,3 +1,3 @@"));
    }
}
