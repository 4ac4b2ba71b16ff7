//! Commands for a shell, for agents whose only tool is one.

/// Joins the words to a command line.
pub(super) fn line<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    shell_words::join(words)
}

/// Prints a file.
pub(super) fn read(path: &str) -> String {
    line(["cat", path])
}

/// Writes a file.
pub(super) fn write(path: &str, content: &str) -> String {
    format!("{} > {}", line(["printf", "%s", content]), line([path]))
}

/// Lists the lines that contain a text, in the files of the working directory.
pub(super) fn search(text: &str) -> String {
    line(["grep", "-rn", "--", text, "."])
}
