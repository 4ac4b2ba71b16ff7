//! The cases that can be moves, and which of them can meet in one walk.

use serde_json::Value;

use super::turn::{acts, is_walkable, running_turn, stays_in_session, turns_of_client};
use crate::case::default_capabilities;
use crate::case::model::{Action, Body, Case, Outgoing, TesterSetup, UserPermission, WorkspaceFile};
use crate::requirement::Party;

/// The includes after which an agent's session is open, as `<session>`.
const OPENINGS: [&str; 3] = ["session", "modes", "options"];

/// The include after which a client's turn is open, in `<session>`; also the label of its prompt.
pub(super) const TURN: &str = "turn";

/// The include that proves to a client's case that it sees files; it may run again.
const COMMANDS: &str = "commands";

/// The context that plays the steps of a case twice in a session, so these leave the session ready for others.
const AGAIN: &str = "again";

/// A case that can be a move.
#[derive(Debug, Clone, Copy)]
pub struct Fragment<'c> {
    /// The case.
    pub case: &'c Case,
    /// The number of steps until `initialize` is answered.
    pub(super) initialized: usize,
    /// The number of steps until its session is open, and the include that opens it; none if it opens sessions itself.
    pub(super) opened: Option<(usize, &'c str)>,
}

impl<'c> Fragment<'c> {
    /// Returns the case as a fragment, if it can be a move.
    pub fn of(case: &'c Case) -> Option<Self> {
        let is_fit =
            !case.tester.page && case.tester.mcp.is_empty() && case.steps.iter().all(|step| is_walkable(&step.action));
        let include = |step| case.include_of(step);
        let initialized = case.steps.iter().take_while(|step| include(step) == Some("initialize")).count();
        if !is_fit || initialized == 0 || initialized == case.steps.len() {
            return None;
        }
        let rest = &case.steps[initialized..];
        let opened = match case.subject {
            Party::Agent => include(&rest[0]).filter(|name| OPENINGS.contains(name)).map(|name| {
                let of_it = rest.iter().take_while(|step| include(step) == Some(name));
                (initialized + of_it.count(), name)
            }),
            Party::Client => {
                // The client opens a session only when its user wants one.
                if include(&rest[0]) != Some("session") {
                    return None;
                }
                let of_session = rest.iter().take_while(|step| include(step) == Some("session")).count();
                let of_turn = rest[of_session..].iter().take_while(|step| include(step) == Some(TURN)).count();
                (of_turn > 0).then_some((initialized + of_session + of_turn, TURN))
            }
        };
        // A case that only opens a session has no steps for another one.
        let opened = opened.filter(|(opened, _)| *opened < case.steps.len());
        Some(Self { case, initialized, opened })
    }

    /// The include that opens the session of the case, if it can play in a session that another case has opened so.
    pub fn opening(&self) -> Option<&'c str> {
        self.opened.map(|(_, name)| name)
    }

    /// Whether one process and one folder can serve both cases.
    pub fn fits(&self, other: &Case, cases: &[Case]) -> bool {
        let case = self.case;
        let has_same_file = Case::file_of(&case.id) == Case::file_of(&other.id);
        // Steps that create something may find it when they run again; the context says that these may.
        let can_repeat = || case.subject == Party::Agent || is_in_context(case, AGAIN, cases);
        case.edition.name == other.edition.name
            && have_one_tester(case, other)
            && have_one_user(case, other)
            && if has_same_file { can_repeat() } else { !have_clashing_files(case, other) }
    }

    /// The numbers of steps after which a cancel is possible: a turn is running there.
    pub fn cancels(&self) -> Vec<usize> {
        let Some((opened, _)) = self.opened else { return Vec::new() };
        let (subject, steps) = (self.case.subject, &self.case.steps);
        if self.case.tester.by_hand.iter().any(|method| method != "session/prompt") {
            return Vec::new();
        }
        let from = match subject {
            Party::Agent => opened,
            // Its opening begins the turn.
            Party::Client => self.initialized,
        };
        let is_possible = |after: &usize| {
            let played = &steps[from..opened + after];
            running_turn(played, subject).is_some() && acts(played).next().is_none()
        };
        (1..=steps.len() - opened).filter(is_possible).collect()
    }

    /// Whether other moves can follow in the session, and which turns of a client are running then; `cases` are all
    /// cases.
    pub fn leaves(&self, cases: &[Case]) -> Left {
        let steps = &self.case.steps[self.initialized..];
        match self.case.subject {
            Party::Agent if is_in_context(self.case, AGAIN, cases) => Left::Session(Vec::new()),
            Party::Agent => Left::Process(Vec::new()),
            Party::Client => match turns_of_client(steps) {
                None => Left::Nothing,
                Some(turns) => {
                    let labels = turns.into_iter().map(|turn| turn.label).collect();
                    if stays_in_session(steps) { Left::Session(labels) } else { Left::Process(labels) }
                }
            },
        }
    }
}

/// What a move leaves for those after it, each with the labels of a client's running turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// Its session is ready for another move.
    Session(Vec<String>),
    /// Another move needs a session of its own.
    Process(Vec<String>),
    /// No move can follow: the steps leave something unfinished.
    Nothing,
}

