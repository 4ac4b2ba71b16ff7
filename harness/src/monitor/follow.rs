//! Reads a file while another thread writes it.

use std::fs::File;
use std::io::{self, Read};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::sync::lock;
use crate::transport::pump::read_at;

/// The progress of the writer.
#[derive(Default)]
pub(super) struct Written {
    /// The number of bytes written, and whether more will come.
    reached: Mutex<Reached>,
    news: Condvar,
}

#[derive(Clone, Copy, Default)]
struct Reached {
    bytes: u64,
    all: bool,
}

impl Written {
    /// Reports that so many bytes are written.
    pub(super) fn reach(&self, bytes: u64) {
        self.reached().bytes = bytes;
        self.news.notify_all();
    }

    /// Reports that no more bytes will come.
    pub(super) fn end(&self) {
        self.reached().all = true;
        self.news.notify_all();
    }

    /// Waits until there are more bytes than these, or the writer has ended.
    fn beyond(&self, at: u64) -> u64 {
        let wait = |reached: &mut Reached| reached.bytes <= at && !reached.all;
        self.news.wait_while(self.reached(), wait).unwrap_or_else(PoisonError::into_inner).bytes
    }

    fn reached(&self) -> MutexGuard<'_, Reached> {
        lock(&self.reached)
    }
}

/// Reads the file from its beginning; after the last written byte it waits for more.
#[derive(Clone, Copy)]
pub(super) struct Follow<'f> {
    pub(super) file: &'f File,
    pub(super) progress: &'f Written,
    at: u64,
}

impl<'f> Follow<'f> {
    pub(super) fn new(file: &'f File, progress: &'f Written) -> Self {
        Self { file, progress, at: 0 }
    }
}

impl Read for Follow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let there = self.progress.beyond(self.at).saturating_sub(self.at);
        let most = buffer.len().min(usize::try_from(there).unwrap_or(usize::MAX));
        let n = read_at(self.file, &mut buffer[..most], self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}
