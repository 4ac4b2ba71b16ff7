//! Describes the gaps of a recording: the facts that it does not contain, and that are therefore not checked.

use crate::judge::{JudgedTrace, NotCovered, TIME_LIMIT};
use crate::trace::Lack;

/// Describes each gap in a sentence.
pub(super) fn notes(judged: &JudgedTrace) -> Vec<String> {
    let late = "it begins in the middle of a conversation: checks that need the earlier messages are skipped";
    let lacks = judged.header().lacks.iter().map(|lack| match lack {
        Lack::Bytes => "its messages were rewritten: the bytes, and lines that are not messages, are not checked",
        Lack::Encoding => "its messages were decoded to text: the encoding is not checked",
        Lack::Ends => "it does not contain the line ends: requirements on them are not checked",
        Lack::Times => "it has no times: requirements that depend on them are not checked",
        Lack::Processes => "it does not show when programs exit: requirements on that are not checked",
        Lack::Order => "the order of its messages is unknown: only single messages are checked",
        Lack::Messages => "it may lack messages: requirements that depend on earlier messages are not checked",
        Lack::Replays => "it may lack replayed messages: the loading of sessions is not checked",
        Lack::Content => "its content was replaced: requirements on the content are not checked",
    });
    let lacks = lacks.chain(Some(late).filter(|_| judged.judgement.begins_late)).map(str::to_owned);
    let unattributed = format!(
        "{} of its messages may be of either party: requirements that depend on them are not checked",
        judged.unattributed()
    );
    let forgot = judged.judgement.forgot.map(|n| {
        format!("it is too long to remember all of it: from #{n} on, requirements that depend on much earlier messages are not checked")
    });
    let weak = judged.fences().get(TIME_LIMIT).map(|_| {
        "a fence was only a wait, since no request could serve as one: it does not show that something did not come"
            .to_owned()
    });
    let subject = judged.header().subject;
    let concerns = |other: &&NotCovered| subject.is_none_or(|subject| other.is_of(subject));
    let other =
        judged.judgement.not_covered.iter().filter(concerns).map(|other| {
            format!("conversation {}: not covered: protocol version {}", other.connection + 1, other.version)
        });
    let unattributed = Some(unattributed).filter(|_| judged.unattributed() > 0);
    let remarks = judged.header().remarks.iter().cloned();
    lacks.chain(remarks).chain(other).chain(forgot).chain(weak).chain(unattributed).collect()
}
