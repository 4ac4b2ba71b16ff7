//! Applies a transformation to a recorded trace.

use acp_conformance::protocol::Edition;
use acp_conformance::requirement::Party;
use acp_conformance::trace::Trace;

use crate::choices::Choices;
use crate::conversation::{Conversation, Entry};
use crate::kinds::ids::Renamed;
use crate::kinds::{Around, How, Kind};

/// The party whose lines are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Those of the party under test.
    Subjects,
    /// Those of both.
    Both,
}

/// Returns the variant of a trace of that edition; `other` is another trace of the same party.
pub fn variant(
    kind: &Kind,
    edition: &'static Edition,
    [trace, other]: [&Trace; 2],
    whose: Whose,
    choices: &mut Choices,
) -> Trace {
    let mut conversation = Conversation::of(trace, edition);
    let subject = conversation.subject;
    let changed = |party: Party| party == subject || whose == Whose::Both;
    match kind.how {
        How::Spelling(spell) => {
            for entry in &mut conversation.entries {
                let message = entry.message.as_ref().filter(|message| changed(message.from) && !message.deliberate);
                entry.spelled =
                    message.and_then(|message| choices.site().map(|mut rng| spell(&message.value, &mut rng)));
            }
        }
        How::Edit(edit) => {
            let messages = conversation.entries.iter_mut().filter_map(|entry| entry.message.as_mut());
            messages
                .filter(|message| changed(message.from) && !message.deliberate)
                .for_each(|message| edit(message, choices));
        }
        How::Around(make) => conversation.entries = around(conversation.entries, subject, make, choices),
        How::Rename(renaming) => {
            if choices.site().is_some() {
                let mut renamed = Renamed::new(renaming, subject);
                conversation
                    .entries
                    .iter()
                    .filter_map(|entry| entry.message.as_ref())
                    .for_each(|message| renamed.note(message));
                conversation
                    .entries
                    .iter_mut()
                    .filter_map(|entry| entry.message.as_mut())
                    .for_each(|message| renamed.forward(message));
            }
        }
        How::Whole(change) => change(&mut conversation, &Conversation::of(other, edition), choices),
    }
    conversation.into_trace()
}

fn around(entries: Vec<Entry>, subject: Party, make: fn() -> Box<dyn Around>, choices: &mut Choices) -> Vec<Entry> {
    let mut connections: std::collections::BTreeMap<usize, Box<dyn Around>> = std::collections::BTreeMap::new();
    let mut changed = Vec::new();
    let mut ended = false;
    for entry in entries {
        ended |= entry.ends();
        let Some(message) = entry.message.as_ref().filter(|_| !ended) else {
            changed.push(entry);
            continue;
        };
        let layer = connections.entry(entry.event.connection).or_insert_with(make);
        let mut stands_for = Some(entry.stands_for.clone());
        for said in layer.pass(message, subject, choices) {
            let mut new = Entry::said(&entry.event, message.edition, said.from, said.value);
            if said.original {
                new.event.what = entry.event.what.clone();
                new.stands_for = stands_for.take().unwrap_or_default();
                if let Some(new) = &mut new.message {
                    (new.method, new.deliberate) = (message.method.clone(), message.deliberate);
                }
            }
            changed.push(new);
        }
    }
    changed
}
