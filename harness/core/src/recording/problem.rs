//! The reason why a recording cannot be read, and the remedy.

/// The reason why a recording cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}\n  {remedy}", place(*.line))]
pub struct RecordingProblem {
    /// The 1-based number of its line; `None` if it concerns the whole recording.
    pub line: Option<usize>,
    /// The problem.
    pub what: String,
    /// The remedy.
    pub remedy: String,
}

impl RecordingProblem {
    pub(super) fn of_all(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { line: None, what: what.into(), remedy: remedy.into() }
    }

    pub(super) fn at(line: usize, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { line: Some(line), what: what.into(), remedy: remedy.into() }
    }

    /// The recording ends in the middle of its last line.
    pub(super) fn cut_off(line: usize) -> Self {
        Self::at(
            line,
            "the recording is cut off in the middle of this line",
            "Remove the line, and what is before it can be judged.",
        )
    }

    /// The recording could not be read.
    pub(super) fn io(line: usize, error: &std::io::Error) -> Self {
        let remedy = match error.kind() {
            std::io::ErrorKind::IsADirectory => "Name the file of the recording.",
            _ => "Copy the recording to a disk that can be read.",
        };
        Self::at(line, format!("cannot read: {error}"), remedy)
    }
}

fn place(line: Option<usize>) -> String {
    line.map(|line| format!("line {line}: ")).unwrap_or_default()
}
