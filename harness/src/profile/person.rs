//! What a person is told who operates a client by hand, where no profile has better words for it.
//!
//! The places are those of an act; `{modeId_name}` and the like are the names that the client shows.

use crate::case::model::{Act, UserPermission};

/// How a case begins.
pub const START: &str = r#"Open a new thread with the agent "acp-conformance" and send:  {prompt}"#;

/// What has to be set up before some cases begin.
pub const MCP_SERVERS: &str = "For this case only, configure these MCP servers first:  {mcp_servers}";

/// As above.
pub const DIRECTORIES: &str = "For this case only, add these folders to the project first:  {directories}";

/// How each act is done.
const ACTS: [(&str, &str); 18] = [
    ("prompt", "Send:  {text}"),
    ("cancel", "Stop the running turn."),
    ("new-session", r#"Open a further thread with the agent "acp-conformance", and stay in it."#),
    ("load", r#"Open the old thread "{sessionId_name}" from the history."#),
    ("resume", r#"Resume the old thread "{sessionId_name}" from the history."#),
    ("close", r#"Close the thread "{sessionId_name}"."#),
    ("delete", r#"Delete the thread "{sessionId_name}" from the history."#),
    ("switch", r#"Go to the open thread "{sessionId_name}"."#),
    ("list", "Look at the history of threads, down to its end."),
    ("set-mode", r#"Switch the mode to "{modeId_name}"."#),
    ("set-option", r#"Set the option "{configId_name}" to "{value_name}"."#),
    ("command", "Send:  /{name} {input}"),
    ("authenticate", r#"Log in with "{methodId_name}"."#),
    ("logout", "Log out from the agent."),
    ("cancel-request", "Give up the running prompt by `$/cancel_request`, if your editor can; else skip the case."),
    ("decide", r#"Choose the option "{optionId_name}"."#),
    ("custom-request", "Have your editor make its own request {method}, if it can; else skip the case."),
    ("quit", "Quit the editor. Start it again for the next case."),
];

/// A prompt with something attached.
const ATTACHED: &str = "Attach to your message {attach_name}, and send:  {text}";

/// What can be attached, in words.
const ATTACHMENTS: [(&str, &str); 4] =
    [("image", "an image"), ("audio", "a sound"), ("file", "a file"), ("mention", "a mention of a file")];

/// What tells a person to do the act.
#[must_use]
pub fn sentence(act: &Act) -> &'static str {
    let attached = act.arguments.get("attach").and_then(|attach| attach.as_array()).is_some_and(|all| !all.is_empty());
    if attached {
        return ATTACHED;
    }
    ACTS.into_iter().find(|(name, _)| *name == act.name).map_or("", |(_, sentence)| sentence)
}

/// What tells a person how to answer requests for permission; allowing needs no words, since it is said once for all cases.
#[must_use]
pub const fn permission(permission: UserPermission) -> Option<&'static str> {
    match permission {
        UserPermission::Allow => None,
        UserPermission::Reject => Some("When you are asked for permission, choose the first option that rejects."),
        UserPermission::Hold => Some("When you are asked for permission, do not answer until you are told to."),
    }
}

/// The words for something that is attached.
#[must_use]
pub fn attachment(name: &str) -> Option<&'static str> {
    ATTACHMENTS.into_iter().find(|(known, _)| *known == name).map(|(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::places;

    #[test]
    fn every_act_has_a_sentence_with_places_of_its_own() {
        for (name, _) in crate::case::ACTS {
            let act = Act { name: name.to_owned(), arguments: serde_json::Map::new() };
            let sentence = sentence(&act);
            assert!(!sentence.is_empty(), "{name}");
            let known = places::of_an_act(name);
            assert!(places::words(sentence).all(|word| known.iter().any(|known| known == word)), "{sentence}");
        }
    }
}
