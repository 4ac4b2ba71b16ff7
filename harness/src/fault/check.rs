//! Lowers the fault file to the fault, and reports unknown names, conflicts and changes without an effect.

use crate::case::{Case, LimitOverrides, limits};
use crate::diagnostic::{Diagnostic, did_you_mean, nearest};
use crate::document::{Document, Spot};
use crate::fault::file::{ChangeFile, EditFile, FaultFile, MatchFile};
use crate::fault::model::{Change, Edit, Fault, Matcher, Selector};
use crate::protocol::Edition;
use crate::requirement::{Catalogue, Party, Status};

/// Lowers a file; the fault is usable only without errors.
pub(super) fn lower(
    id: String,
    file: FaultFile,
    document: &Document,
    edition: &Edition,
    cases: &[&str],
) -> (Fault, Vec<Diagnostic>) {
    let root = Spot::root(document);
    let mut problems = Vec::new();
    let party = edition.catalogue.find(&file.kills).map_or(Party::Agent, |known| known.party);
    problems.extend(unfit_requirement(&edition.catalogue, &root.down("kills"), &file.kills, party, false));
    let also = file.also.iter().map(|listed| ("also", listed));
    let sometimes = file.sometimes.iter().map(|listed| ("sometimes", listed));
    for (key, (requirement, reason)) in also.chain(sometimes) {
        let spot = root.down(key).down(requirement);
        problems.extend(unfit_requirement(&edition.catalogue, &spot, requirement, party, true));
        if *requirement == file.kills {
            let problem = spot.key_error("fault::repeated-requirement", "this is what the fault kills anyway");
            problems.push(problem.help("leave the entry out"));
        }
        if reason.trim().is_empty() {
            let problem = spot.error("fault::no-reason", format!("`{requirement}` also fails, but has no reason"));
            problems.push(problem.help("say why it is a consequence of the fault"));
        }
    }
    for (at, case) in &file.case.items {
        let spot = root.down("case").deep(at);
        if !cases.contains(&case.as_str()) {
            let problem = spot.error("fault::unknown-case", format!("unknown case `{case}`"));
            let shape = cases.iter().copied().find(|known| Case::file_of(known) == case);
            let meant = shape.or_else(|| nearest(case, cases.iter().copied()));
            let help = meant.map(|known| format!("did you mean `{known}`?"));
            problems.push(problem.help(help.unwrap_or_else(|| "`acp-conformance list` shows the cases".to_owned())));
        }
    }
    let (own, foreign) = if party == Party::Agent { (&file.agent, &file.client) } else { (&file.client, &file.agent) };
    if !foreign.is_empty() {
        let key = party.other();
        let message = format!("`{key}` has arguments of the reference {key}, and the fault is one of the {party}");
        let problem = root.down(key).key_error("fault::wrong-party", message);
        problems.push(problem.help(format!("put the arguments of the reference {party} into `{party}`")));
    }
    let peer_args = own.clone();
    let edits = edits(&root, &file, edition, party, &mut problems);
    let fault = Fault {
        id,
        title: file.title,
        kills: file.kills,
        cases: file.case.items.into_iter().map(|(_, case)| case).collect(),
        also: file.also,
        sometimes: file.sometimes,
        party,
        peer_args,
        limits: file.limits.as_ref().map_or_else(LimitOverrides::default, limits),
        edits,
        source: document.source.clone(),
    };
    (fault, problems)
}

fn unfit_requirement(catalogue: &Catalogue, spot: &Spot<'_>, id: &str, party: Party, key: bool) -> Option<Diagnostic> {
    let error = |code, message| if key { spot.key_error(code, message) } else { spot.error(code, message) };
    let Some(found) = catalogue.find(id) else {
        let help = nearest(id, catalogue.iter().map(|known| known.id.as_str()))
            .map(|known| format!("did you mean `{known}`?"));
        let problem = error("fault::unknown-requirement", format!("unknown requirement `{id}`"));
        return Some(problem.help(help.unwrap_or_else(|| "cases/requirements/v1.yaml lists them all".to_owned())));
    };
    if found.party != party {
        let message = format!("`{id}` is a requirement for the {}, but the fault is for the {party}", found.party);
        let help = format!("name a requirement that binds the {party}");
        return Some(error("fault::wrong-party", message).help(help));
    }
    (found.status != Status::Checked).then(|| {
        let message = format!("no check covers `{id}`, so no fault can make it fail");
        error("fault::not-checked", message).help(format!("its status in the catalogue is `{}`", found.status.name()))
    })
}

