//! The findings on one requirement, and how a check records them.

use std::collections::BTreeMap;

use super::{Fact, Streams};
use crate::fact;
use crate::verdict::Verdict;

/// The result of one check of one event for one requirement.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The verdict on the requirement.
    pub verdict: Verdict,
    /// The observation.
    pub fact: Fact,
    /// The reason why a failure only leaves the requirement undecided, if there is one.
    pub doubt: Option<Doubt>,
    /// The events that prove it, by their position in the trace; the deciding one first.
    pub events: Vec<usize>,
    /// Whether it is undecided because the subject stopped answering: a pass in another case does not override that.
    pub stalled: bool,
    /// The requirement that owns the mistake, if a more specific one also fails by it; set when the trace is closed.
    pub same_as: Option<String>,
}

/// The reason why an apparent violation does not count as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The message has too many values to be read completely.
    CutHere,
    /// An earlier message of the conversation has too many values.
    CutBefore,
    /// It may have an outside cause in one process. If a second process shows it too, it is a failure.
    Once,
    /// Only a process that ran other cases before showed it, and no second process.
    Unconfirmed,
    /// Its messages came in different streams of the transport, whose order is unknown.
    Streams,
    /// The requirement is new in its revision, and the party may have been written for an earlier one.
    Older,
}

impl Finding {
    /// Whether it is a failure that a second process has to show.
    pub const fn is_unconfirmed(&self) -> bool {
        matches!(self.doubt, Some(Doubt::Once | Doubt::Unconfirmed))
    }

    /// Renders the sentence for people.
    pub fn text(&self) -> String {
        let doubt = match self.doubt {
            None => "",
            Some(Doubt::Once | Doubt::Unconfirmed) => return format!("seen, not confirmed: {}", self.fact.text()),
            Some(Doubt::Streams) => "; the messages came in different streams, whose order is unknown",
            Some(Doubt::Older) => "; perhaps it was written for an earlier revision of this version",
            Some(Doubt::CutHere) => "; the message holds too many values to be read whole",
            Some(Doubt::CutBefore) => "; an earlier message holds too many values to be read whole",
        };
        self.fact.text() + doubt
    }
}

/// The most findings of one requirement that are kept for one trace; further ones of the same kind add no proof.
const MOST_FINDINGS: usize = 20;

/// The findings of one trace for one requirement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// The number of times that it was observed and satisfied.
    pub passes: usize,
    /// The reason why it does not apply to this subject, if that was observed.
    pub not_applicable: Option<Fact>,
    /// The findings except passes, up to a limit.
    pub findings: Vec<Finding>,
    /// The number of further findings.
    pub more: usize,
    /// Departures that the specification tolerates.
    pub notes: Vec<Fact>,
}

impl Tally {
    /// Returns the joined verdict: the worst of all findings.
    pub fn verdict(&self) -> Verdict {
        let base = match (&self.not_applicable, self.passes) {
            (_, 1..) => Verdict::Pass,
            (Some(_), 0) => Verdict::NotApplicable,
            (None, 0) => Verdict::NotExercised,
        };
        self.findings.iter().map(|finding| finding.verdict).fold(base, Verdict::max)
    }

    /// Returns all facts in it without the sentences.
    pub(crate) fn outline(&self) -> String {
        let findings: Vec<_> =
            self.findings.iter().map(|finding| format!("{} by {:?}", finding.verdict, finding.events)).collect();
        let (passes, notes) = (self.passes, self.notes.len());
        format!("{}, {passes} passes, {notes} notes, findings [{}]", self.verdict(), findings.join(", "))
    }

    /// Adds the findings of another tally of the same requirement.
    pub(crate) fn join(&mut self, other: Self) {
        self.passes += other.passes;
        self.not_applicable = self.not_applicable.take().or(other.not_applicable);
        self.more += other.more;
        other.findings.into_iter().for_each(|finding| self.add(finding));
        self.notes.extend(other.notes.into_iter().filter(|note| !self.notes.contains(note)).collect::<Vec<_>>());
    }

