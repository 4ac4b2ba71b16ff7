//! Applies the table: each problem goes to its first owner.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::Value;

use super::owners::{AGENT_OWN, CLIENT_OWN, CUSTOM_VALUES, OPEN_VARIANT, VARIANT};
use super::row::Row;
use super::{agent, client, v2};
use crate::conversation::Payload;
use crate::fact;
use crate::finding::Fact;
use crate::judge::registry::Registry;
use crate::judge::tallies::Tallies;
use crate::protocol::{Member, NameMap, Problem, ProblemKind, Site};
use crate::requirement::Party;
use crate::wire::Members;

/// The half of the table for one party.
struct Table {
    rows: &'static [Row],
    /// The rows by definition, each with the place of its requirement.
    index: NameMap<&'static str, Vec<(usize, &'static Row)>>,
    /// The catch-all for problems that no row owns.
    valid: Owner,
    /// Members whose name is another spelling of a known one.
    members: Owner,
    /// Values that are another spelling of a known one.
    spelling: Owner,
    /// Problems in a `_meta`.
    meta: Owner,
    /// The kinds of updates.
    variant: Owner,
    /// Values of open sets that no row owns; none where values of a party's own are not allowed at all.
    custom: Option<&'static str>,
}

/// A requirement that the table decides outside its rows. Nearly every payload passes it, so its place is stored.
struct Owner {
    requirement: &'static str,
    place: Option<usize>,
}

impl Owner {
    fn new(requirement: &'static str) -> Self {
        Self { requirement, place: Registry::all().place(requirement) }
    }

    fn pass(&self, event: usize, tallies: &mut Tallies) {
        if let Some(place) = self.place {
            tallies.ruling_at(place, event).pass();
        }
    }
}

/// The tables of the majors, that of the agent first.
static TABLES: LazyLock<[[Table; 2]; 2]> = LazyLock::new(|| {
    [
        [Table::of(agent::ROWS, AGENT_OWN, VARIANT, None), Table::of(client::ROWS, CLIENT_OWN, VARIANT, None)],
        [
            Table::of(v2::AGENT, AGENT_OWN, OPEN_VARIANT, Some(CUSTOM_VALUES[0])),
            Table::of(v2::CLIENT, CLIENT_OWN, OPEN_VARIANT, Some(CUSTOM_VALUES[1])),
        ],
    ]
});

/// The requirement at which a null of a client's capabilities is noted.
const CAPABILITIES: &str = "init.capability-types.client";

/// Members for which receivers treat null as absent: method, place and the requirement that notes it.
const NULL_IS_ABSENT: [(&str, &str, &str); 6] = [
    ("terminal/create", "/args", "terminal.create.params"),
    ("terminal/create", "/env", "terminal.create.params"),
    ("session/new", "/additionalDirectories", "session.new.params"),
    ("session/load", "/additionalDirectories", "load.params"),
    ("session/resume", "/additionalDirectories", "resume.params"),
    ("session/resume", "/mcpServers", "resume.params"),
];

/// Results of a client for which null is an older form of an empty object.
const NULL_IS_EMPTY: [&str; 3] = ["WriteTextFileResponse", "KillTerminalResponse", "ReleaseTerminalResponse"];

/// Attributes every problem of the payload, and counts what was fine.
pub(in crate::judge) fn judge(
    payload: &Payload<'_>,
    (major, party): (u16, Party),
    event: usize,
    tallies: &mut Tallies,
) {
    let table = &TABLES[usize::from(major > 1)][party as usize];
    if payload.value.is_null() && NULL_IS_EMPTY.contains(&payload.definition) {
        return table.pass_null(payload, event, tallies);
    }
    for at in payload.of_other_revision {
        tallies.ruling(table.valid.requirement, event).note(fact!(
            "newer-schema",
            "schema {revision} defines {pointer} in {method}, and this edition does not judge it",
            revision = payload.revision,
            pointer = at,
            method = payload.method
        ));
    }
    let mut owned = BTreeSet::new();
    table.spelling(payload, event, tallies, &mut owned);
    table.variants(payload, event, tallies, &mut owned);
    table.metas(payload, event, tallies, &mut owned);
    if payload.problems.is_empty() && payload.value.is_object() {
        table.pass(payload, event, tallies);
    } else {
        table.attribute(payload, event, tallies, owned);
    }
}

impl Table {
    fn of(
        rows: &'static [Row],
        [valid, members, spelling, meta]: [&'static str; 4],
        variant: &'static str,
        custom: Option<&'static str>,
    ) -> Self {
        let mut index: NameMap<&'static str, Vec<(usize, &'static Row)>> = NameMap::default();
        for row in rows {
            let place = Registry::all().place(row.requirement);
            index.entry(row.definition).or_default().extend(place.map(|place| (place, row)));
        }
        let [valid, members, spelling, meta] = [valid, members, spelling, meta].map(Owner::new);
        Self { rows, index, valid, members, spelling, meta, variant: Owner::new(variant), custom }
    }

