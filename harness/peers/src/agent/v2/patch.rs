//! The difference that writing a file makes.

use std::path::Path;

use agent_client_protocol::v2::schema::{
    Diff, DiffChange, DiffChangeOperation, DiffFileType, DiffPatch, DiffPathChange,
};

/// Describes that a file gets a new content, with a patch in Git's format and absolute paths.
pub(super) fn of_write(path: &Path, old: Option<&str>, new: &str) -> Diff {
    let place = DiffPathChange::new(path);
    let operation = if old.is_some() { DiffChangeOperation::Modify(place) } else { DiffChangeOperation::Add(place) };
    let mut diff = Diff::new(vec![DiffChange::new(operation).file_type(DiffFileType::Text)]);
    let path = path.to_string_lossy();
    // Git quotes such a path; this agent leaves the patch out.
    if path.contains(|c: char| c == '"' || c == '\\' || !c.is_ascii() || c.is_ascii_control()) {
        return diff;
    }
    diff.patch = Some(DiffPatch::new(text(&path, old, new)));
    diff
}

/// Writes a patch of one hunk that replaces all lines.
fn text(path: &str, old: Option<&str>, new: &str) -> String {
    let header = if old.is_none() { "new file mode 100644\n" } else { "" };
    let from = if old.is_none() { "/dev/null" } else { path };
    let old = old.unwrap_or_default();
    if old == new {
        return format!("diff --git {path} {path}\n{header}");
    }
    let range = |text: &str| {
        let n_lines = text.lines().count();
        format!("{},{n_lines}", usize::from(n_lines > 0))
    };
    let (removed, added) = (range(old), range(new));
    let lines = mark('-', old) + &mark('+', new);
    format!("diff --git {path} {path}\n{header}--- {from}\n+++ {path}\n@@ -{removed} +{added} @@\n{lines}")
}

/// Writes each line of a text after a sign.
fn mark(sign: char, text: &str) -> String {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
    text.split_inclusive('\n').map(|line| format!("{sign}{line}")).collect::<String>() + end
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn writes_what_git_apply_reads() {
        let added = "diff --git /a b /a b\nnew file mode 100644\n--- /dev/null\n+++ /a b\n@@ -0,0 +1,1 @@\n+x\n";
        assert_eq!(text("/a b", None, "x\n"), added);
        let changed = "diff --git /a /a\n--- /a\n+++ /a\n@@ -1,1 +1,2 @@\n-x\n\\ No newline at end of file\n+y\n+z\n";
        assert_eq!(text("/a", Some("x"), "y\nz\n"), changed);
    }
}