    /// Splits the tally: each finding goes to the tally that `place` returns, and the rest to `rest`.
    pub(crate) fn split(mut self, place: impl Fn(&Finding) -> usize, rest: usize) -> BTreeMap<usize, Self> {
        let findings = std::mem::take(&mut self.findings);
        let mut parts = BTreeMap::from([(rest, self)]);
        for finding in findings {
            parts.entry(place(&finding)).or_default().add(finding);
        }
        parts
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        // A check and a step of the case may find the same violation in the same event; that is one finding. The
        // findings of a check about several objects in one event, such as the end of the trace, differ in the
        // other events.
        let is_same = |known: &Finding| {
            let is_alike = known.verdict == finding.verdict && known.events.first() == finding.events.first();
            is_alike && (known.fact.kind != finding.fact.kind || known.events == finding.events)
        };
        if self.findings.iter().any(is_same) {
            return;
        }
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push(finding);
        } else {
            self.more += 1;
        }
    }
}

/// A message that was not read completely, because it has too many values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// The current message: the unread values may violate the requirement, or satisfy it.
    Here,
    /// An event of this conversation: values that seem to be missing later may have been in it, so nothing fails.
    Before(usize),
}

/// Through this a check records its results; the current event is always evidence.
pub struct Ruling<'j> {
    tally: &'j mut Tally,
    failures: &'j mut usize,
    unread: Option<Unread>,
    event: usize,
    /// Whether the precondition of the requirement is false, so that nothing passes.
    is_inapplicable: bool,
    /// Whether the party may be too old for the requirement, so that nothing fails.
    is_older: bool,
    /// The streams of the messages.
    streams: Option<&'j Streams>,
    /// Whether the trace is that of a case.
    is_case: bool,
}

impl<'j> Ruling<'j> {
    /// Creates the ruling on one requirement at one event.
    pub(crate) const fn new(
        tally: &'j mut Tally,
        failures: &'j mut usize,
        unread: Option<Unread>,
        event: usize,
    ) -> Self {
        Self { tally, failures, unread, event, is_inapplicable: false, is_older: false, streams: None, is_case: false }
    }

    /// Drops passes if the precondition of the requirement is false.
    pub(crate) const fn if_applies(mut self, applies: Option<bool>) -> Self {
        self.is_inapplicable = matches!(applies, Some(false));
        self
    }

    /// Leaves violations undecided if the party may be too old for the requirement.
    pub(crate) const fn unless_older(mut self, is_older: bool) -> Self {
        self.is_older = is_older;
        self
    }

    /// Lets [`Proved::fail_in_case`] fail, if the trace is that of a case.
    pub(crate) const fn in_case(mut self, is_case: bool) -> Self {
        self.is_case = is_case;
        self
    }

    /// Leaves violations undecided that messages of different streams prove.
    pub(crate) const fn in_streams(mut self, streams: &'j Streams) -> Self {
        self.streams = Some(streams);
        self
    }
}

impl<'j> Ruling<'j> {
    /// Records that the requirement was observed and satisfied.
    pub fn pass(&mut self) {
        if self.is_inapplicable {
            return;
        }
        match self.unread {
            Some(Unread::Here) => {
                self.inconclusive(fact!("not-read-whole", "the message holds too many values to be read whole"));
            }
            Some(Unread::Before(_)) | None => self.tally.passes += 1,
        }
    }

