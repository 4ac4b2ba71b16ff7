//! The page of a certificate: the one place where its report becomes HTML.

use std::io;

use crate::report::{Renderer, SuiteEvent};

/// Takes in the events of the report, with each trace, and makes a page of them. It may depend on nothing else, so that
/// whoever has the traces can make the page again, to the byte.
///
/// There is no HTML report yet: once there is, this holds its renderer, and certificates get a page.
#[derive(Default)]
pub(super) struct Page;

impl Renderer for Page {
    fn event(&mut self, _: &SuiteEvent<'_>) -> io::Result<()> {
        Ok(())
    }
}

impl Page {
    /// The page, when the report is over.
    pub(super) const fn close(self) -> Option<Vec<u8>> {
        None
    }
}
