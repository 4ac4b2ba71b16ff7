//! `--expected`: known failures, read before a run, applied after it, and updated on request.

use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context, bail};

use super::args::ExpectedArgs;
use super::output::{say, show};
use crate::diagnostic::Diagnostic;
use crate::edition::Bundle;
use crate::expected::{self, BaselineChanges, Comparison, Date, Expectation};
use crate::output_file::{OutputFile, write_file};
use crate::report::today;
use crate::requirement::{Catalogue, Party};
use crate::results::RunReport;

/// The expected failures of a subject.
pub(super) struct Baseline {
    file: Option<File>,
    others: Vec<Expectation>,
    update: bool,
    today: Date,
    bundle: &'static Bundle,
}

/// The file of `--expected`.
struct File {
    path: PathBuf,
    text: String,
    entries: Vec<Expectation>,
}

impl Baseline {
    /// Reads the expected failures of this party, or of both. A profile or earlier reports may add entries; for the
    /// same requirement or case, the file has precedence. Returns `None` without any entry.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has mistakes, which have been shown.
    pub(super) fn load(
        args: &ExpectedArgs,
        others: Option<Vec<Expectation>>,
        party: Option<Party>,
        bundle: &'static Bundle,
    ) -> anyhow::Result<Option<Self>> {
        if args.expected.is_none() && others.is_none() {
            return Ok(None);
        }
        let file =
            args.expected.clone().map(|path| File::read(path, args.update_expected, party, bundle)).transpose()?;
        let in_file: Vec<String> = file.iter().flat_map(|file| &file.entries).map(ToString::to_string).collect();
        let mut others = others.unwrap_or_default();
        others.retain(|entry| !in_file.contains(&entry.to_string()));
        let today = args.today.unwrap_or_else(today);
        Ok(Some(Self { file, others, update: args.update_expected, today, bundle }))
    }

    /// Whether the failure of this requirement in this case is expected.
    pub(super) fn covers(&self, requirement: &str, case: &str) -> bool {
        self.entries().iter().any(|entry| entry.covers(requirement, case) && !entry.is_expired(self.today))
    }

    /// Checks that all named cases are among these.
    ///
    /// # Errors
    ///
    /// One is not; its mistake has been shown.
    pub(super) fn check_cases(&self, cases: &[&str]) -> anyhow::Result<()> {
        let problems = expected::unknown_cases(&self.entries(), cases);
        show(&problems);
        if problems.is_empty() { Ok(()) } else { bail!("the expected failures name unknown cases") }
    }

    /// Adds the results of the expectations to the reports, after updating the file. A report comes with whether all
    /// cases for its subject ran.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(super) fn apply_expected(&mut self, reports: &mut [(&mut RunReport, bool)]) -> anyhow::Result<()> {
        if self.update {
            let (entries, catalogue) = (self.entries(), self.bundle.catalogue());
            let runs: Vec<_> = reports.iter().map(|(report, whole)| self.compared(report, *whole)).collect();
            if let Some(file) = &mut self.file {
                file.change(&Comparison::changes(&runs, &entries, file.entries.len()), catalogue)?;
            }
        }
        let entries = self.entries();
        for (report, whole) in reports {
            report.expected = Some(self.compared(report, *whole).apply(&entries));
        }
        Ok(())
    }

    fn compared<'r>(&self, report: &'r RunReport, whole: bool) -> Comparison<'r> {
        Comparison { report, whole, today: self.today, catalogue: self.bundle.catalogue() }
    }

    /// Returns all entries; those of the file come first.
    fn entries(&self) -> Vec<Expectation> {
        let of_file = self.file.iter().flat_map(|file| &file.entries);
        of_file.chain(&self.others).cloned().collect()
    }
}

impl File {
    fn read(path: PathBuf, may_be_new: bool, party: Option<Party>, bundle: &'static Bundle) -> anyhow::Result<Self> {
        let shown = path.display().to_string();
        if path.is_dir() {
            bail!("--expected {shown}: is a folder; expected a file");
        }
        if may_be_new {
            // A long run would be lost if its end found that out.
            OutputFile::create(&path).with_context(|| format!("cannot write {shown}"))?;
        }
        let bytes = match std::fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound && may_be_new => Vec::new(),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!("--expected {shown}: file not found; --update-expected creates it")
            }
            other => other.with_context(|| format!("--expected {shown}"))?,
        };
        let (entries, problems) = expected::load_bytes(&shown, &bytes, party, bundle.catalogue());
        show(&problems);
        let entries = entries.with_context(|| format!("--expected {shown} has mistakes; nothing was run"))?;
        Ok(Self { path, text: String::from_utf8_lossy(&bytes).into_owned(), entries })
    }

    fn change(&mut self, changes: &BaselineChanges, catalogue: &Catalogue) -> anyhow::Result<()> {
        let shown = self.path.display().to_string();
        if *changes == BaselineChanges::default() {
            say(&format!("{shown}: nothing to change"));
            return Ok(());
        }
        let text = expected::update(&self.text, changes).map_err(|error| anyhow::anyhow!("{shown}: {error}"))?;
        write_file(&self.path, |out| out.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write {shown}"))?;
        say(&format!("{shown}: changed"));
        for &index in &changes.removed {
            say(&format!("  removed  {}: it no longer fails", self.entries[index]));
        }
        for entry in &changes.added {
            say(&format!("  added    {entry}: write a `reason`"));
        }
        let (entries, problems) = expected::load_bytes(&shown, text.as_bytes(), None, catalogue);
        let sound = entries.filter(|_| !problems.iter().any(Diagnostic::is_error));
        self.entries = sound.with_context(|| format!("{shown}: cannot read the updated file"))?;
        self.text = text;
        Ok(())
    }
}
