//! Gives the sessions that a case names itself ids of their own, for a conversation in which another case may have used
//! them.

use serde_json::{Map, Value};

use super::model::{Action, Body, Case, FixedAnswer, Incoming, IncomingBody, Outgoing};
use super::pattern::Pattern;

/// The start of the pattern for any other value.
const EXCLUDED: &str = "<not ";

/// The member that holds the id of a session.
const MEMBER: &str = "sessionId";

/// Returns the case for the place with this number in a conversation. Ids that are values of names stay as they are.
pub fn with_own_sessions(case: &Case, number: usize) -> Case {
    let mut own = case.clone();
    for answer in own.tester.answers.values_mut() {
        let (FixedAnswer::Result(value) | FixedAnswer::Error(value)) = answer;
        rename(value, number);
    }
    own.steps.iter_mut().for_each(|step| in_action(&mut step.action, number));
    own
}

fn in_action(action: &mut Action, number: usize) {
    match action {
        Action::Send(lines) => lines.iter_mut().for_each(|line| in_outgoing(line, number)),
        Action::Expect { line, .. } | Action::Never(line) => in_incoming(line, number),
        Action::AnyOrder(lines) => lines.iter_mut().for_each(|line| in_incoming(line, number)),
        Action::Act(act) => rename_members(&mut act.arguments, number),
        _ => {}
    }
}

fn in_outgoing(line: &mut Outgoing, number: usize) {
    match &mut line.body {
        Body::Request { params, .. } | Body::Notification { params, .. } => {
            params.iter_mut().for_each(|params| rename(params, number));
        }
        Body::Result { result, .. } => rename(result, number),
        Body::Error { error, .. } => rename(error, number),
    }
}

fn in_incoming(line: &mut Incoming, number: usize) {
    let pattern = match &mut line.body {
        IncomingBody::Call { params: Some(pattern), .. } => pattern,
        IncomingBody::Result { result, .. } => result,
        IncomingBody::Error { error, .. } => error,
        IncomingBody::Call { params: None, .. } | IncomingBody::Answer { .. } => return,
    };
    let mut written = pattern.written().clone();
    rename(&mut written, number);
    // A longer id stays the same kind of pattern.
    if let Ok(renamed) = Pattern::compile(&written) {
        *pattern = renamed;
    }
}

fn rename(value: &mut Value, number: usize) {
    match value {
        Value::Object(members) => rename_members(members, number),
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, number)),
        _ => {}
    }
}

fn rename_members(members: &mut Map<String, Value>, number: usize) {
    for (name, value) in members {
        match value {
            Value::String(id) if name == MEMBER => rename_id(id, number),
            value => rename(value, number),
        }
    }
}

/// Renames an id, also one that a pattern excludes.
fn rename_id(id: &mut String, number: usize) {
    let excluded = id.strip_prefix(EXCLUDED).and_then(|rest| rest.strip_suffix('>'));
    match excluded {
        Some(literal) if !literal.contains('<') => *id = format!("{EXCLUDED}{literal}.{number}>"),
        None if !id.contains('<') => id.push_str(&format!(".{number}")),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_that_a_case_chooses_are_renamed_alike() {
        let mut value = json!({ "sessionId": "Old", "sessions": [{ "sessionId": "Old" }, { "sessionId": "<session>" }], "id": "Old" });
        rename(&mut value, 7);
        assert_eq!(
            value,
            json!({ "sessionId": "Old.7", "sessions": [{ "sessionId": "Old.7" }, { "sessionId": "<session>" }], "id": "Old" })
        );
        for (written, renamed) in [("<not Old>", "<not Old.7>"), ("<not <session>>", "<not <session>>")] {
            let mut value = json!({ "sessionId": written });
            rename(&mut value, 7);
            assert_eq!(value["sessionId"], renamed);
        }
    }
}
