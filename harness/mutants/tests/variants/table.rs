//! Counts the variants that exercised each requirement.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;

use acp_conformance::edition::Bundle;
use acp_conformance::requirement::Party;

/// The results of the variants.
#[derive(Default)]
pub struct Counts {
    /// By requirement.
    by_requirement: BTreeMap<String, Count>,
    /// All variants of traces and of runs.
    pub variants: [usize; 2],
    /// The variants of each transformation.
    pub by_kind: BTreeMap<String, usize>,
}

/// The results of variants of conversations that satisfy a requirement.
#[derive(Default, Clone)]
struct Count {
    /// The number of conversations that satisfy it as recorded.
    recordings: BTreeSet<String>,
    /// Variants that satisfy it, too.
    passed: usize,
    /// Variants in which it is no longer decided.
    undecided: usize,
    /// Variants that violate it.
    failed: usize,
}

/// The result of a variant for a requirement.
#[derive(Clone, Copy)]
pub enum Seen {
    /// It is satisfied.
    Passed,
    /// It is not decided.
    Undecided,
    /// It is violated.
    Failed,
}

impl Counts {
    /// Counts a variant of a case that satisfied the requirement as recorded.
    pub fn add(&mut self, requirement: &str, case: &str, seen: Seen) {
        let count = self.by_requirement.entry(requirement.to_owned()).or_default();
        count.recordings.insert(case.to_owned());
        match seen {
            Seen::Passed => count.passed += 1,
            Seen::Undecided => count.undecided += 1,
            Seen::Failed => count.failed += 1,
        }
    }

    /// Returns the table in Markdown, with a row for each requirement that was exercised.
    pub fn markdown(&self, bundle: &'static Bundle, seeds: &Range<u64>) -> String {
        let of = if bundle.is_draft() { format!(" of {}", bundle.label()) } else { String::new() };
        let mut text = format!("# Legal variants per requirement{of}\n\n");
        let [traces, runs] = self.variants;
        let failed: usize = self.by_requirement.values().map(|count| count.failed).sum();
        let (first, last) = (seeds.start, seeds.end - 1);
        text.push_str(
            "A variant is a conforming conversation of a reference program, changed in a way that the specification allows. \
            No requirement may fail in it.\n\
            *Undecided* counts variants in which a requirement is no longer exercised, for example because the lines arrive \
            at other times.\n\n",
        );
        let _ = writeln!(
            text,
            "{traces} variants of recorded conversations and {runs} varied runs with the seeds {first} to {last}: {failed} false \
            failures.\n"
        );
        let rounds = seeds.end - seeds.start;
        let _ = writeln!(
            text,
            "```sh\nACP_SEED={first} ACP_ROUNDS={rounds} ACP_VARIANTS_TABLE=variants.md cargo test -p acp-conformance-mutants --test variants\n```\n"
        );
        for party in Party::ALL {
            let _ = writeln!(text, "## Requirements of the {party}\n");
            text.push_str("| requirement | level | conversations | variants that satisfy it | undecided | fail |\n");
            text.push_str("|---|---|--:|--:|--:|--:|\n");
            for requirement in bundle.catalogue().iter().filter(|requirement| requirement.party == party) {
                let Some(count) = self.by_requirement.get(&requirement.id) else { continue };
                let _ = writeln!(
                    text,
                    "| `{}` | {} | {} | {} | {} | {} |",
                    requirement.id,
                    requirement.level.name(),
                    count.recordings.len(),
                    count.passed,
                    count.undecided,
                    count.failed
                );
            }
            text.push('\n');
        }
        text.push_str("## Transformations\n\n| transformation | variants |\n|---|--:|\n");
        for (name, variants) in &self.by_kind {
            let _ = writeln!(text, "| {name} | {variants} |");
        }
        text
    }
}
