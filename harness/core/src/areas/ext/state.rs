//! The last notifications.

use std::collections::BTreeMap;

use crate::areas::Event;
use crate::conversation::CallSeen;
use crate::requirement::Party;

/// By sender: the event and the method of the last notification.
#[derive(Debug, Default)]
pub struct State {
    pub(super) last_notification: BTreeMap<Party, (usize, String)>,
}

impl State {
    pub(in crate::areas) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
        if call.id.is_none() {
            let (n, method) = self.last_notification.entry(event.from).or_default();
            *n = event.n;
            call.method.clone_into(method);
        }
    }
}
