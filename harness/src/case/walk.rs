//! Walks: several cases played one after the other in one process, as one case.
//!
//! The moves of a walk are the steps of cases after their opening. A move plays in the session of the move before it, or opens a
//! new one. The name of a walk says all of it, so a walk needs no file: `walk/fs/read,+modes/set:after-cancel`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Value, json};

use crate::case::model::{
    Action, Body, Case, Incoming, IncomingBody, LimitOverrides, Outgoing, Presence, Step, TesterSetup,
};
use crate::case::setup::default_capabilities;
use crate::requirement::Party;

/// The area in the ids of walks.
pub const AREA: &str = "walk";

/// The shape or context in the name of a case; ids use it too, but a walk is not a shape of its first case.
const SHAPE: char = ':';

/// Marks a move in the session of the one before it.
const SAME_SESSION: char = '+';

/// Marks a move that a cancel ends.
const CANCEL: &str = ":cancel-";

/// The includes after which a session is open, as `<session>`.
const OPENINGS: [&str; 3] = ["session", "modes", "options"];

/// The context that plays the steps of a case twice in a session, so these leave the session ready for others.
const AGAIN: &str = "again";

/// One move of a walk.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Move {
    /// The case, as its id without version and party: `fs/read` or `fs/read@after-cancel`.
    pub case: String,
    /// Whether it plays in the session of the move before it.
    pub same_session: bool,
    /// The number of steps after which the turn is cancelled, instead of the other steps.
    pub cancel_after: Option<usize>,
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.same_session {
            write!(f, "{SAME_SESSION}")?;
        }
        // A comma separates moves here and values in the shape of a case.
        write!(f, "{}", self.case.replace('@', &SHAPE.to_string()).replace(',', "."))?;
        self.cancel_after.map_or(Ok(()), |steps| write!(f, "{CANCEL}{steps}"))
    }
}

impl FromStr for Move {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, same_session) = text.strip_prefix(SAME_SESSION).map_or((text, false), |name| (name, true));
        let (name, cancel_after) = match name.rsplit_once(CANCEL) {
            Some((name, steps)) => {
                let steps =
                    steps.parse().map_err(|_| format!("`{text}` does not say after how many steps it cancels"))?;
                (name, Some(steps))
            }
            None => (name, None),
        };
        let case = match name.split_once(SHAPE) {
            Some((name, shape)) => format!("{name}@{}", shape.replace('.', ",")),
            None => name.to_owned(),
        };
        Ok(Self { case, same_session, cancel_after })
    }
}

/// Some moves, in order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Walk(pub Vec<Move>);

