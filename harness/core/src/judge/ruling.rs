//! What checks say, and how it adds up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::check::Registry;
use super::finding::Fact;
use super::lacks::tells;
use crate::fact;
use crate::protocol::Edition;
use crate::requirement::{Catalogue, Party};
use crate::trace::Lack;
use crate::verdict::Verdict;

/// What one look at the trace found out about one requirement.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What it says about the requirement.
    pub verdict: Verdict,
    /// What was found.
    pub fact: Fact,
    /// Why a failure only leaves the requirement undecided, if that is so.
    pub doubt: Option<Doubt>,
    /// The events that prove it, by their position in the trace; the deciding one first.
    pub events: Vec<usize>,
    /// Whether it is undecided because the subject stopped answering: a pass in another case does not outweigh that.
    pub stalled: bool,
}

/// Why something that looks like a violation does not count as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The message holds too many values to be read whole.
    CutHere,
    /// An earlier message of the conversation does.
    CutBefore,
}

impl Finding {
    /// Renders the sentence for people.
    #[must_use]
    pub fn text(&self) -> String {
        let doubt = match self.doubt {
            None => "",
            Some(Doubt::CutHere) => "; the message holds too many values to be read whole",
            Some(Doubt::CutBefore) => "; an earlier message holds too many values to be read whole",
        };
        self.fact.text() + doubt
    }
}

/// How many findings of one requirement are kept for one trace; a subject that breaks a rule in every message of a long
/// conversation is not better proved by the thousandth.
const MOST_FINDINGS: usize = 20;

/// All that one trace says about one requirement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// How often it was observed and satisfied.
    pub passes: usize,
    /// Why it does not apply to this subject, if that was seen.
    pub not_applicable: Option<Fact>,
    /// What was seen apart from passes, up to a bound.
    pub findings: Vec<Finding>,
    /// How many further findings there were.
    pub more: usize,
    /// Departures that the specification tolerates.
    pub notes: Vec<Fact>,
}

impl Tally {
    /// The joined verdict: the worst that was seen.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let base = match (&self.not_applicable, self.passes) {
            (_, 1..) => Verdict::Pass,
            (Some(_), 0) => Verdict::NotApplicable,
            (None, 0) => Verdict::NotExercised,
        };
        self.findings.iter().map(|finding| finding.verdict).fold(base, Verdict::max)
    }

    /// All that it says but for the words.
    fn outline(&self) -> String {
        let findings: Vec<_> =
            self.findings.iter().map(|finding| format!("{} by {:?}", finding.verdict, finding.events)).collect();
        let (passes, notes) = (self.passes, self.notes.len());
        format!("{}, {passes} passes, {notes} notes, findings [{}]", self.verdict(), findings.join(", "))
    }

    fn add(&mut self, finding: Finding) {
        // A check and a step of the case may see the same thing in the same event; it is one finding all the same.
        if self
            .findings
            .iter()
            .any(|known| known.verdict == finding.verdict && known.events.first() == finding.events.first())
        {
            return;
        }
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push(finding);
        } else {
            self.more += 1;
        }
    }
}

/// All that one trace says, by requirement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judgement {
    /// What was said about each requirement that anything was said about.
    pub tallies: BTreeMap<String, Tally>,
    /// The conversations that negotiated another version of the protocol, by connection: this edition does not cover them.
    pub not_covered: Vec<NotCovered>,
    /// How many conversations were judged by this edition.
    pub covered: usize,
    /// The version that the client asked for on a connection that it left when the agent answered the edition's.
    pub turned_down: Option<u64>,
    /// What the parties said about themselves.
    pub introductions: BTreeMap<Party, Introduction>,
    /// Whether the first thing that was seen was something else than the beginning of a conversation.
    pub begins_late: bool,
    /// The event at which it became too much to remember, so that what is old no longer counts.
    pub forgot: Option<usize>,
}

/// A conversation that negotiated another version of the protocol than that of the edition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotCovered {
    /// The number of the connection, from 0.
    pub connection: usize,
    /// The version that was negotiated.
    pub version: u64,
}

/// What a party said about itself in `initialize`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Introduction {
    /// Its name.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
}

impl Judgement {
    /// The verdict on one requirement.
    #[must_use]
    pub fn verdict(&self, requirement: &str) -> Verdict {
        self.tallies.get(requirement).map_or(Verdict::NotExercised, Tally::verdict)
    }

