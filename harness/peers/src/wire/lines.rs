//! Cutting bytes into lines, wherever the reads cut them.

/// The beginning of a line whose end has not come yet.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    partial: Vec<u8>,
}

impl Lines {
    /// Takes bytes and returns the lines that they complete, each with its line feed.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.partial.extend_from_slice(part);
            if part.ends_with(b"\n") {
                lines.push(std::mem::take(&mut self.partial));
            }
        }
        lines
    }

    /// Returns what came without a line feed.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.partial)
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn joins_and_cuts() {
        let mut lines = Lines::default();
        assert!(lines.push(b"a").is_empty());
        assert_eq!(lines.push(b"b\nc\n\nd"), [b"ab\n".to_vec(), b"c\n".to_vec(), b"\n".to_vec()]);
        assert_eq!(lines.rest(), b"d");
    }
}