impl fmt::Display for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{AREA}/")?;
        for (i, step) in self.0.iter().enumerate() {
            write!(f, "{}{step}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl FromStr for Walk {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let moves = text.strip_prefix(AREA).and_then(|rest| rest.strip_prefix('/'));
        let moves = moves.ok_or_else(|| format!("`{text}` is not a walk; expected `{AREA}/CASE,+CASE,…`"))?;
        moves.split(',').map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

impl Walk {
    /// Returns the walk in an id or in the end of one, such as `v1/agent/walk/fs/read,+fs/read`; `None` if it names no walk.
    #[must_use]
    pub fn in_id(id: &str) -> Option<Self> {
        let at = id.find(&format!("{AREA}/")).filter(|at| *at == 0 || id[..*at].ends_with('/'))?;
        id[at..].parse().ok()
    }

    /// Lowers the walk to a case.
    ///
    /// # Errors
    ///
    /// A sentence on the first move that is impossible there: its case is unknown or not for walks, or does not fit the moves
    /// before it.
    pub fn lower(&self, cases: &[Case]) -> Result<Case, String> {
        let mut whole: Option<Lowering<'_>> = None;
        for (at, step) in self.0.iter().enumerate() {
            let named = |case: &&Case| case.id.splitn(3, '/').nth(2) == Some(&step.case);
            let case = cases.iter().find(named).ok_or_else(|| format!("no case has the id `{}`", step.case))?;
            let fragment = Fragment::of(case).ok_or_else(|| format!("`{}` cannot be part of a walk", step.case))?;
            let whole = whole.get_or_insert_with(|| Lowering::new(&fragment));
            whole.add(fragment, step, at + 1 == self.0.len())?;
            if !leaves_session_ready(case, cases) {
                whole.session = None;
            }
        }
        let mut case = whole.ok_or("a walk has at least one move")?.case;
        let folder: Vec<&str> = case.id.splitn(3, '/').take(2).collect();
        case.id = format!("{}/{self}", folder.join("/"));
        let moves = if self.0.len() == 1 { "move" } else { "moves" };
        case.title = format!("A walk of {} {moves}", self.0.len());
        case.context = None;
        Ok(case)
    }
}

/// A case that can be a move.
#[derive(Debug, Clone, Copy)]
pub struct Fragment<'c> {
    /// The case.
    pub case: &'c Case,
    /// The number of steps until `initialize` is answered.
    initialized: usize,
    /// The number of steps until its session is open, and the include that opens it; none if it opens sessions itself.
    opened: Option<(usize, &'c str)>,
}

impl<'c> Fragment<'c> {
    /// Returns the case as a fragment, if it can be a move.
    #[must_use]
    pub fn of(case: &'c Case) -> Option<Self> {
        let is_fit = case.subject == Party::Agent
            && !case.tester.page
            && case.tester.mcp.is_empty()
            && case.steps.iter().all(|step| is_walkable(&step.action));
        let initialized = case.steps.iter().take_while(|step| case.include_of(step) == Some("initialize")).count();
        if !is_fit || initialized == 0 || initialized == case.steps.len() {
            return None;
        }
        let opening = case.include_of(&case.steps[initialized]).filter(|name| OPENINGS.contains(name));
        let opened = opening.map(|name| {
            let of_it = case.steps[initialized..].iter().take_while(|step| case.include_of(step) == Some(name));
            (initialized + of_it.count(), name)
        });
        // A case that only opens a session has no steps for another one.
        let opened = opened.filter(|(opened, _)| *opened < case.steps.len());
        Some(Self { case, initialized, opened })
    }

    /// The include that opens the session of the case, if it can play in a session that another case has opened so.
    #[must_use]
    pub fn opening(&self) -> Option<&'c str> {
        self.opened.map(|(_, name)| name)
    }

    /// Whether one process and one folder can serve both cases.
    #[must_use]
    pub fn fits(&self, other: &Case) -> bool {
        let case = self.case;
        case.edition.name == other.edition.name && have_one_client(case, other) && !have_clashing_files(case, other)
    }

    /// The numbers of steps after which a cancel is possible: a turn is running there.
    #[must_use]
    pub fn cancels(&self) -> Vec<usize> {
        let Some((opened, _)) = self.opened else { return Vec::new() };
        if !self.case.tester.by_hand.is_empty() {
            return Vec::new();
        }
        let body = &self.case.steps[opened..];
        (1..=body.len()).filter(|&steps| running_turn(&body[..steps]).is_some()).collect()
    }
}

/// A walk while it is lowered.
struct Lowering<'c> {
    case: Case,
    /// The cases of the moves so far.
    played: Vec<&'c Case>,
    /// The include that opened the current session, while other moves can play in it.
    session: Option<&'c str>,
    /// The names that the opening of the current session bound.
    opening: BTreeSet<String>,
    /// The names that have a value.
    bound: BTreeSet<String>,
}

impl<'c> Lowering<'c> {
    /// Begins with the steps of a case that initialize the agent.
    fn new(first: &Fragment<'c>) -> Self {
        let Case { steps, .. } = first.case;
        let steps = steps[..first.initialized].to_vec();
        let case =
            Case { steps, requirements: Vec::new(), needs: Vec::new(), workspace: Vec::new(), ..first.case.clone() };
        Self { case, played: Vec::new(), session: None, opening: BTreeSet::new(), bound: BTreeSet::new() }
    }

