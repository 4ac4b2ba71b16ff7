//! The events of a run as JSON Lines while it runs. Format `acp-conformance-events/1`, for other programs.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{Begin, Renderer, SuiteEvent};
use crate::results::{CaseReport, RunReport, SubjectInfo, SuiteInfo};

/// The name and version of the format.
pub const FORMAT: &str = "acp-conformance-events/1";

/// The JSON Schema of a line, as it is committed in `schemas/events.schema.json`.
pub fn schema() -> serde_json::Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.into_root_schema_for::<SuiteLine>().to_value()
}

/// A line: an event of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum SuiteLine {
    /// The run begins; the first line.
    Begin {
        /// Always `acp-conformance-events/1`.
        format: String,
        /// The suite.
        suite: SuiteInfo,
        /// The subject, whose own name is not known yet.
        subject: Box<SubjectInfo>,
        /// The number of cases to run.
        cases: usize,
        /// Whether these are all cases for such a subject.
        whole: bool,
    },
    /// A case starts. Some cases end without a start: the handshake runs before the run, and recordings are only
    /// checked.
    Start {
        /// The id of the case.
        case: String,
    },
    /// A case is over.
    Case {
        /// The result of the case.
        case: Box<CaseReport>,
    },
    /// The run is over; the last line, unless the program was killed.
    Run {
        /// The report with all results.
        report: Box<RunReport>,
    },
}

impl SuiteLine {
    /// Returns the line for an event; `None` for a chart, which is for people.
    pub fn of(event: &SuiteEvent<'_>) -> Option<Self> {
        Some(match event {
            SuiteEvent::Begin(Begin { suite, subject, cases, whole, .. }) => Self::Begin {
                format: FORMAT.to_owned(),
                suite: suite.clone(),
                subject: Box::new(subject.clone()),
                cases: *cases,
                whole: *whole,
            },
            SuiteEvent::Start(case) => Self::Start { case: (*case).to_owned() },
            SuiteEvent::Case(case, _) => Self::Case { case: Box::new((*case).clone()) },
            SuiteEvent::Played(_) | SuiteEvent::First(_) | SuiteEvent::Chart(..) => return None,
            SuiteEvent::Run(report) => Self::Run { report: Box::new((*report).clone()) },
        })
    }
}

/// Writes each event at once.
pub struct EventLines<W>(pub W);

impl<W: Write> Renderer for EventLines<W> {
    fn event(&mut self, event: &SuiteEvent<'_>) -> io::Result<()> {
        let Some(line) = SuiteLine::of(event) else { return Ok(()) };
        writeln!(self.0, "{}", serde_json::to_string(&line)?)?;
        self.0.flush()
    }
}