    /// Counts the passes of a payload without problems. A part that only another revision defines shows nothing about
    /// the rows that hold it.
    fn pass(&self, payload: &Payload<'_>, event: usize, tallies: &mut Tallies) {
        for object in &payload.parts.objects {
            for (place, row) in object.definitions().filter_map(|name| self.index.get(name)).flatten() {
                let is_other = |place: &String| row.holds(&object.at, place);
                if row.is_exercised(object.value) && !payload.of_other_revision.iter().any(is_other) {
                    tallies.ruling_at(*place, event).pass();
                }
            }
        }
        if !payload.of_other_revision.is_empty() {
            return;
        }
        self.valid.pass(event, tallies);
        if let Some(requirement) = self.custom.filter(|_| payload.parts.members.iter().any(is_of_open_set)) {
            tallies.ruling(requirement, event).pass();
        }
    }

    /// Passes and notes the older form of an empty result.
    fn pass_null(&self, payload: &Payload<'_>, event: usize, tallies: &mut Tallies) {
        for (place, row) in self.index.get(payload.definition).into_iter().flatten() {
            let mut ruling = tallies.ruling_at(*place, event);
            ruling.pass();
            ruling.note(fact!(
                "null-result",
                "the client answered {method} with null, the older form of an empty object",
                method = payload.method;
                pointer = "/result", requirement = row.requirement
            ));
        }
    }

    /// Assigns each problem to the first row that owns it.
    fn attribute(&self, payload: &Payload<'_>, event: usize, tallies: &mut Tallies, mut owned: BTreeSet<usize>) {
        // A payload that is not an object has no places, and belongs to the first row of its definition.
        let whole = Some(("", payload.value)).filter(|_| !payload.value.is_object());
        for row in self.rows {
            for (at, value) in
                payload.places(row.definition).chain(whole.filter(|_| row.definition == payload.definition))
            {
                let mine: Vec<usize> = (0..payload.problems.len())
                    .filter(|index| !owned.contains(index) && row.owns(at, &payload.problems[*index]))
                    .collect();
                if mine.is_empty() && row.is_exercised(value) {
                    tallies.ruling(row.requirement, event).pass();
                }
                for index in mine {
                    owned.insert(index);
                    // A recording that cannot decide the requirement still shows the message.
                    let owner = if tallies.decides(row.requirement) { row.requirement } else { self.valid.requirement };
                    fail(owner, payload, &payload.problems[index], event, tallies);
                }
            }
        }
        if payload.problems.is_empty() {
            self.valid.pass(event, tallies);
        }
        for (_, problem) in payload.problems.iter().enumerate().filter(|(index, _)| !owned.contains(index)) {
            let owner = self.custom.filter(|_| problem.kind == ProblemKind::NotInSet);
            fail(owner.unwrap_or(self.valid.requirement), payload, problem, event, tallies);
        }
    }

    /// Checks the names of members: a known one in another spelling explains the missing one.
    ///
    /// Correct but unusual: members of drafts, and any name in `_meta`, `rawInput` or `rawOutput`. These do not count
    /// as misspelt.
    fn spelling(&self, payload: &Payload<'_>, event: usize, tallies: &mut Tallies, owned: &mut BTreeSet<usize>) {
        let mut misspelt = false;
        for member in &payload.parts.members {
            let Site::Misspelt(known) = member.known else { continue };
            let at = member.at();
            if payload.drafts.contains(&at) || payload.of_other_revision.contains(&at) {
                continue;
            }
            misspelt = true;
            let parent = at.rsplit_once('/').map_or("", |(parent, _)| parent);
            let wanted = format!("{parent}/{known}");
            owned.extend((0..payload.problems.len()).filter(|&index| payload.problems[index].at == wanted));
            let fact = fact!(
                "misspelt-member",
                "the member {pointer} of {method} is misspelt; expected the protocol's spelling `{expected}`",
                pointer = at,
                method = payload.method,
                expected = known;
                actual = member.name
            );
            tallies.ruling(self.members.requirement, event).fail(fact);
        }
        let tempting = |name: &str| name.contains(char::is_uppercase);
        if !misspelt && payload.parts.members.iter().any(|m| m.known == Site::Defined && tempting(m.name)) {
            self.members.pass(event, tallies);
        }
    }