fn edits(
    root: &Spot<'_>,
    file: &FaultFile,
    edition: &Edition,
    party: Party,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Edit> {
    let alone = [("match", file.on.is_some()), ("do", file.change.is_some())];
    let Some(several) = &file.edits else { return edit(root, file, edition, party, problems).into_iter().collect() };
    if let Some((key, _)) = alone.iter().find(|(_, given)| *given) {
        let message = format!("`{key}` cannot be combined with `edits`");
        let problem = root.down(key).key_error("fault::two-forms", message);
        let problem = problem.also(root.source(), root.down("edits").key_span(), "already says what is changed");
        problems.push(problem.help("make it one of the `edits`"));
    }
    let lower = |(i, one): (usize, &EditFile)| {
        let spot = root.down("edits").down(i);
        lower_edit(&spot, &one.on, &one.change, edition, party, problems)
    };
    several.iter().enumerate().filter_map(lower).collect()
}

fn lower_edit(
    spot: &Spot<'_>,
    on: &MatchFile,
    change: &ChangeFile,
    edition: &Edition,
    party: Party,
    problems: &mut Vec<Diagnostic>,
) -> Option<Edit> {
    let on = matcher(&spot.down("match"), on, edition, party, false, problems);
    let change = self::change(&spot.down("do"), change, edition, party, problems);
    if on.as_ref().is_some_and(|on| on.received) && !change.fits_received() {
        let message = "a message that the subject receives can only lose or change members, or be dropped";
        problems.push(
            spot.down("do").error("fault::received-line", message).help("use `set`, `remove`, `rename` or `drop`"),
        );
    }
    on.map(|on| Edit { on, change })
}

fn edit(
    root: &Spot<'_>,
    file: &FaultFile,
    edition: &Edition,
    party: Party,
    problems: &mut Vec<Diagnostic>,
) -> Option<Edit> {
    match (&file.on, &file.change) {
        (Some(on), Some(change)) => lower_edit(root, on, change, edition, party, problems),
        (Some(_), None) => {
            let problem = root.down("match").key_error("fault::no-deviation", "`match` stands without `do`");
            problems.push(problem.help("say what becomes of the message, such as `do: {drop: true}`"));
            None
        }
        (None, Some(_)) => {
            let problem = root.down("do").key_error("fault::no-deviation", "`do` stands without `match`");
            problems.push(problem.help("say which message is meant, such as `match: {result-of: session/prompt}`"));
            None
        }
        (None, None) => {
            if file.agent.is_empty() && file.client.is_empty() {
                let problem = root.down("kills").key_error("fault::no-deviation", "nothing deviates");
                let help = "a fault has `match` and `do`, or arguments of the reference peer in `agent` or `client`";
                problems.push(problem.help(help));
            }
            None
        }
    }
}

/// Returns the members that select a message, exactly one of which is present.
fn selectors(file: &MatchFile) -> Vec<(&'static str, Selector)> {
    let text = |value: &Option<String>, make: fn(String) -> Selector| value.clone().map(make);
    let all = [
        ("method", text(&file.method, Selector::Method)),
        ("result-of", text(&file.result_of, Selector::ResultOf)),
        ("error-of", text(&file.error_of, Selector::ErrorOf)),
        ("update", text(&file.update, Selector::Update)),
        ("any", file.any.map(|_| Selector::Any)),
        ("end", file.end.map(|_| Selector::End)),
    ];
    all.into_iter().filter_map(|(key, selector)| Some((key, selector?))).collect()
}

fn matcher(
    spot: &Spot<'_>,
    file: &MatchFile,
    edition: &Edition,
    party: Party,
    until: bool,
    problems: &mut Vec<Diagnostic>,
) -> Option<Matcher> {
    problems.extend(file.wanted.keys().filter_map(|at| not_a_pointer(&spot.down("where").down(at), at, true)));
    let given = selectors(file);
    if let [(first, _), (second, _), ..] = given.as_slice() {
        let problem =
            spot.down(second).key_error("fault::two-matches", format!("`{second}` cannot be combined with `{first}`"));
        let problem = problem.also(spot.source(), spot.down(first).key_span(), "already says which message is meant");
        problems.push(problem.help("keep one of the two"));
    }
    let Some((key, selector)) = given.into_iter().next() else {
        let problem = spot.error("fault::no-match", "this does not say which message is meant");
        problems.push(problem.help("it takes exactly one of `method`, `result-of`, `error-of`, `update` and `any`"));
        return None;
    };
    if selector == Selector::End && !until {
        let problem = spot.down(key).key_error("fault::end-is-no-message", "the end of the stream cannot be changed");
        problems.push(problem.help("`end: true` stands in `delay-until`"));
    }
    let after = file.after.as_deref().filter(|_| !until);
    let after = after.and_then(|after| matcher(&spot.down("after"), after, edition, party, false, problems));
    let received = file.received.is_some();
    if received && until {
        let problem = spot.down("received").key_error("fault::received-until", "`delay-until` waits for the subject");
        problems.push(problem.help("name a message that the subject sends"));
    }
    let sender = if received { party.other() } else { party };
    let unknown = match &selector {
        Selector::Method(method) => unknown_method(&spot.down(key), edition, sender, method),
        Selector::ResultOf(method) | Selector::ErrorOf(method) => {
            unknown_method(&spot.down(key), edition, sender.other(), method)
        }
        _ => None,
    };
    problems.extend(unknown);
    let wanted = file.wanted.clone().into_iter().collect();
    Some(Matcher { received, selector, wanted, session: file.session, after: after.map(Box::new), nth: file.nth })
}

fn unknown_method(spot: &Spot<'_>, edition: &Edition, party: Party, method: &str) -> Option<Diagnostic> {
    let methods = &edition.methods;
    if method.starts_with('_') || methods.knows(party, method) {
        return None;
    }
    let names: Vec<_> = methods.names(party).collect();
    let problem = spot.error("fault::unknown-method", format!("the {party} calls no method `{method}`"));
    Some(problem.maybe_help(did_you_mean(method, "its methods are", &names)))
}

fn change(
    spot: &Spot<'_>,
    file: &ChangeFile,
    edition: &Edition,
    party: Party,
    problems: &mut Vec<Diagnostic>,
) -> Change {
    for (i, at) in file.remove.iter().enumerate() {
        problems.extend(not_a_pointer(&spot.down("remove").down(i), at, false));
    }
    problems.extend(file.set.keys().filter_map(|at| not_a_pointer(&spot.down("set").down(at), at, true)));
    for (from, to) in &file.rename {
        let spot = spot.down("rename").down(from);
        problems.extend(not_a_pointer(&spot, from, true));
        problems.extend(not_a_pointer(&spot, to, false));
    }
    let delay_until = file.delay_until.as_ref();
    let change = Change {
        rename: file.rename.clone().into_iter().collect(),
        set: file.set.clone().into_iter().collect(),
        remove: file.remove.clone(),
        replace: file.replace.clone(),
        latin_1: file.latin_1.is_some(),
        drop: file.drop.is_some(),
        duplicate: file.duplicate.is_some(),
        before: file.before.clone(),
        after: file.after.clone(),
        delay_until: delay_until
            .and_then(|until| matcher(&spot.down("delay-until"), until, edition, party, true, problems)),
    };
    if !change.edits_members() && !change.acts_on_lines() && delay_until.is_none() {
        problems.push(spot.error("fault::no-deviation", "nothing is done").help("such as `do: {drop: true}`"));
    }
    let idle = [("replace", change.replace.is_some()), ("latin-1", change.latin_1), ("duplicate", change.duplicate)];
    if let Some((key, _)) = idle.iter().find(|(_, given)| change.drop && *given) {
        let problem = spot.down(key).key_error("fault::dropped", format!("`{key}` cannot be combined with `drop`"));
        problems.push(problem.help("a line that does not come cannot be changed"));
    }
    change
}

fn not_a_pointer(spot: &Spot<'_>, text: &str, key: bool) -> Option<Diagnostic> {
    (!text.starts_with('/')).then(|| {
        let message = format!("`{text}` is not a JSON pointer");
        let problem =
            if key { spot.key_error("fault::pointer", message) } else { spot.error("fault::pointer", message) };
        problem.help("it begins with a slash, such as `/result/stopReason`")
    })
}
