//! The page of a run, or of a recording with a report for each party.

use std::collections::BTreeMap;
use std::io::{self, Write};

use maud::html;

use super::chart::Chart;
use super::data::{PageData, Reported};
use super::document::PageDocument;
use super::head;
use crate::report::event::{Renderer, SuiteEvent};
use crate::results::RunReport;

/// Collects the events, and writes the page at the end.
pub struct PageReport<W> {
    out: W,
    board: Option<&'static str>,
    reproduce: String,
    reports: Vec<Reported>,
    /// The chart of each case as JSON; none if several traces belong to one case.
    charts: BTreeMap<String, Option<String>>,
}

impl<W: Write> PageReport<W> {
    /// Writes a page to this stream.
    pub const fn new(out: W) -> Self {
        Self { out, board: None, reproduce: String::new(), reports: Vec::new(), charts: BTreeMap::new() }
    }

    /// Adds a link to a board of subjects at this address.
    pub fn with_board(self, address: &'static str) -> Self {
        Self { board: Some(address), ..self }
    }

    /// Writes the page, and returns the stream.
    pub fn finish(mut self) -> io::Result<W> {
        self.close()?;
        Ok(self.out)
    }

    /// Adds a report, if no run has begun.
    pub fn report(&mut self, report: RunReport) {
        let reproduce = std::mem::take(&mut self.reproduce);
        self.reports.push(Reported { report, reproduce });
    }

    /// Adds the chart of a case.
    ///
    /// # Errors
    ///
    /// None in practice: a chart can always be written as JSON.
    pub fn chart(&mut self, case: &str, chart: &Chart) -> io::Result<()> {
        let chart = serde_json::to_string(chart)?;
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
            SuiteEvent::Start(_) | SuiteEvent::Played(_) | SuiteEvent::First(_) | SuiteEvent::Case(..) => {}
        }
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        let data = serde_json::to_string(&PageData::of(&self.reports))?;
        let title = head::title(&self.reports);
        let head = html! {
            @if let Some(board) = self.board { p class="facts" { a href=(board) { "All subjects" } } }
            (head::head(&self.reports))
        };
        let document = PageDocument { title: &title, head: &head, script: include_str!("page.js"), data: &data };
        let charts = self.charts.iter().map(|(case, chart)| (case.as_str(), chart.as_deref().unwrap_or("null")));
        document.write(&mut self.out, charts)?;
        self.out.flush()
    }
}
