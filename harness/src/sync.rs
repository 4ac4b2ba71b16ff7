//! Locks that ignore the panic of another holder.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex for one expression; a panic leaves no half-changed state, so poison has no meaning here.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