    /// Adds a move.
    fn add(&mut self, fragment: Fragment<'c>, step: &Move, is_last: bool) -> Result<(), String> {
        let Fragment { case, initialized, opened } = fragment;
        if !self.played.iter().all(|played| fragment.fits(played)) {
            return Err(format!("`{}` needs another client or other files than the moves before it", step.case));
        }
        if step.same_session && (self.session.is_none() || self.session != fragment.opening()) {
            let name = &step.case;
            return Err(format!("no session is open in which `{name}` can play; without the `+` it opens one"));
        }
        self.played.push(case);
        if contains(&case.tester.capabilities, &self.case.tester.capabilities) {
            self.case.tester.capabilities = case.tester.capabilities.clone();
        }
        add_new(&mut self.case.workspace, &case.workspace);
        add_new(&mut self.case.needs, &case.needs);
        self.case.limits = longer(self.case.limits, case.limits);
        let from = opened.filter(|_| step.same_session).map_or(initialized, |(opened, _)| opened);
        let keeps = if step.same_session { self.opening.clone() } else { BTreeSet::new() };
        let forgotten: Vec<String> = self.bound.difference(&keeps).cloned().collect();
        if !forgotten.is_empty() {
            self.case.steps.push(next_to(&case.steps[from], Action::Forget(forgotten), "the names of other moves"));
        }
        let body = opened.map_or(from, |(opened, _)| opened);
        if !step.same_session {
            self.opening = case.steps[from..body].iter().flat_map(binds).collect();
        }
        let end = step.cancel_after.map_or(case.steps.len(), |after| body + after);
        if step.cancel_after.is_some_and(|after| !fragment.cancels().contains(&after)) {
            return Err(format!("`{}` has no turn to cancel there", step.case));
        }
        // Another move may do what this one forbids until its end.
        let stays = |step: &&Step| is_last || !matches!(step.action, Action::Never(_));
        let mut played: Vec<Step> = case.steps[from..end].iter().filter(stays).cloned().collect();
        self.bound = keeps.into_iter().chain(played.iter().flat_map(binds)).collect();
        if step.cancel_after.is_some() {
            played.iter_mut().for_each(|step| step.decides.clear());
            let ending = cancel(&played);
            played.extend(ending);
        } else {
            add_new(&mut self.case.requirements, &case.requirements);
        }
        self.case.steps.extend(played);
        self.session = fragment.opening();
        Ok(())
    }
}

/// Adds the items that are not in a list yet.
fn add_new<T: Clone + PartialEq>(list: &mut Vec<T>, items: &[T]) {
    for item in items {
        if !list.contains(item) {
            list.push(item.clone());
        }
    }
}

/// The steps that cancel the running turn and await its end.
fn cancel(played: &[Step]) -> Vec<Step> {
    let Some((at, label, session)) = running_turn(played) else { return Vec::new() };
    let params = Some(json!({ "sessionId": session }));
    let body = Body::Notification { method: "session/cancel".to_owned(), params };
    let line = Incoming { body: IncomingBody::Answer { label: label.to_owned() }, exact: false };
    [
        (Action::Send(vec![Outgoing { body, illegal: false, split: None }]), "session/cancel"),
        (Action::Expect { line, presence: Presence::Must }, "the end of the cancelled turn"),
        (Action::Fence, "a fence"),
    ]
    .map(|(action, text)| next_to(&played[at], action, text))
    .into()
}

/// Returns the step of the last prompt whose turn is running after these steps, its label and its session.
fn running_turn(steps: &[Step]) -> Option<(usize, &str, Value)> {
    let mut running = None;
    for (at, step) in steps.iter().enumerate() {
        match &step.action {
            Action::Send(lines) => {
                for line in lines {
                    match &line.body {
                        Body::Request { label, method, params: Some(params), .. } if method == "session/prompt" => {
                            running = Some((at, label.as_str(), params["sessionId"].clone()));
                        }
                        // The case cancels the turn itself.
                        Body::Notification { .. } => running = None,
                        _ => {}
                    }
                }
            }
            Action::Expect { line, .. } if running.as_ref().is_some_and(|turn| line.body.answers() == Some(turn.1)) => {
                running = None;
            }
            Action::AnyOrder(_) => running = None,
            _ => {}
        }
    }
    running.filter(|(_, _, session)| session.is_string())
}

/// Builds a step that is in no file, next to one that is.
fn next_to(step: &Step, action: Action, text: &str) -> Step {
    Step { text: text.to_owned(), action, decides: Vec::new(), within: None, ..step.clone() }
}

