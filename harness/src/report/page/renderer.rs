//! The page of a run, or of a recording with a report for each party.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::chart::Chart;
use super::data::{PageData, Reported};
use super::document::{PageDocument, json};
use super::head;
use crate::report::event::{Renderer, SuiteEvent};
use crate::report::model::RunReport;

/// Gathers what is told, and writes the page when nothing more comes.
pub struct PageReport<W> {
    out: W,
    reproduce: String,
    reports: Vec<Reported>,
    /// The chart of each case as JSON; none where several traces are of one case.
    charts: BTreeMap<String, Option<String>>,
}

impl<W: Write> PageReport<W> {
    /// A page on this stream.
    pub const fn new(out: W) -> Self {
        Self { out, reproduce: String::new(), reports: Vec::new(), charts: BTreeMap::new() }
    }

    /// Writes the page, and gives the stream back.
    ///
    /// # Errors
    ///
    /// Only those of the stream.
    pub fn finish(mut self) -> io::Result<W> {
        self.close()?;
        Ok(self.out)
    }

    /// Takes in a report, where no run has begun.
    pub fn report(&mut self, report: RunReport) {
        let reproduce = std::mem::take(&mut self.reproduce);
        self.reports.push(Reported { report, reproduce });
    }

    /// Takes in the chart of a case.
    ///
    /// # Errors
    ///
    /// None that a chart could bring about.
    pub fn chart(&mut self, case: &str, chart: &Chart) -> io::Result<()> {
        let chart = json(chart)?;
        match self.charts.get_mut(case) {
            Some(known) if known.as_ref() != Some(&chart) => *known = None,
            Some(_) => {}
            None => drop(self.charts.insert(case.to_owned(), Some(chart))),
        }
        Ok(())
    }
}

impl<W: Write> Renderer for PageReport<W> {
    fn event(&mut self, event: &SuiteEvent<'_>) -> io::Result<()> {
        match event {
            SuiteEvent::Begin(begin) => self.reproduce.clone_from(&begin.reproduce),
            SuiteEvent::Chart(case, chart) => self.chart(case, chart)?,
            SuiteEvent::Run(report) => self.report((*report).clone()),
            SuiteEvent::Start(_) | SuiteEvent::Played(_) | SuiteEvent::Case(..) => {}
        }
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        let data = json(&PageData::of(&self.reports))?;
        let (title, head) = (head::title(&self.reports), head::head(&self.reports));
        let document = PageDocument { title: &title, head: &head, script: include_str!("page.js"), data: &data };
        let charts = self.charts.iter().map(|(case, chart)| (case.as_str(), chart.as_deref().unwrap_or("null")));
        document.write(&mut self.out, charts)?;
        self.out.flush()
    }
}
