//! Reads a file behind somebody who is still writing it.

use std::fs::File;
use std::io::{self, Read};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::transport::pump::read_at;

/// How far the file is written.
#[derive(Default)]
pub(super) struct Written {
    /// How many bytes there are, and whether there will be more.
    reached: Mutex<Reached>,
    news: Condvar,
}

#[derive(Clone, Copy, Default)]
struct Reached {
    bytes: u64,
    all: bool,
}

impl Written {
    /// Says that so many bytes are there.
    pub(super) fn reach(&self, bytes: u64) {
        self.reached().bytes = bytes;
        self.news.notify_all();
    }

    /// Says that there will be no more.
    pub(super) fn end(&self) {
        self.reached().all = true;
        self.news.notify_all();
    }

    /// Waits until there are more bytes than these, or all.
    fn beyond(&self, at: u64) -> u64 {
        let wait = |reached: &mut Reached| reached.bytes <= at && !reached.all;
        self.news.wait_while(self.reached(), wait).unwrap_or_else(PoisonError::into_inner).bytes
    }

    fn reached(&self) -> MutexGuard<'_, Reached> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The file from its beginning; at the end of what is written it waits for more.
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