    /// What another judgement says otherwise, by verdict, evidence or number of looks; the words may differ.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let none = Tally::default();
        let ids: BTreeSet<&String> = self.tallies.keys().chain(other.tallies.keys()).collect();
        let told =
            ids.into_iter().map(|id| (id, [self, other].map(|one| one.tallies.get(id).unwrap_or(&none).outline())));
        let changed = told.filter(|(_, [mine, others])| mine != others);
        changed.map(|(id, [mine, others])| format!("{id}: {mine}; {others}")).collect()
    }
}

/// What has been said so far, kept so that a pass costs nothing but a count.
pub struct Book {
    /// By the place of the requirement in the registry.
    tallies: Vec<Tally>,
    /// Of requirements that only steps of cases decide.
    others: BTreeMap<String, Tally>,
    /// How many failures were written down, of whatever requirement.
    failures: usize,
    lacks: Vec<Lack>,
    /// The requirements of the edition; what checks say of others is not kept.
    catalogue: Arc<Catalogue>,
    /// What the next rulings cannot rely on.
    pub(super) unread: Option<Unread>,
}

/// A message that was not read whole, because it holds too many values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// The message that is judged: what is missing in it may break the requirement, or satisfy it.
    Here,
    /// An event of this conversation: what seems to be missing later may have been in it, so that nothing fails.
    Before(usize),
}

impl Book {
    /// An empty book on a trace with these lacks, by the requirements of an edition.
    pub(super) fn new(lacks: &[Lack], edition: &Edition) -> Self {
        let tallies = vec![Tally::default(); Registry::all().places().count()];
        Self {
            tallies,
            others: BTreeMap::new(),
            failures: 0,
            lacks: lacks.to_vec(),
            catalogue: Arc::clone(&edition.catalogue),
            unread: None,
        }
    }

    /// Opens the ruling on one requirement at one event.
    pub(super) fn ruling<'j>(&'j mut self, requirement: &'j str, event: usize) -> Ruling<'j> {
        match Registry::all().place(requirement) {
            Some(place) => self.ruling_at(place, requirement, event),
            None => {
                let tally = self.others.entry(requirement.to_owned()).or_default();
                Ruling { tally, failures: &mut self.failures, unread: self.unread, requirement, event }
            }
        }
    }

    /// As [`Self::ruling`], when the place of the requirement is known.
    pub(super) fn ruling_at<'j>(&'j mut self, place: usize, requirement: &'j str, event: usize) -> Ruling<'j> {
        let tally = &mut self.tallies[place];
        Ruling { tally, failures: &mut self.failures, unread: self.unread, requirement, event }
    }

    /// Whether the trace does not tell this.
    pub(super) fn lacks(&self, lack: Lack) -> bool {
        self.lacks.contains(&lack)
    }

    /// Whether the trace tells enough to decide the requirement.
    pub(super) fn decides(&self, requirement: &str) -> bool {
        self.lacks.iter().all(|lack| tells(requirement, *lack))
    }

    /// What was said so far about each requirement that failed.
    pub(super) fn failed(&self) -> impl Iterator<Item = (&str, &Tally)> {
        let owned = Registry::all().places().map(|(requirement, at)| (requirement, &self.tallies[at]));
        let others = self.others.iter().map(|(requirement, tally)| (requirement.as_str(), tally));
        let of_edition = owned.chain(others).filter(|(requirement, _)| self.catalogue.find(requirement).is_some());
        of_edition.filter(|(_, tally)| tally.verdict() == Verdict::Fail)
    }

    /// How many failures were written down so far.
    pub(super) const fn n_failures(&self) -> usize {
        self.failures
    }

    /// What was said about each requirement that anything was said about.
    pub(super) fn close(mut self) -> BTreeMap<String, Tally> {
        let places = Registry::all().places();
        let mut said: BTreeMap<String, Tally> =
            places.map(|(requirement, at)| (requirement.to_owned(), std::mem::take(&mut self.tallies[at]))).collect();
        said.append(&mut self.others);
        let tells = |requirement: &str| self.lacks.iter().all(|lack| tells(requirement, *lack));
        let catalogue = &self.catalogue;
        said.retain(|requirement, tally| {
            *tally != Tally::default() && tells(requirement) && catalogue.find(requirement).is_some()
        });
        said
    }
}

/// The hand with which a check writes down what it sees; the event at hand is evidence by itself.
pub struct Ruling<'j> {
    tally: &'j mut Tally,
    failures: &'j mut usize,
    unread: Option<Unread>,
    requirement: &'j str,
    event: usize,
}