/// Whether a step can be part of a walk: it changes only sessions, and keeps to the protocol.
fn is_walkable(action: &Action) -> bool {
    let is_usual = |line: &Outgoing| {
        let is_of_process =
            |method: &str| ["authenticate", "logout", "auth/login", "auth/logout", "session/list"].contains(&method);
        let is_of_process = matches!(&line.body, Body::Request { method, .. } if is_of_process(method));
        !line.illegal && line.split.is_none() && !is_of_process
    };
    match action {
        Action::Send(lines) => lines.iter().all(is_usual),
        Action::Expect { .. }
        | Action::AnyOrder(_)
        | Action::Never(_)
        | Action::Fence
        | Action::Reply(_)
        | Action::File(_)
        | Action::Process(_)
        | Action::Forget(_) => true,
        _ => false,
    }
}

/// The names that a step binds.
fn binds(step: &Step) -> Vec<String> {
    let lines = match &step.action {
        Action::Expect { line, .. } => std::slice::from_ref(line),
        Action::AnyOrder(lines) => lines,
        _ => &[],
    };
    let of_line = |line: &Incoming| {
        let (label, pattern) = match &line.body {
            IncomingBody::Call { label, params, .. } => (label.as_ref(), params.as_ref()),
            IncomingBody::Result { result, .. } => (None, Some(result)),
            IncomingBody::Error { error, .. } => (None, Some(error)),
            IncomingBody::Answer { .. } => (None, None),
        };
        let uses = pattern.map(crate::case::Pattern::names).unwrap_or_default();
        let names = uses.into_iter().filter(|name| name.binds).map(|name| name.name);
        names.chain(label.map(|label| format!("{label}-id"))).collect::<Vec<_>>()
    };
    lines.iter().flat_map(of_line).collect()
}

/// Whether one client can play both cases: it behaves the same and declares the same, or one case declares more than a case
/// usually does, and the other what is usual.
fn have_one_client(one: &Case, other: &Case) -> bool {
    let (a, b) = (&one.tester.capabilities, &other.tester.capabilities);
    let usual = default_capabilities(Party::Client, one.edition);
    let is_enough = a == b || *a == usual && contains(b, a) || *b == usual && contains(a, b);
    is_enough && one.tester == TesterSetup { capabilities: a.clone(), ..other.tester.clone() }
}

/// Whether a value has all members of another one, at any depth.
fn contains(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::Object(value), Value::Object(part)) => {
            part.iter().all(|(name, part)| value.get(name).is_some_and(|value| contains(value, part)))
        }
        _ => value == part,
    }
}

/// Whether two cases use the same file, unless both find the same text in it and none writes to it.
fn have_clashing_files(one: &Case, other: &Case) -> bool {
    if Case::file_of(&one.id) == Case::file_of(&other.id) {
        return false;
    }
    let text = |case: &Case, path: &str| {
        let mut files = case.workspace.iter().filter(|(known, _)| known == path);
        files.next().map(|(_, text)| text.clone())
    };
    let of_other = files(other);
    files(one).into_iter().any(|(path, writes)| {
        let mut same = of_other.iter().filter(|(known, _)| *known == path);
        same.any(|(_, also_writes)| writes || *also_writes || text(one, &path) != text(other, &path))
    })
}

/// The files that a case creates or names in a prompt, each with whether the prompt may change it.
fn files(case: &Case) -> Vec<(String, bool)> {
    let mut files: Vec<(String, bool)> = case.workspace.iter().map(|(path, _)| (path.clone(), false)).collect();
    for step in &case.steps {
        let Action::Send(lines) = &step.action else { continue };
        for line in lines {
            let Body::Request { params: Some(params), .. } = &line.body else { continue };
            let changes = line.intent().is_some_and(|intent| !intent.starts_with("read"));
            let prompt = &params["prompt"];
            let several = prompt["paths"].as_array().into_iter().flatten();
            let paths = std::iter::once(&prompt["path"]).chain(several).filter_map(Value::as_str);
            files.extend(paths.map(|path| (path.trim_start_matches("<cwd>/").to_owned(), changes)));
        }
    }
    files
}

/// The longer one of both limits; none where a case keeps the usual limit.
fn longer(one: LimitOverrides, other: LimitOverrides) -> LimitOverrides {
    let longer = |one: Option<Duration>, other: Option<Duration>| one.zip(other).map(|(one, other)| one.max(other));
    LimitOverrides {
        start: longer(one.start, other.start),
        answer: longer(one.answer, other.answer),
        turn: longer(one.turn, other.turn),
        exit: longer(one.exit, other.exit),
    }
}

