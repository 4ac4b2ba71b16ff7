//! Walks: several cases played one after the other in one process, as one case.
//!
//! The moves of a walk are the steps of cases after their opening. A move plays in the session of the move before it,
//! or opens a new one. The name of a walk says all of it, so a walk needs no file:
//! `walk/fs/read,+modes/set:after-cancel`.

mod fragment;
mod lowering;
mod turn;

use std::fmt;
use std::str::FromStr;

pub use self::fragment::{Fragment, Left};
pub use self::lowering::Lowering;
use crate::case::model::{Case, WALK};

/// The shape or context in the name of a case; ids use it too, but a walk is not a shape of its first case.
const SHAPE: char = ':';

/// Marks a move that a cancel ends.
const CANCEL: &str = ":cancel-";

/// One move of a walk.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Move {
    /// The case, as its id without version and party: `fs/read` or `fs/read@after-cancel`.
    pub case: String,
    /// Where it plays.
    pub place: Place,
    /// The number of steps after which the turn is cancelled, instead of the other steps.
    pub cancel_after: Option<usize>,
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place.mark())?;
        // A comma separates moves here and values in the shape of a case.
        write!(f, "{}", self.case.replace('@', &SHAPE.to_string()).replace(',', "."))?;
        self.cancel_after.map_or(Ok(()), |steps| write!(f, "{CANCEL}{steps}"))
    }
}

impl FromStr for Move {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let marked = Place::ALL.into_iter().find_map(|place| Some((text.strip_prefix(place.mark())?, place)));
        let (name, place) = marked.unwrap_or((text, Place::NewSession));
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
        Ok(Self { case, place, cancel_after })
    }
}

/// Where a move plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In a session of its own.
    NewSession,
    /// In the session of the move before it; for a client, in the next turn.
    SameSession,
    /// In the running turn of a client.
    SameTurn,
}

impl Place {
    /// All places; the one with the longest mark comes first.
    pub const ALL: [Self; 3] = [Self::SameTurn, Self::SameSession, Self::NewSession];

    const fn mark(self) -> &'static str {
        match self {
            Self::NewSession => "",
            Self::SameSession => "+",
            Self::SameTurn => "++",
        }
    }
}

/// Some moves, in order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Walk(pub Vec<Move>);

