//! The checks of one trace, by party and kind of input.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::recording_gaps::{can_decide, requires};
use super::registry::Registry;
use crate::areas::{Check, KINDS, On, Seen};
use crate::protocol::{Edition, NameMap};
use crate::requirement::{Area, Flag, Party, Transports};
use crate::trace::Lack;

/// A check, with the conditions under which it can decide.
#[derive(Clone, Copy)]
pub(super) struct ScheduledCheck {
    /// The input.
    pub on: On,
    /// The requirement that it checks.
    pub requirement: &'static str,
    /// The index of the requirement in [`Tallies`](super::tallies::Tallies).
    pub place: usize,
    /// Whether the requirement is about messages in general, or about the agreement on a version.
    pub versionless: bool,
    /// Whether one message decides.
    pub alone: bool,
    /// The kinds of messages that must not be missing, as bits: see `conversation::Holes`.
    pub needs: u8,
    party: Party,
    subjects: Option<&'static [&'static str]>,
}

impl ScheduledCheck {
    fn new(check: &Check, place: usize) -> Self {
        let Check { on, requirement, party, subjects, alone } = *check;
        Self {
            on,
            requirement,
            place,
            versionless: Area::of(requirement).is_versionless(),
            alone,
            needs: 0,
            party,
            subjects,
        }
    }

    fn is_about(&self, subject: &str) -> bool {
        self.subjects.is_none_or(|subjects| subjects.contains(&subject))
    }

    /// Returns the area of the requirement.
    pub(super) fn area(&self) -> Area<'static> {
        Area::of(self.requirement)
    }

    /// Whether the requirement applies to every version that the parties may agree on.
    pub(super) fn is_timeless(&self) -> bool {
        self.versionless || self.area() == Area::INIT
    }
}

/// All checks, which are the same for every trace.
static ALL: LazyLock<Vec<ScheduledCheck>> = LazyLock::new(|| {
    let registry = Registry::all();
    registry.iter().filter_map(|check| Some(ScheduledCheck::new(check, registry.place(check.requirement)?))).collect()
});

/// The checks of one trace.
pub(super) struct Dispatch {
    lists: Arc<[ChecksOfKind]>,
    /// Whether to give each check also inputs of other subjects.
    pub proves_subjects: bool,
}

/// The checks of one party for one kind of input.
#[derive(Clone, Default)]
struct ChecksOfKind {
    all: Vec<ScheduledCheck>,
    /// The checks for each subject that a check names.
    by_subject: NameMap<&'static str, Vec<ScheduledCheck>>,
    /// The checks for any other subject.
    general: Vec<ScheduledCheck>,
}

impl ChecksOfKind {
    fn new(all: Vec<ScheduledCheck>) -> Self {
        let subjects = all.iter().filter_map(|check| check.subjects).flatten();
        let of = |subject: &'static str| all.iter().filter(|check| check.is_about(subject)).copied().collect();
        let by_subject = subjects.map(|subject| (*subject, of(subject))).collect();
        let general = all.iter().filter(|check| check.subjects.is_none()).copied().collect();
        Self { all, by_subject, general }
    }
}

/// What decides which checks a trace has.
#[derive(Clone, PartialEq, Eq)]
struct Kind {
    parties: Vec<Party>,
    lacks: Vec<Lack>,
    transports: Transports,
    /// The address of the edition, which stays for the whole run of a program.
    edition: usize,
}

/// The most kinds of traces whose checks are remembered. A run has one or two.
const MOST_KINDS: usize = 32;

/// The checks of each kind of trace. To choose them takes as long as to check a short conversation.
static CHOSEN: Mutex<Vec<(Kind, Arc<[ChecksOfKind]>)>> = Mutex::new(Vec::new());

impl Dispatch {
    /// Returns the checks of these parties and this edition that a trace of these transports and gaps can decide.
    pub(super) fn new(parties: &[Party], lacks: &[Lack], transports: Transports, edition: &'static Edition) -> Self {
        let address = std::ptr::from_ref(edition).addr();
        let kind = Kind { parties: parties.to_vec(), lacks: lacks.to_vec(), transports, edition: address };
        let chosen = || CHOSEN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = chosen().iter().find(|(known, _)| *known == kind).map(|(_, lists)| Arc::clone(lists));
        let lists = known.unwrap_or_else(|| {
            let lists = Self::choose(parties, lacks, transports, edition);
            let mut chosen = chosen();
            if chosen.len() < MOST_KINDS {
                chosen.push((kind, Arc::clone(&lists)));
            }
            lists
        });
        Self { lists, proves_subjects: false }
    }

    fn choose(parties: &[Party], lacks: &[Lack], transports: Transports, edition: &Edition) -> Arc<[ChecksOfKind]> {
        let mut lists = vec![Vec::new(); 2 * KINDS];
        for check in ALL.iter().filter(|check| parties.contains(&check.party)) {
            let requirement = edition
                .catalogue
                .find(check.requirement)
                .filter(|found| found.is_decided())
                .filter(|found| found.applies_when.condition.is_possible_over(transports.of(check.party)));
            let Some(requirement) = requirement.filter(|_| !lacks.contains(&Lack::Order) || check.alone) else {
                continue;
            };
            if lacks.iter().all(|lack| can_decide(requirement, *lack)) {
                let versionless = check.versionless || requirement.flags.contains(&Flag::AnyVersion);
                let check = ScheduledCheck { versionless, needs: requires(requirement).bits(), ..*check };
                lists[index(check.party, check.on.kind())].push(check);
            }
        }
        lists.into_iter().map(ChecksOfKind::new).collect()
    }

    /// Returns the checks of one party for this input.
    pub(super) fn of(&self, party: Party, seen: Seen<'_>) -> &[ScheduledCheck] {
        let checks = &self.lists[index(party, seen.kind())];
        let named = seen.subject().and_then(|subject| checks.by_subject.get(subject));
        named.unwrap_or(&checks.general)
    }

    /// Returns the checks of one party for this kind of input that are about other subjects.
    pub(super) fn not_about(&self, party: Party, seen: Seen<'_>) -> impl Iterator<Item = &ScheduledCheck> {
        let checks = &self.lists[index(party, seen.kind())];
        checks.all.iter().filter(move |check| !seen.subject().map_or(check.subjects.is_none(), |it| check.is_about(it)))
    }
}

const fn index(party: Party, kind: usize) -> usize {
    party as usize * KINDS + kind
}