/// Whether the steps of a case leave its session ready for other moves; `cases` are all cases.
#[must_use]
pub fn leaves_session_ready(case: &Case, cases: &[Case]) -> bool {
    let first = case.first_use().unwrap_or(&case.id);
    cases.iter().any(|other| other.context.as_deref() == Some(AGAIN) && other.first_use() == Some(first))
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::case::embedded;
    use crate::edition::V1;

    fn lower(walk: &str) -> Result<Case, String> {
        static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| embedded(&V1).0);
        walk.parse::<Walk>()?.lower(&CASES)
    }

    /// The labels of the requests that the tester sends, in order.
    fn asked(case: &Case) -> Vec<&str> {
        let sent = case.steps.iter().filter_map(|step| match &step.action {
            Action::Send(lines) => Some(lines),
            _ => None,
        });
        let labels = sent.flatten().filter_map(|line| match &line.body {
            Body::Request { label, .. } => Some(label.as_str()),
            Body::Notification { method, .. } => Some(method.as_str()),
            _ => None,
        });
        labels.collect()
    }

    #[test]
    fn name_says_the_whole_walk() {
        for name in
            ["walk/fs/read", "walk/fs/read,+modes/set:after-cancel,tool/read:cancel-2", "walk/fs/read-sizes:one-line"]
        {
            let walk: Walk = name.parse().expect("a walk");
            assert_eq!(walk.to_string(), name);
            assert_eq!(Walk::in_id(&format!("v1/agent/{name}")), Some(walk));
        }
        let walk: Walk = "walk/a/b:x.y:cancel-3".parse().expect("a walk");
        let only = Move { case: "a/b@x,y".to_owned(), same_session: false, cancel_after: Some(3) };
        assert_eq!(walk.0, [only]);
        assert_eq!(Walk::in_id("v1/agent/sidewalk/x"), None);
        assert_eq!(Walk::in_id("v1/agent/fs/read"), None);
    }

    #[test]
    fn moves_follow_each_other_in_one_process() {
        let case = lower("walk/fs/read,+fs/read,prompt/text").expect("a case");
        assert_eq!(asked(&case), ["initialize", "session-new", "turn", "turn", "session-new", "turn"]);
        assert_eq!(case.id, "v1/agent/walk/fs/read,+fs/read,prompt/text");
        assert_eq!(case.workspace.len(), 1);
        let both = ["fs.read.params", "prompt.stop-reason"];
        assert!(both.iter().all(|id| case.requirements.iter().any(|known| known == id)), "{:?}", case.requirements);
        let forgotten: Vec<_> = case
            .steps
            .iter()
            .filter_map(|step| match &step.action {
                Action::Forget(names) => Some(names.iter().any(|name| name == "session")),
                _ => None,
            })
            .collect();
        assert_eq!(forgotten, [false, true], "the second move plays in the session of the first, the third does not");
    }

    #[test]
    fn cancelled_move_decides_nothing() {
        let case = lower("walk/fs/read,+fs/read:cancel-1,+fs/read").expect("a case");
        let turns = ["turn", "turn", "session/cancel", "turn"];
        assert_eq!(asked(&case)[2..], turns);
        let cut = lower("walk/fs/read:cancel-1").expect("a case");
        assert!(cut.requirements.is_empty() && cut.steps.iter().all(|step| step.decides.is_empty()));
    }

    #[test]
    fn impossible_moves_are_refused() {
        for (walk, why) in [
            ("walk/fs/raed", "no case has the id `fs/raed`"),
            ("walk/+fs/read", "no session is open in which `fs/read` can play"),
            ("walk/fs/read,+modes/set", "no session is open in which `modes/set` can play"),
            ("walk/close/idle,+close/idle", "no session is open"),
            ("walk/init/handshake", "`init/handshake` cannot be part of a walk"),
            ("walk/fs/read:cancel-99", "`fs/read` has no turn to cancel there"),
            ("walk/fs/read,prompt/text:no-capabilities", "needs another client or other files"),
        ] {
            let error = lower(walk).map(|case| case.id).expect_err(walk);
            assert!(error.contains(why), "{walk}: {error}");
        }
    }
}
