//! JSON pointers.

use std::borrow::Cow;

/// Returns the pointer to a member of the value at another pointer; `token` must be escaped.
pub(super) fn below(at: &str, token: &str) -> String {
    [at, "/", token].concat()
}

/// Escapes the name of a member as a token of a JSON pointer.
pub(crate) fn escaped(name: &str) -> Cow<'_, str> {
    if name.contains(['~', '/']) { name.replace('~', "~0").replace('/', "~1").into() } else { name.into() }
}
