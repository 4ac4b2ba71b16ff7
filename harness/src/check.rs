//! Checks recorded traffic: which editions decide it, and a report for each edition and party.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::time::Duration;

use crate::edition::{Editions, UnknownEdition};
use crate::judge::{JudgedTrace, JudgingSession};
use crate::protocol::Edition;
use crate::recording::{Input, Recording, RecordingProblem};
use crate::report::{Begin, Chart, Charting};
use crate::requirement::Party;
use crate::results::{Collector, RunReport};
use crate::trace::{Event, Header, Trace};

/// A recording that can be read several times.
pub struct Tape {
    name: String,
    file: Option<String>,
    parties: Vec<Party>,
    open: Box<Open>,
}

/// Opens a recording from its beginning.
pub type Open = dyn Fn() -> Result<Input, Box<dyn Error + Send + Sync>> + Send + Sync;

/// A recording that cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum TapeProblem {
    /// It cannot be opened.
    #[error(transparent)]
    Open(Box<dyn Error + Send + Sync>),
    /// It cannot be read to its end.
    #[error("{name}")]
    Recording {
        /// Its name.
        name: String,
        /// The place, the problem, and the remedy.
        source: RecordingProblem,
    },
    /// Its edition is unknown.
    #[error("{name}")]
    Edition {
        /// Its name.
        name: String,
        /// The editions that are known.
        source: UnknownEdition,
    },
    /// It shows a test of the other party.
    #[error("{name}: the trace is of a test of the {subject}, and --subject asks for the {asked}; leave --subject out")]
    OtherSubject {
        /// Its name.
        name: String,
        /// The party that was tested.
        subject: Party,
        /// The requested one.
        asked: Party,
    },
    /// The page cannot be written.
    #[error("cannot write the page")]
    Page(#[source] std::io::Error),
    /// Cases of two editions are in one report.
    #[error("{name}: its edition is {edition}, but an earlier trace has {other}; check them in two runs")]
    OtherEdition {
        /// Its name.
        name: String,
        /// Its edition.
        edition: String,
        /// That of the traces before.
        other: String,
    },
}

/// A recording that was checked by one edition.
pub struct JudgedTape<'t> {
    tape: &'t Tape,
    header: Header,
    edition: &'static Edition,
    judged: Vec<JudgedTrace>,
    evidence: BTreeMap<usize, Event>,
    charts: Vec<(String, Chart)>,
}

impl Tape {
    /// Creates a recording with this name in reports. `parties` are those that it shows, unless its header names one.
    pub fn new(name: String, parties: &[Party], open: Box<Open>) -> Self {
        Self { name, file: None, parties: parties.to_vec(), open }
    }

    /// Sets the file that it is read from.
    pub fn of_file(self, file: String) -> Self {
        Self { file: Some(file), ..self }
    }

    /// Checks the recording by the edition of its header and, where connections of a recording negotiated other
    /// versions, by their editions as well. An edition that covers no connection is left out if another one does.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn judge(&self, editions: &Editions, with_charts: bool) -> Result<Vec<JudgedTape<'_>>, TapeProblem> {
        let header = self.play(editions)?.header;
        let edition = editions.of(&header);
        let edition = edition.map_err(|source| TapeProblem::Edition { name: self.name.clone(), source })?.edition();
        let first = self.judge_by(edition, editions, with_charts)?;
        let negotiated: BTreeSet<u64> = match header.is_of_cases() {
            true => BTreeSet::new(),
            false => first.judged.iter().flat_map(JudgedTrace::other_versions).collect(),
        };
        let mut by_edition = vec![first];
        for bundle in negotiated.into_iter().filter_map(|version| editions.of_major(version)) {
            by_edition.push(self.judge_by(bundle.edition(), editions, with_charts)?);
        }
        if by_edition.len() > 1 {
            by_edition.retain(|tape| tape.judged.iter().any(|judged| judged.judgement.covered > 0));
        }
        Ok(by_edition)
    }

    fn judge_by(
        &self,
        edition: &'static Edition,
        editions: &Editions,
        with_charts: bool,
    ) -> Result<JudgedTape<'_>, TapeProblem> {
        let recording = self.play(editions)?;
        let mut header = recording.header.clone();
        header.edition.clone_from(&edition.name);
        header.exact_edition |= editions.chose_exactly(&edition.name);
        if !header.is_of_cases() {
            header.file.clone_from(&self.file);
        }
        let mut session = JudgingSession::new(&header, edition);
        for event in recording {
            session.event(&self.read(event)?);
        }
        let judged = session.close_by_case();
        let evidence = self.evidence(&judged, editions)?;
        let charts = if with_charts { self.charts(&judged, editions)? } else { Vec::new() };
        Ok(JudgedTape { tape: self, header, edition, judged, evidence, charts })
    }

    fn play(&self, editions: &Editions) -> Result<Recording, TapeProblem> {
        let input = (self.open)().map_err(TapeProblem::Open)?;
        self.read(Recording::open(input, editions.preferred().edition()))
    }

    fn read<T>(&self, result: Result<T, RecordingProblem>) -> Result<T, TapeProblem> {
        result.map_err(|source| TapeProblem::Recording { name: self.name.clone(), source })
    }

    /// Returns the name of a case of it in reports.
    fn id_of(&self, judged: &JudgedTrace) -> String {
        judged.header().case.clone().unwrap_or_else(|| self.name.clone())
    }

    /// Returns the charts of its cases for a page, by id. This reads the recording once more.
    fn charts(&self, judged: &[JudgedTrace], editions: &Editions) -> Result<Vec<(String, Chart)>, TapeProblem> {
        let recording = self.play(editions)?;
        let header = recording.header.clone();
        let begin = |judged: &JudgedTrace| (self.id_of(judged), Charting::new(judged.header(), judged.evidence()));
        let mut charts: Vec<(String, Charting)> = judged.iter().map(begin).collect();
        if header.conversation.is_some() {
            // It was recorded here, so its size is limited.
            let events = self.read(recording.collect::<Result<_, _>>())?;
            for part in (Trace { header, events }).by_case() {
                let chart = charts.iter_mut().find(|(id, _)| part.header.case.as_ref() == Some(id));
                chart.into_iter().for_each(|(_, chart)| part.events.iter().for_each(|event| chart.event(event)));
            }
        } else {
            for event in recording {
                let event = self.read(event)?;
                charts.iter_mut().for_each(|(_, chart)| chart.event(&event));
            }
        }
        Ok(charts.into_iter().map(|(id, chart)| (id, chart.close())).collect())
    }

    /// Returns the events that prove a finding. This reads the recording once more, so that the first reading need not
    /// keep all events.
    fn evidence(&self, judged: &[JudgedTrace], editions: &Editions) -> Result<BTreeMap<usize, Event>, TapeProblem> {
        let wanted: BTreeSet<usize> = judged.iter().flat_map(JudgedTrace::evidence).collect();
        let Some(last) = wanted.last() else { return Ok(BTreeMap::new()) };
        let mut found = BTreeMap::new();
        for event in self.play(editions)?.take(last + 1) {
            let event = self.read(event)?;
            if wanted.contains(&event.n) {
                found.insert(event.n, event);
            }
        }
        Ok(found)
    }
}

