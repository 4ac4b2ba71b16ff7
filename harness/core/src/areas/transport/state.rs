//! The lines with separators that some programs take for the end of a line.

use std::collections::BTreeMap;

use crate::areas::Event;
use crate::conversation::LineSeen;
use crate::requirement::Party;

/// By sender: the last line that contains a Unicode line separator other than a line feed as a raw character.
#[derive(Debug, Default)]
pub struct State {
    pub(super) separated: BTreeMap<Party, usize>,
}

impl State {
    pub(in crate::areas) fn line(&mut self, event: &Event<'_>, line: &LineSeen<'_>) {
        let text = || std::str::from_utf8(line.bytes).unwrap_or_default();
        if !line.is_ascii && text().contains(['\u{2028}', '\u{2029}', '\u{85}']) {
            self.separated.insert(event.from, event.n);
        }
    }
}
