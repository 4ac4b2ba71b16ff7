//! The requests that a subject answers as a fence, as observed in this run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::sync::lock;

/// The requests that the subject answers as a fence, as observed in this run. They only save time: the result of a
/// fence is the same without them, in any order of cases.
#[derive(Debug, Clone, Default)]
pub struct KnownFences(Arc<Mutex<BTreeMap<&'static str, bool>>>);

impl KnownFences {
    /// Whether the subject answered the request at least once; `None` if it was never tried.
    pub(in crate::run) fn is_answered(&self, method: &str) -> Option<bool> {
        lock(&self.0).get(method).copied()
    }

    /// Records whether the subject answered the request.
    pub(in crate::run) fn note(&self, method: &'static str, is_answered: bool) {
        let mut known = lock(&self.0);
        *known.entry(method).or_default() |= is_answered;
    }
}
