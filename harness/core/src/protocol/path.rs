//! Absolute paths in the protocol, for any system of the other party.

/// Whether a path is absolute: in the form of POSIX, with a drive letter, or as a UNC path.
pub fn is_absolute(path: &str) -> bool {
    let bytes = path.as_bytes();
    let drive =
        bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && matches!(bytes[2], b'\\' | b'/');
    path.starts_with('/') || path.starts_with(r"\\") || drive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_are_those_of_any_system() {
        for (path, absolute) in
            [("/a", true), (r"C:\a", true), ("c:/a", true), (r"\\h\s", true), ("a/b", false), ("C:a", false)]
        {
            assert_eq!(is_absolute(path), absolute, "{path}");
        }
    }
}