impl Ruling<'_> {
    /// Whether the requirement belongs to this area of the protocol.
    #[must_use]
    pub fn is_of(&self, area: &str) -> bool {
        self.requirement.strip_prefix(area).is_some_and(|rest| rest.starts_with('.'))
    }

    /// The requirement was observed and satisfied.
    pub fn pass(&mut self) {
        match self.unread {
            Some(Unread::Here) => {
                self.inconclusive(fact!("not-read-whole", "the message holds too many values to be read whole"), &[]);
            }
            Some(Unread::Before(_)) | None => self.tally.passes += 1,
        }
    }

    /// The requirement was violated; `also` names further events that prove it.
    pub fn fail(&mut self, fact: Fact, also: &[usize]) {
        match self.unread {
            Some(Unread::Here) => {
                let finding = self.finding(Verdict::Inconclusive, fact, also);
                self.tally.add(Finding { doubt: Some(Doubt::CutHere), ..finding });
            }
            Some(Unread::Before(cut)) => {
                let finding = self.finding(Verdict::Inconclusive, fact, &[also, &[cut]].concat());
                self.tally.add(Finding { doubt: Some(Doubt::CutBefore), ..finding });
            }
            None => {
                *self.failures += 1;
                self.add(Verdict::Fail, fact, also);
            }
        }
    }

    /// The subject stopped answering, which neither violates the requirement by itself nor lets it pass.
    pub fn stalled(&mut self, fact: Fact, also: &[usize]) {
        let finding = self.finding(Verdict::Inconclusive, fact, also);
        self.tally.add(Finding { stalled: true, ..finding });
    }

    /// What was seen does not decide.
    pub fn inconclusive(&mut self, fact: Fact, also: &[usize]) {
        self.add(Verdict::Inconclusive, fact, also);
    }

    /// The subject does not advertise what the requirement is about.
    pub fn not_applicable(&mut self, why: Fact) {
        self.tally.not_applicable = Some(why);
    }

    /// Something worth knowing that the specification tolerates.
    pub fn note(&mut self, fact: Fact) {
        let notes = &mut self.tally.notes;
        if notes.len() < MOST_FINDINGS && !notes.contains(&fact) {
            notes.push(fact);
        }
    }

    /// Passes when `good`, fails with the fact otherwise.
    pub fn decide(&mut self, good: bool, fact: impl FnOnce() -> Fact) {
        if good { self.pass() } else { self.fail(fact(), &[]) }
    }

    fn add(&mut self, verdict: Verdict, fact: Fact, also: &[usize]) {
        let finding = self.finding(verdict, fact, also);
        self.tally.add(finding);
    }

    fn finding(&self, verdict: Verdict, fact: Fact, also: &[usize]) -> Finding {
        let mut events = vec![self.event];
        events.extend(also.iter().copied().filter(|&n| n != self.event));
        Finding { verdict, fact, doubt: None, events, stalled: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::judge;
    use crate::testing::v1;
    use crate::trace::{Event, Header, Trace, What};
    use crate::wire::LineEnd;

    /// The agent's lines of a turn, judged.
    fn judged(lines: &[String]) -> Judgement {
        let header = Header::of_recording(&v1().name, Vec::new());
        let header = Header { subject: Some(Party::Agent), case: Some("case".to_owned()), ..header };
        let line = |(n, line): (usize, &String)| {
            let what = What::Line {
                from: Party::Agent,
                bytes: line.clone().into_bytes(),
                end: LineEnd::Lf,
                deliberate: false,
            };
            Event { n, us: 0, connection: 0, what }
        };
        judge(&Trace { header, events: lines.iter().enumerate().map(line).collect() }, v1())
    }

    #[test]
    fn nothing_fails_for_what_was_not_read() {
        let update = |values: usize| {
            let zeros = vec!["0"; values].join(",");
            let update = format!(r#""_meta":{{"a":[{zeros}]}},"sessionUpdate":"agent_message_chunk""#);
            let update = format!(r#"{{{update},"content":{{"type":"text","text":"x"}}}}"#);
            format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{update}}}}}"#)
        };
        let unversioned = r#"{"method":"_x"}"#.to_owned();
        let small = judged(&[update(10), unversioned.clone()]);
        assert_eq!(small.verdict("schema.valid.agent"), Verdict::Pass);
        assert_eq!(small.verdict("jsonrpc.version-member.agent"), Verdict::Fail);
        let large = judged(&[update(1 << 20), unversioned]);
        assert_eq!(large.verdict("schema.valid.agent"), Verdict::NotExercised);
        assert_eq!(large.verdict("jsonrpc.version-member.agent"), Verdict::Inconclusive);
        assert_eq!(large.verdict("transport.stdout-only-messages"), Verdict::Pass);
        assert!(large.tallies.values().all(|tally| tally.verdict() != Verdict::Fail));
    }
}
