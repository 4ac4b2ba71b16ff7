//! Permission requests: chooses an option by policy, and keeps the held requests.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::answer::{Answer, Refusal};
use super::params::Params;
use crate::case::model::PermissionPolicy;
use crate::protocol::Adapter;

impl PermissionPolicy {
    /// Returns the option kinds that carry out this policy, the preferred one first.
    fn kinds(self) -> &'static [&'static str] {
        match self {
            Self::Allow => &["allow_once", "allow_always"],
            Self::Reject => &["reject_once", "reject_always"],
            Self::Hold | Self::Cancel => &[],
        }
    }

    /// Answers one request, whose parameters were [checked](check) before.
    fn decide(self, params: &Value) -> Answer {
        if self == Self::Hold {
            return Answer::Held;
        }
        let options = params["options"].as_array().map_or(&[][..], Vec::as_slice);
        let chosen = self.kinds().iter().find_map(|kind| options.iter().find(|option| option["kind"] == **kind));
        chosen.map_or_else(cancelled, |option| selected(&option["optionId"]))
    }
}

/// Returns the outcome `cancelled`.
fn cancelled() -> Answer {
    Answer::Result(json!({ "outcome": { "outcome": "cancelled" } }))
}

fn selected(option_id: &Value) -> Answer {
    Answer::Result(json!({ "outcome": { "outcome": "selected", "optionId": option_id } }))
}

/// A permission request that waits for the case.
#[derive(Debug)]
struct Held {
    id: Value,
    params: Value,
}

/// The current policy, the held requests, and the sessions whose turn is being cancelled.
#[derive(Debug)]
pub(super) struct Permissions {
    policy: PermissionPolicy,
    /// The member that says what a request is about.
    subject: &'static str,
    held: Vec<Held>,
    cancelling: HashSet<String>,
}

impl Permissions {
    pub(super) fn new(policy: PermissionPolicy, adapter: &dyn Adapter) -> Self {
        Self { policy, subject: adapter.permission_member(), held: Vec::new(), cancelling: HashSet::new() }
    }

    /// > If the current prompt turn gets cancelled, the Client **MUST** respond with the `"cancelled"` outcome.
    ///
    /// This also applies to a request that arrives after the cancel (`permission.late-request`).
    pub(super) fn answer(&self, params: &Value) -> Result<Answer, Refusal> {
        let session = check(params, self.subject)?;
        Ok(if self.cancelling.contains(session) { cancelled() } else { self.policy.decide(params) })
    }

    pub(super) fn hold(&mut self, id: Value, params: Value) -> Option<Answer> {
        if params["sessionId"].as_str().is_some_and(|session| self.cancelling.contains(session)) {
            return Some(cancelled());
        }
        self.held.push(Held { id, params });
        None
    }

    pub(super) fn cancel_turn(&mut self, session: &str) -> Vec<(Value, Answer)> {
        self.cancelling.insert(session.to_owned());
        self.held
            .extract_if(.., |held| held.params["sessionId"] == session)
            .map(|held| (held.id, cancelled()))
            .collect()
    }

    /// > A permission request that is cancelled is answered with the outcome `cancelled`.
    pub(super) fn withdraw(&mut self, id: &Value) -> Option<(Value, Answer)> {
        let at = self.held.iter().position(|held| held.id == *id)?;
        Some((self.held.remove(at).id, cancelled()))
    }

    pub(super) fn begin_turn(&mut self, session: &str) {
        self.cancelling.remove(session);
    }
}

/// Checks the shape of a request and returns its session.
///
/// An unknown `kind` passes, since refusing the whole request would hide what the agent does next;
/// such an option is never selected.
fn check<'p>(params: &'p Value, subject: &str) -> Result<&'p str, Refusal> {
    let params = Params::new(params)?;
    let session = params.session()?;
    match subject {
        "toolCall" => params.object(subject)?.string("toolCallId")?,
        _ => params.string(subject)?,
    };
    for option in params.array("options")? {
        let option = Params::new(option)?;
        option.string("optionId")?;
        option.string("name")?;
        option.string("kind")?;
    }
    Ok(session)
}