impl fmt::Display for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{WALK}/")?;
        for (i, step) in self.0.iter().enumerate() {
            write!(f, "{}{step}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl FromStr for Walk {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let moves = text.strip_prefix(WALK).and_then(|rest| rest.strip_prefix('/'));
        let moves = moves.ok_or_else(|| format!("`{text}` is not a walk; expected `{WALK}/CASE,+CASE,…`"))?;
        moves.split(',').map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

impl Walk {
    /// Returns the walk in an id or in the end of one, such as `v1/agent/walk/fs/read,+fs/read`; `None` if it names no
    /// walk.
    pub fn in_id(id: &str) -> Option<Self> {
        let at = id.find(&format!("{WALK}/")).filter(|at| *at == 0 || id[..*at].ends_with('/'))?;
        id[at..].parse().ok()
    }

    /// Lowers the walk to a case.
    ///
    /// # Errors
    ///
    /// A sentence on the first move that is impossible there: its case is unknown or not for walks, or does not fit the
    /// moves before it.
    pub fn lower(&self, cases: &[Case]) -> Result<Case, String> {
        let mut lowering = Lowering::new(cases);
        for (at, step) in self.0.iter().enumerate() {
            let named = |case: &&Case| case.id.splitn(3, '/').nth(2) == Some(&step.case);
            let case = cases.iter().find(named).ok_or_else(|| format!("no case has the id `{}`", step.case))?;
            let fragment = Fragment::of(case).ok_or_else(|| format!("`{}` cannot be part of a walk", step.case))?;
            lowering.add(fragment, step, at + 1 == self.0.len())?;
        }
        let mut case = lowering.into_case().ok_or("a walk has at least one move")?;
        let folder: Vec<&str> = case.id.splitn(3, '/').take(2).collect();
        case.id = format!("{}/{self}", folder.join("/"));
        let moves = if self.0.len() == 1 { "move" } else { "moves" };
        case.title = format!("A walk of {} {moves}", self.0.len());
        case.context = None;
        Ok(case)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::case::embedded;
    use crate::case::model::{Action, Body, IncomingBody, Step};
    use crate::edition::V1;
    use crate::requirement::{Party, Transport};

    fn lower(walk: &str) -> Result<Case, String> {
        lower_for(Party::Agent, walk)
    }

    fn lower_for(party: Party, walk: &str) -> Result<Case, String> {
        static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| embedded(&V1).0);
        let of_party: Vec<Case> = CASES.iter().filter(|case| case.subject == party).cloned().collect();
        walk.parse::<Walk>()?.lower(&of_party)
    }

    /// The labels of the requests that the tester sends, in order.
    fn asked(case: &Case) -> Vec<&str> {
        let labels = case.sent().filter_map(|line| match &line.body {
            Body::Request { label, .. } => Some(label.as_str()),
            Body::Notification { method, .. } => Some(method.as_str()),
            _ => None,
        });
        labels.collect()
    }

    #[test]
    fn name_says_the_whole_walk() {
        for name in
            ["walk/fs/read", "walk/fs/read,+modes/set:after-cancel,++tool/read:cancel-2", "walk/fs/read-sizes:one-line"]
        {
            let walk: Walk = name.parse().expect("a walk");
            assert_eq!(walk.to_string(), name);
            assert_eq!(Walk::in_id(&format!("v1/agent/{name}")), Some(walk));
        }
        let walk: Walk = "walk/a/b:x.y:cancel-3".parse().expect("a walk");
        let only = Move { case: "a/b@x,y".to_owned(), place: Place::NewSession, cancel_after: Some(3) };
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
        assert!(cut.fits(Transport::Stdio, V1.catalogue()));
    }

    /// What the client must send, what its user does, and what ends its turns, in order.
    fn course(case: &Case) -> Vec<&str> {
        let of = |step: &Step| -> Option<String> {
            match &step.action {
                Action::Act(act) => Some(format!("user {}", act.name)),
                Action::Expect { line, .. } => match &line.body {
                    IncomingBody::Call { method, .. } => Some(method.clone()),
                    _ => None,
                },
                Action::Send(lines) => match &lines.first()?.body {
                    Body::Result { result, .. } => Some(result["stopReason"].as_str()?.to_owned()),
                    Body::Request { method, .. } => Some(method.clone()),
                    _ => None,
                },
                _ => None,
            }
        };
        let known =
            ["session/prompt", "session/new", "session/cancel", "user prompt", "user new-session", "user cancel"];
        let rest = ["fs/read_text_file", "end_turn", "cancelled"];
        let course = case.steps.iter().filter_map(of);
        course.filter_map(|word| known.into_iter().chain(rest).find(|known| *known == word)).collect()
    }

    #[test]
    fn moves_of_a_client_share_a_turn_or_a_session() {
        let course_of = |walk: &str| course(&lower_for(Party::Client, walk).expect(walk)).join(", ");
        let first = "session/new, session/prompt, fs/read_text_file";
        assert_eq!(course_of("walk/fs/read,++fs/read"), format!("{first}, fs/read_text_file"));
        let next = "end_turn, user prompt, session/prompt, fs/read_text_file";
        assert_eq!(course_of("walk/fs/read,+fs/read"), format!("{first}, {next}"));
        let other = "end_turn, user new-session, user prompt, session/new, session/prompt, fs/read_text_file";
        assert_eq!(course_of("walk/fs/read,fs/read"), format!("{first}, {other}"));
        let cancelled = "user cancel, session/cancel, cancelled";
        let after = "user prompt, session/prompt, fs/read_text_file";
        assert_eq!(course_of("walk/fs/read:cancel-2,+fs/read"), format!("{first}, {cancelled}, {after}"));
    }

    #[test]
    fn tool_calls_of_a_client_differ() {
        let case = lower_for(Party::Client, "walk/permission/allowed,++permission/allowed").expect("a case");
        let text = format!("{:?}", case.steps);
        assert!(text.contains("\"call-1\"") && text.contains("\"call-1.2\""), "{text}");
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
            ("walk/fs/read,prompt/text:no-capabilities", "needs another tester or other files"),
            ("walk/fs/read,++fs/read", "no turn is running in which `fs/read` can play"),
        ] {
            let error = lower(walk).map(|case| case.id).expect_err(walk);
            assert!(error.contains(why), "{walk}: {error}");
        }
        let error = lower_for(Party::Client, "walk/init/handshake").map(|case| case.id).expect_err("no session");
        assert!(error.contains("cannot be part of a walk"), "{error}");
        let error =
            lower_for(Party::Client, "walk/fs/read:cancel-2,++fs/read").map(|case| case.id).expect_err("no turn");
        assert!(error.contains("no turn is running"), "{error}");
        // The agent of the second case declares nothing, and the case forbids what the first one needs.
        let gate = "walk/close/announced,close/gate:nothing";
        let error = lower_for(Party::Client, gate).map(|case| case.id).expect_err("another tester");
        assert!(error.contains("needs another tester"), "{error}");
    }
}