impl JudgedTape<'_> {
    /// Returns the name of the edition.
    pub fn edition(&self) -> &'static str {
        &self.edition.name
    }
}

/// A report for each edition and party.
#[derive(Default)]
pub struct Reports {
    collectors: BTreeMap<(&'static str, Party), Collector>,
    /// Whether a trace is not the run of a case, so that not all of its requirements need be exercised.
    foreign: bool,
    tapes: BTreeSet<String>,
}

/// The report on one party by one edition.
pub struct PartyReport {
    /// The name of the edition.
    pub edition: &'static str,
    /// The party.
    pub party: Party,
    /// What renderers get before the report.
    pub begin: Begin,
    /// The report.
    pub report: RunReport,
}

impl Reports {
    /// Adds a recording to the report of each party that it shows, or of the one that was `asked` for. Returns the
    /// charts of its cases, by their names in reports.
    ///
    /// # Errors
    ///
    /// It does not fit the request, or those before.
    pub fn add(&mut self, tape: JudgedTape<'_>, asked: Option<Party>) -> Result<Vec<(String, Chart)>, TapeProblem> {
        let JudgedTape { tape, header, edition, judged, evidence, charts } = tape;
        self.tapes.insert(tape.name.clone());
        let starts = judged.iter().map(JudgedTrace::starts).sum();
        let is_of_cases = header.is_of_cases();
        self.foreign |= !is_of_cases;
        if let (Some(subject), Some(asked)) = (header.subject, asked)
            && subject != asked
        {
            return Err(TapeProblem::OtherSubject { name: tape.name.clone(), subject, asked });
        }
        let parties = header.subject.or(asked).map_or_else(|| tape.parties.clone(), |party| vec![party]);
        for party in parties {
            let of_party = || Collector::new(edition, party, header.command.clone());
            let other =
                self.collectors.keys().find(|(other, of)| is_of_cases && *of == party && *other != edition.name);
            if let Some((other, _)) = other {
                return Err(TapeProblem::OtherEdition {
                    name: tape.name.clone(),
                    edition: edition.name.clone(),
                    other: (*other).to_owned(),
                });
            }
            let collector = self.collectors.entry((edition.name.as_str(), party)).or_insert_with(of_party);
            collector.count_starts(starts);
            let file = is_of_cases.then_some(tape.name.as_str());
            collector.add_judged(judged.clone(), &tape.name, &|n| evidence.get(&n), file);
        }
        Ok(charts)
    }

    /// Returns the reports, of a check that took this long; with `strict`, a violated SHOULD counts like a violated
    /// MUST.
    pub fn finish(self, took: Duration, strict: bool) -> Vec<PartyReport> {
        let (tapes, whole) = (self.tapes.len(), !self.foreign);
        let finish = |((edition, party), collector): ((&'static str, Party), Collector)| {
            let begin = Begin::new(&collector, tapes, whole, String::new());
            PartyReport { edition, party, begin, report: collector.finish(took, strict) }
        };
        self.collectors.into_iter().map(finish).collect()
    }
}