/// Whether there is this context of the case; `cases` are all cases.
fn is_in_context(case: &Case, context: &str, cases: &[Case]) -> bool {
    let first = case.first_use().unwrap_or(&case.id);
    cases.iter().any(|other| other.context.as_deref() == Some(context) && other.first_use() == Some(first))
}

/// Whether one tester can play both cases: it behaves the same and declares the same, or one case declares more than a
/// case usually does, and the other what is usual. A case that forbids something may do so because nothing more is
/// declared.
fn have_one_tester(one: &Case, other: &Case) -> bool {
    let (a, b) = (&one.tester.capabilities, &other.tester.capabilities);
    let usual = default_capabilities(one.subject.other(), one.edition);
    let forbids = |case: &Case| case.steps.iter().any(|step| matches!(step.action, Action::Never(_)));
    let adds = |more: &Value, case: &Case| {
        case.tester.capabilities == usual && contains(more, &case.tester.capabilities) && !forbids(case)
    };
    let is_enough = a == b || adds(b, one) || adds(a, other);
    let tester = TesterSetup { capabilities: a.clone(), ..other.tester.clone() };
    // A walk answers the prompts of a client in each case.
    let by_hand = |tester: &TesterSetup| {
        let mut methods = tester.by_hand.clone();
        methods.remove("session/prompt");
        methods
    };
    let is_same = by_hand(&one.tester) == by_hand(&tester)
        && one.tester == TesterSetup { by_hand: one.tester.by_hand.clone(), ..tester.clone() };
    is_enough && if one.subject == Party::Client { is_same } else { one.tester == tester }
}

/// Whether one user of a client can play both cases. A client may remember a permission that was decided, and a mode or
/// an option that was set; so only one case of a walk does such a thing.
fn have_one_user(one: &Case, other: &Case) -> bool {
    let sets = |case: &Case| acts(&case.steps).any(|act| act.starts_with("set-"));
    let remembers = one.user.permission != UserPermission::Allow || sets(one) && sets(other);
    one.subject == Party::Agent
        || one.user.permission == other.user.permission
            && one.user.mcp_servers == other.user.mcp_servers
            && one.user.directories == other.user.directories
            && !remembers
}

/// Whether a value has all members of another one, at any depth.
pub(super) fn contains(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::Object(value), Value::Object(part)) => {
            part.iter().all(|(name, part)| value.get(name).is_some_and(|value| contains(value, part)))
        }
        _ => value == part,
    }
}

/// Whether two cases use the same file, unless both find the same content in it and none writes to it.
fn have_clashing_files(one: &Case, other: &Case) -> bool {
    let content = |case: &Case, path: &str| {
        let mut files = case.workspace.iter().filter(|(known, _)| known == path);
        files.next().map(|(_, file)| file.clone())
    };
    let of_other = files(other);
    files(one).into_iter().any(|(path, writes)| {
        let mut same = of_other.iter().filter(|(known, _)| *known == path);
        same.any(|(_, also_writes)| writes || *also_writes || content(one, &path) != content(other, &path))
    })
}

/// The files that a case creates or names, each with whether it may be changed.
fn files(case: &Case) -> Vec<(String, bool)> {
    let mut files: Vec<(String, bool)> = case.workspace.iter().map(|(path, _)| (path.clone(), false)).collect();
    // What happens to a file through a link has another name in the messages.
    files.extend(case.workspace.iter().filter_map(|(_, file)| match file {
        WorkspaceFile::Link(target) => Some((target.clone(), true)),
        WorkspaceFile::Bytes(_) => None,
    }));
    for step in case.steps.iter().filter(|step| case.include_of(step) != Some(COMMANDS)) {
        if let Action::Send(lines) = &step.action {
            lines.iter().for_each(|line| add_files(line, &mut files));
        }
    }
    files
}

fn add_files(line: &Outgoing, files: &mut Vec<(String, bool)>) {
    let Body::Request { method, params: Some(params), .. } = &line.body else { return };
    if let Some(intent) = line.intent() {
        let prompt = &params["prompt"];
        let several = prompt["paths"].as_array().into_iter().flatten();
        let paths = std::iter::once(&prompt["path"]).chain(several).filter_map(Value::as_str);
        files.extend(paths.map(|path| (in_workspace(path).to_owned(), !intent.starts_with("read"))));
    } else if method != "session/prompt" {
        let changes = method != "fs/read_text_file";
        let mut texts = Vec::new();
        texts_in(params, &mut texts);
        let paths = texts.into_iter().filter(|text| text.starts_with(WORKSPACE));
        files.extend(paths.map(|path| (in_workspace(path).to_owned(), changes)));
    }
}

const WORKSPACE: &str = "<cwd>/";

fn in_workspace(path: &str) -> &str {
    path.trim_start_matches(WORKSPACE)
}

fn texts_in<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| texts_in(item, texts)),
        Value::Object(members) => members.values().for_each(|member| texts_in(member, texts)),
        _ => {}
    }
}
