//! The ids of cases: `FILE`, `FILE@SHAPE` for a shape of the case in a file, `FILE@CONTEXT` or `FILE@SHAPE,CONTEXT` in
//! a context.

/// Returns the id without shape and context: that of the case file.
pub fn file(id: &str) -> &str {
    id.split_once('@').map_or(id, |(file, _)| file)
}

/// Whether the id names a shape or a context.
pub fn has_shape(id: &str) -> bool {
    id.contains('@')
}

/// Returns the id without its last part: that of the first use, if the last part is a context.
pub fn without_last(id: &str) -> Option<&str> {
    id.rsplit_once(['@', ',']).map(|(rest, _)| rest)
}
