//! Cases: a file is a case or has a mistake, and every mistake can be rendered.

use std::sync::LazyLock;

use acp_conformance::case::{Includes, Vocabulary, load_bytes};
use acp_conformance::edition::V1;

use super::drawn;

static INCLUDES: LazyLock<Includes> = LazyLock::new(|| Includes::of(&V1));

/// Treats the bytes as a case file.
pub fn holds(data: &[u8]) {
    let read = || load_bytes("cases/v1/agent/x.yaml", data, &Vocabulary::of(V1.edition()), &INCLUDES);
    let (cases, problems) = read();
    drawn(!cases.is_empty(), &problems);
    let (again, same) = read();
    assert_eq!(problems, same);
    assert_eq!(cases.len(), again.len());
}
