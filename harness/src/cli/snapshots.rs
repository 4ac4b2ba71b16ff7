//! `--snapshots`, `accept` and `reject`: kept transcripts, and the review of those that differ.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};

use super::args::ReviewArgs;
use super::exit::ProgramExit;
use super::output::{say, stdout};
use super::plan::RunPlan;
use crate::case::model::Case;
use crate::report::count;
use crate::run::{Jobs, Next, Progress, RunMode, run_all};
use crate::snapshot::{self, Bound, Kept, SnapshotFolder, TranscriptChanges, Waiting, changes, text};
use crate::trace::Trace;

/// The transcripts of a run, compared as the cases end.
pub(super) struct Snapshots {
    folder: SnapshotFolder,
    shown: String,
    first: usize,
    missing: Vec<String>,
    different: Vec<(String, Difference)>,
}

/// A transcript that differs from the kept one.
struct Difference {
    said: String,
    changes: TranscriptChanges,
}

/// The number of repetitions of a case whose transcript differs, if there are few such cases; and the most runs in
/// total, if there are many, since many differences are hardly random.
const REPEATS: usize = 8;
const MOST_REPEATS: usize = 40;

/// The variable that marks a run without a reviewer.
const CI: &str = "CI";

impl Snapshots {
    /// The transcripts of a folder. Without a reviewer, no files are written.
    pub(super) fn open(dir: &Path) -> Self {
        let alone = std::env::var(CI).is_ok_and(|value| !["", "0", "false"].contains(&value.as_str()));
        Self {
            folder: SnapshotFolder::new(dir.to_owned(), !alone),
            shown: dir.display().to_string(),
            first: 0,
            missing: Vec::new(),
            different: Vec::new(),
        }
    }

    /// Compares the transcript of a case that has ended.
    pub(super) fn ended(&mut self, trace: &Trace) -> anyhow::Result<()> {
        let id = trace.header.case.clone().unwrap_or_default();
        let said = text(trace);
        match self.folder.compare(&id, &said).with_context(|| format!("--snapshots {}: {id}", self.shown))? {
            Kept::Same => {}
            Kept::First => self.first += 1,
            Kept::Missing => self.missing.push(id),
            Kept::Differs(changes) => self.different.push((id, Difference { said, changes })),
        }
        Ok(())
    }

    /// Prints the differences, and returns whether the snapshots are equal. Cases that differ run again: a real change
    /// shows each time.
    pub(super) fn conclude(mut self, plan: &RunPlan) -> anyhow::Result<bool> {
        self.different.sort_by(|(a, _), (b, _)| a.cmp(b));
        let unstable = if plan.subject.agent_folder.is_some() { BTreeSet::new() } else { self.unstable(plan) };
        for id in &unstable {
            self.folder.withdraw(id)?;
        }
        self.different.retain(|(id, _)| !unstable.contains(id));
        self.report_unstable(&unstable);
        Ok(self.missing.is_empty() && self.different.is_empty())
    }

    /// Repeats cases that differ, and finds those that vary from run to run. It runs more in parallel than usual, since
    /// a random effect of a busy machine hardly repeats on an idle one.
    fn unstable(&self, plan: &RunPlan) -> BTreeSet<String> {
        let seen: BTreeMap<&str, &Difference> = self.different.iter().map(|(id, it)| (id.as_str(), it)).collect();
        let cases = plan.cases.iter().filter(|case| seen.contains_key(case.id.as_str()));
        let repeats = MOST_REPEATS.checked_div(seen.len()).unwrap_or_default().clamp(1, REPEATS);
        let cases: Vec<Case> = cases.flat_map(|case| std::iter::repeat_n(case, repeats)).cloned().collect();
        let mut unstable = BTreeSet::new();
        run_all(
            &cases,
            &plan.subject,
            Jobs::exactly(Jobs::of(plan.subject.party, plan.options.limits.jobs).usual * 2),
            |_| RunMode::Alone,
            |event| {
                if let Progress::Ended { trace, .. } = event
                    && let Some(id) = &trace.header.case
                    && seen.get(id.as_str()).is_some_and(|it| changes(&it.said, &text(&trace), Bound::Glance).is_some())
                {
                    unstable.insert(id.clone());
                }
                Next::Continue
            },
        );
        unstable
    }

    fn report_unstable(&self, unstable: &BTreeSet<String>) {
        let Self { shown, first, missing, different, .. } = self;
        if *first > 0 {
            let transcripts = count(*first, "transcript was", "transcripts were");
            say(&format!("\n{shown}: {transcripts} written for the first time. Review and commit them"));
        }
        if !unstable.is_empty() {
            say(&format!(
                "\n{shown}: these cases differ from run to run and were not compared:\n  {}",
                unstable.iter().map(String::as_str).collect::<Vec<_>>().join("\n  ")
            ));
        }
        for (id, Difference { changes, .. }) in different {
            say(&format!("\n{id}: the transcript differs\n{}", indented(changes)));
        }
        if !different.is_empty() {
            say(&format!(
                "\n{} from {shown}. Review what changed, then\n  \
                 acp-conformance accept {shown}   if they are correct\n  \
                 acp-conformance reject {shown}   if not\nTo accept some alone: --case TEXT. Nothing is written where {CI} is set.",
                count(different.len(), "transcript differs", "transcripts differ")
            ));
        }
        if !missing.is_empty() {
            say(&format!(
                "\n{} missing in {shown}; nothing is written where {CI} is set. Run it without {CI}, read what is written, and \
                 keep it:\n  {}",
                count(missing.len(), "transcript is", "transcripts are"),
                missing.join("\n  ")
            ));
        }
    }
}

fn indented(changes: &TranscriptChanges) -> String {
    let lines = changes.diff.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n");
    if changes.cut { format!("{lines}\n  … the rest was cut") } else { lines }
}

/// Runs `accept`.
pub(super) fn accept(args: &ReviewArgs) -> anyhow::Result<ProgramExit> {
    review(args, "accepted", snapshot::accept)
}

/// Runs `reject`.
pub(super) fn reject(args: &ReviewArgs) -> anyhow::Result<ProgramExit> {
    review(args, "rejected", snapshot::reject)
}

fn review(args: &ReviewArgs, done: &str, act: fn(&Waiting) -> std::io::Result<()>) -> anyhow::Result<ProgramExit> {
    let shown = args.dir.display();
    let waiting = snapshot::waiting(&args.dir).with_context(|| format!("cannot read {shown}"))?;
    let is_wanted =
        |one: &&Waiting| args.cases.is_empty() || args.cases.iter().any(|text| one.case.contains(text.as_str()));
    let wanted: Vec<&Waiting> = waiting.iter().filter(is_wanted).collect();
    if wanted.is_empty() && !args.cases.is_empty() {
        bail!("no changed transcript in {shown} matches --case");
    }
    for one in &wanted {
        act(one).with_context(|| format!("{shown}: {}", one.case))?;
        writeln!(stdout(), "{done}  {}", one.case)?;
    }
    if wanted.is_empty() {
        writeln!(stdout(), "no changed transcripts in {shown}")?;
    }
    Ok(ProgramExit::Good)
}
