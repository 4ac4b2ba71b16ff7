//! Cases: a file is a case or has a mistake, and every mistake can be drawn.

use std::sync::LazyLock;

use acp_conformance::case::{Includes, Vocabulary, load_bytes};

use super::drawn;

static INCLUDES: LazyLock<Includes> = LazyLock::new(Includes::embedded);

/// The bytes are a case file.
pub fn holds(data: &[u8]) {
    let read = || load_bytes("cases/v1/agent/x.yaml", data, &Vocabulary::v1(), &INCLUDES);
    let (cases, problems) = read();
    drawn(!cases.is_empty(), &problems);
    let (again, same) = read();
    assert_eq!(problems, same);
    assert_eq!(cases.len(), again.len());
}
