//! Locks that outlive a panic of another holder.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks for the length of one expression; no state is left half-changed by a panic, so poison means nothing here.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
