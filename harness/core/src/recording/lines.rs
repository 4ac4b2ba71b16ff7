//! The lines of a recording, one at a time.

use std::io::{BufRead, Read};

use super::problem::RecordingProblem;
use crate::wire::{LONGEST_LINE, LineEnd};

/// Reads lines with the memory of the longest one.
pub(super) struct Lines {
    from: Box<dyn BufRead>,
    line: Vec<u8>,
    /// The number of lines read, which is the 1-based number of the last one.
    pub number: usize,
}

impl Lines {
    pub(super) fn new(from: Box<dyn BufRead>) -> Self {
        Self { from, line: Vec::new(), number: 0 }
    }

    /// Returns the next line without its end, and the kind of end; `None` at the end of the recording.
    pub(super) fn next(&mut self) -> Result<Option<(&[u8], LineEnd)>, RecordingProblem> {
        self.line.clear();
        let longest = LONGEST_LINE as u64;
        let read = (&mut self.from).take(longest).read_until(b'\n', &mut self.line);
        match read {
            Ok(0) => return Ok(None),
            Ok(_) => self.number += 1,
            Err(error) => return Err(RecordingProblem::io(self.number + 1, &error)),
        }
        let (cut, end) = match self.line.as_slice() {
            [.., b'\r', b'\n'] => (2, LineEnd::CrLf),
            [.., b'\n'] => (1, LineEnd::Lf),
            line if line.len() == LONGEST_LINE => {
                let remedy = "Is it a recording at all? No message is that long.";
                return Err(RecordingProblem::at(
                    self.number,
                    format!("the line is longer than {LONGEST_LINE} bytes"),
                    remedy,
                ));
            }
            _ => (0, LineEnd::Eof),
        };
        Ok(Some((&self.line[..self.line.len() - cut], end)))
    }

    /// Like [`Self::next`], but without blank lines, and with a problem for an unterminated last line.
    pub(super) fn next_whole(&mut self) -> Result<Option<&[u8]>, RecordingProblem> {
        loop {
            let Some((length, end)) = self.next()?.map(|(line, end)| (line.len(), end)) else { return Ok(None) };
            if end == LineEnd::Eof && serde_json::from_slice::<serde::de::IgnoredAny>(&self.line).is_err() {
                return Err(RecordingProblem::cut_off(self.number));
            }
            if !self.line[..length].trim_ascii().is_empty() {
                return Ok(Some(&self.line[..length]));
            }
        }
    }
}