    /// Checks the closed sets of strings: the variant of an update, and the spelling of discriminators.
    ///
    /// Correct but unusual: values of drafts, which are only noted, and values of open sets, which the schema allows.
    fn variants(&self, payload: &Payload<'_>, event: usize, tallies: &mut Tallies, owned: &mut BTreeSet<usize>) {
        for (index, problem) in payload.problems.iter().enumerate().filter(|(_, p)| p.kind == ProblemKind::NotInSet) {
            let found = payload.value.pointer(&problem.at).and_then(Value::as_str).unwrap_or_default();
            if problem.expected.iter().any(|known| known != found && plain(known) == plain(found)) {
                owned.insert(index);
                fail(self.spelling.requirement, payload, problem, event, tallies);
            } else if payload.method == "session/update" && problem.at == "/update/sessionUpdate" {
                owned.insert(index);
                fail(self.variant.requirement, payload, problem, event, tallies);
            }
        }
        let has_set = payload
            .parts
            .members
            .iter()
            .any(|m| matches!(m.name, "sessionUpdate" | "type" | "kind" | "status" | "stopReason" | "outcome"));
        if has_set && payload.problems.iter().all(|problem| problem.kind != ProblemKind::NotInSet) {
            self.spelling.pass(event, tallies);
        }
        let kind = payload.value.member("update").and_then(|update| update.member("sessionUpdate"));
        let known = kind.is_some_and(Value::is_string);
        let draft = payload.drafts.iter().any(|at| at == "/update/sessionUpdate");
        let newer = payload.of_other_revision.iter().any(|at| at == "/update/sessionUpdate");
        if payload.method == "session/update"
            && known
            && !(draft || newer)
            && payload.problems.iter().all(|p| p.at != "/update/sessionUpdate")
        {
            self.variant.pass(event, tallies);
        }
        if draft {
            let fact = fact!(
                "draft-update",
                "the agent sent the update kind `{actual}`, which only the unstable schema defines",
                actual = kind;
                pointer = "/update/sessionUpdate"
            );
            tallies.ruling(self.variant.requirement, event).note(fact);
        }
    }

    /// Checks `_meta`, which every object may have, and removes problems with values that receivers treat as absent.
    ///
    /// Correct but unusual: a `_meta` that is null or empty, and one of any content. Only its type counts.
    fn metas(&self, payload: &Payload<'_>, event: usize, tallies: &mut Tallies, owned: &mut BTreeSet<usize>) {
        for (index, problem) in payload.problems.iter().enumerate() {
            let absent = NULL_IS_ABSENT.iter().find(|(method, at, _)| payload.method == *method && problem.at == *at);
            let null = payload.value.pointer(&problem.at) == Some(&Value::Null);
            if problem.at.ends_with("/_meta") && owned.insert(index) {
                fail(self.meta.requirement, payload, problem, event, tallies);
            } else if let Some((_, at, requirement)) = absent.filter(|_| null && owned.insert(index)) {
                tallies.ruling(requirement, event).note(fact!(
                    "null-list",
                    "{pointer} of {method} is null, which receivers read as an empty list",
                    pointer = at,
                    method = payload.method
                ));
            } else if null && is_capability(payload, problem) && owned.insert(index) {
                tallies.ruling(CAPABILITIES, event).note(fact!(
                    "null-capability",
                    "{pointer} of {method} is null, which counts as unsupported",
                    pointer = problem.at,
                    method = payload.method
                ));
            }
        }
        let metas = payload.parts.members.iter().filter(|member| member.name == "_meta");
        if metas.clone().next().is_some() && metas.clone().all(|meta| meta.value.is_object() || meta.value.is_null()) {
            self.meta.pass(event, tallies);
        }
    }
}

/// Whether the problem is in the capabilities of a client, for which receivers use the default.
fn is_capability(payload: &Payload<'_>, problem: &Problem) -> bool {
    payload.method == "initialize" && (problem.at == "/clientCapabilities" || problem.is_null_capability(payload.value))
}

fn fail(requirement: &str, payload: &Payload<'_>, problem: &Problem, event: usize, tallies: &mut Tallies) {
    let fact = Fact::of_problem(payload.from, payload.method, payload.is_result, problem);
    let mut ruling = tallies.ruling(requirement, event);
    // An agent may show a prompt as it came, also one with a block that the tester made wrong on purpose.
    ruling.fail_unless(payload.may_repeat && problem.at.starts_with("/update/content"), fact);
}

/// Whether the member holds a value of an open set: one of the protocol, or one of the party's own.
fn is_of_open_set(member: &Member<'_>) -> bool {
    const SETS: [&str; 10] =
        ["sessionUpdate", "type", "kind", "status", "state", "stopReason", "outcome", "action", "category", "severity"];
    SETS.contains(&member.name) && member.value.is_string()
}

fn plain(text: &str) -> String {
    text.replace(['_', '-', ' '], "").to_lowercase()
}