    /// Names further events that prove the result which is recorded next.
    pub fn proved_by<'r>(&'r mut self, also: &'r [usize]) -> Proved<'r, 'j> {
        Proved { ruling: self, also }
    }

    /// As [`Proved::fail`], by the current event alone.
    pub fn fail(&mut self, fact: Fact) {
        self.proved_by(&[]).fail(fact);
    }

    /// As [`Proved::fail_if`], by the current event alone.
    pub fn fail_if(&mut self, is_certain: bool, fact: Fact) {
        self.proved_by(&[]).fail_if(is_certain, fact);
    }

    /// As [`Proved::fail_unless`], by the current event alone.
    pub fn fail_unless(&mut self, is_doubtful: bool, fact: Fact) {
        self.proved_by(&[]).fail_unless(is_doubtful, fact);
    }

    /// As [`Proved::fail_in_case`], by the current event alone.
    pub fn fail_in_case(&mut self, fact: Fact) {
        self.proved_by(&[]).fail_in_case(fact);
    }

    /// As [`Proved::inconclusive`], by the current event alone.
    pub fn inconclusive(&mut self, fact: Fact) {
        self.proved_by(&[]).inconclusive(fact);
    }

    /// Records that the subject does not advertise the capability that the requirement needs.
    pub fn not_applicable(&mut self, why: Fact) {
        self.tally.not_applicable = Some(why);
    }

    /// Records a departure that the specification tolerates.
    pub fn note(&mut self, fact: Fact) {
        let notes = &mut self.tally.notes;
        if notes.len() < MOST_FINDINGS && !notes.contains(&fact) {
            notes.push(fact);
        }
    }

    /// Notes that the statement of a probe holds, or the fact that contradicts it.
    pub fn note_whether(&mut self, good: bool, otherwise: impl FnOnce() -> Fact) {
        self.note(if good { Fact::holds() } else { otherwise() });
    }

    /// Passes when `good`, fails with the fact otherwise.
    pub fn decide(&mut self, good: bool, fact: impl FnOnce() -> Fact) {
        if good { self.pass() } else { self.fail(fact()) }
    }
}

/// A ruling with the events that prove its result, in addition to the current one.
pub struct Proved<'r, 'j> {
    ruling: &'r mut Ruling<'j>,
    also: &'r [usize],
}

impl Proved<'_, '_> {
    /// Records that the requirement was violated.
    pub fn fail(self, fact: Fact) {
        let (doubt, cut) = match self.ruling.unread {
            Some(Unread::Here) => (Some(Doubt::CutHere), None),
            Some(Unread::Before(cut)) => (Some(Doubt::CutBefore), Some(cut)),
            None if self.ruling.streams.is_some_and(|streams| streams.differ(self.evidence())) => {
                (Some(Doubt::Streams), None)
            }
            None if self.ruling.is_older => (Some(Doubt::Older), None),
            None => (None, None),
        };
        let mut finding = self.finding(if doubt.is_some() { Verdict::Inconclusive } else { Verdict::Fail }, fact);
        finding.events.extend(cut.filter(|&cut| cut != self.ruling.event));
        *self.ruling.failures += usize::from(doubt.is_none());
        self.ruling.tally.add(Finding { doubt, ..finding });
    }

    /// Records a violation if it is certain, and otherwise an observation that does not decide.
    pub fn fail_if(self, is_certain: bool, fact: Fact) {
        if is_certain { self.fail(fact) } else { self.inconclusive(fact) }
    }

    /// Records a violation unless it is doubtful, and otherwise an observation that does not decide.
    pub fn fail_unless(self, is_doubtful: bool, fact: Fact) {
        self.fail_if(!is_doubtful, fact);
    }

    /// Fails in a case, where the harness knows all messages and acts. In a recording, the reason may be missing.
    pub fn fail_in_case(self, fact: Fact) {
        let is_case = self.ruling.is_case;
        self.fail_if(is_case, fact);
    }

    /// Records that the subject stopped answering, which neither violates the requirement by itself nor lets it pass.
    pub fn stalled(self, fact: Fact) {
        let finding = self.finding(Verdict::Inconclusive, fact);
        self.ruling.tally.add(Finding { stalled: true, ..finding });
    }

    /// Records a violation that counts only if a second process shows it too.
    pub fn fail_if_repeated(self, fact: Fact) {
        let finding = self.finding(Verdict::Inconclusive, fact);
        self.ruling.tally.add(Finding { doubt: Some(Doubt::Once), ..finding });
    }

    /// Records an observation that does not decide.
    pub fn inconclusive(self, fact: Fact) {
        let finding = self.finding(Verdict::Inconclusive, fact);
        self.ruling.tally.add(finding);
    }

    /// Returns the events that prove a finding, the current one first.
    fn evidence(&self) -> impl Iterator<Item = usize> {
        let current = self.ruling.event;
        std::iter::once(current).chain(self.also.iter().copied().filter(move |&n| n != current))
    }

    fn finding(&self, verdict: Verdict, fact: Fact) -> Finding {
        let events = self.evidence().collect();
        Finding { verdict, fact, doubt: None, events, stalled: false, same_as: None }
    }
}
