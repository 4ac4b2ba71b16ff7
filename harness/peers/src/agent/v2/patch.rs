//! The change of a file, with a patch in Git's format.

use agent_client_protocol::v2::schema::{
    Diff as SchemaDiff, DiffChange, DiffChangeOperation, DiffFileType, DiffPatch, DiffPathChange, DiffPathPairChange,
};
use similar::TextDiff;

use crate::agent::update::Diff;

/// Writes the change of a file, with absolute paths in the patch.
pub(super) fn write(diff: &Diff) -> SchemaDiff {
    let place = DiffPathChange::new(&diff.path);
    let operation = match (&diff.from, &diff.old) {
        (Some(from), _) => DiffChangeOperation::Move(DiffPathPairChange::new(from, &diff.path)),
        (None, Some(_)) => DiffChangeOperation::Modify(place),
        (None, None) => DiffChangeOperation::Add(place),
    };
    let mut written = SchemaDiff::new(vec![DiffChange::new(operation).file_type(DiffFileType::Text)]);
    let path = diff.path.to_string_lossy();
    // Git quotes such a path; this agent leaves the patch out.
    if !path.contains(|c: char| c == '"' || c == '\\' || !c.is_ascii() || c.is_ascii_control()) {
        written.patch = Some(DiffPatch::new(match &diff.from {
            Some(from) => rename(&from.to_string_lossy(), &path),
            None => text(&path, diff.old.as_deref(), &diff.new),
        }));
    }
    written
}

fn rename(from: &str, path: &str) -> String {
    format!("diff --git {from} {path}\nsimilarity index 100%\nrename from {from}\nrename to {path}\n")
}

fn text(path: &str, old: Option<&str>, new: &str) -> String {
    let (mode, from) = if old.is_none() { ("new file mode 100644\n", "/dev/null") } else { ("", path) };
    let diff = TextDiff::from_lines(old.unwrap_or_default(), new);
    let hunks = diff.unified_diff().header(from, path).to_string();
    format!("diff --git {path} {path}\n{mode}{hunks}")
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn writes_what_git_apply_reads() {
        let added = "diff --git /a b /a b\nnew file mode 100644\n--- /dev/null\n+++ /a b\n@@ -0,0 +1 @@\n+x\n";
        assert_eq!(text("/a b", None, "x\n"), added);
        let changed = "diff --git /a /a\n--- /a\n+++ /a\n@@ -1 +1,2 @@\n-x\n\\ No newline at end of file\n+y\n+z\n";
        assert_eq!(text("/a", Some("x"), "y\nz\n"), changed);
        assert_eq!(text("/a", Some("x"), "x"), "diff --git /a /a\n");
    }
}
