//! The page `docs/kill-table.md`: the requirement that catches each fault, and its other failures.

use std::fmt::Write;

use super::entry::Sources;
use super::markdown::{Page, heading};
use crate::fault::Fault;
use crate::report::visible::in_markdown;
use crate::requirement::{Party, Status};

const WORDS: &str = "\
A check that cannot fail proves nothing. So each fault below is one deliberate mistake of a peer that otherwise conforms, and \
the self test plants it in the cases that the fault names and in every case in which the clean peer exercises what it \
breaks. There exactly the requirements of its row must fail, and no other: the one that catches it, and what follows from \
that. The clean peers must pass everything.

```sh
cargo test -p acp-conformance-peers --test selftest
```

What nearly every case exercises is looked for in one case of each area, and with `-- --ignored` in all of them.
";

/// Makes the kill table.
#[must_use]
pub fn kill_table(sources: &Sources) -> Page {
    let bundle = sources.bundle;
    let mut text = format!("# Kill table{}\n\n{}\n\n{WORDS}\n", heading(bundle), origin());
    text.push_str("| party | faults | requirements checked | caught by a fault | without a fault |\n");
    text.push_str("|---|--:|--:|--:|--:|\n");
    for party in Party::ALL {
        let checked = || sources.bundle.catalogue().iter().filter(|r| r.party == party && r.status == Status::Checked);
        let proven = checked().filter(|r| sources.faults().any(|fault| fault.kills == r.id)).count();
        let faults = sources.faults().filter(|fault| fault.party == party).count();
        let all = checked().count();
        let _ = writeln!(text, "| {party} | {faults} | {all} | {proven} | {} |", all - proven);
    }
    for party in Party::ALL {
        let _ = writeln!(text, "\n## Faults of {party}s\n");
        let _ =
            writeln!(text, "| fault | what the {party} does wrong | caught by | fails besides |\n|---|---|---|---|");
        for requirement in sources.bundle.catalogue().iter().filter(|r| r.party == party) {
            let faults = sources.faults().filter(|fault| fault.kills == requirement.id);
            faults.for_each(|fault| row(&mut text, fault, &requirement.id));
        }
    }
    text.push_str("\n## Checked, and without a fault\n\n| requirement | why no fault proves it |\n|---|---|\n");
    for requirement in sources.bundle.catalogue().iter() {
        if let Some(why) = &requirement.no_fault {
            let _ = writeln!(text, "| `{}` | {} |", requirement.id, in_markdown(why));
        }
    }
    let suffix = if bundle.is_draft() { format!("-{}", bundle.case_folder()) } else { String::new() };
    Page { name: format!("kill-table{suffix}.md"), text }
}

fn row(text: &mut String, fault: &Fault, caught: &str) {
    let also = fault.also.iter().map(|(id, reason)| format!("{id}: {}", in_markdown(reason)));
    let sometimes = fault.sometimes.iter().map(|(id, reason)| format!("sometimes {id}: {}", in_markdown(reason)));
    let also = also.chain(sometimes);
    let also = also.collect::<Vec<_>>().join("<br>");
    let (id, path, title) = (&fault.id, fault.source.path(), in_markdown(&fault.title));
    let _ = writeln!(text, "| [`{id}`](../{path}) | {title} | `{caught}` | {also} |");
}

const fn origin() -> &'static str {
    "<!-- Made from cases/ by `ACP_BLESS=1 cargo test --test tidy`. Change the catalogue, the cases or the faults instead. -->"
}
