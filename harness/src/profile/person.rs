//! The default instructions to a person who operates a client by hand.
//!
//! The placeholders are those of an act; those that end in `_name`, such as `{modeId_name}`, are the names that the
//! client shows.

use crate::case::model::{Act, UserPermission};

/// The instruction at the beginning of a case.
pub const START: &str = r#"Open a new thread with the agent "acp-conformance" and send:  {prompt}"#;

/// The setup before some cases.
pub const MCP_SERVERS: &str = "For this case only, configure these MCP servers first:  {mcp_servers}";

/// The same for directories.
pub const DIRECTORIES: &str = "For this case only, add these folders to the project first:  {directories}";

/// The instruction for each act.
const ACTS: [(&str, &str); 21] = [
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
    ("cancel-tool", "Stop only the tool call that the agent shows."),
    ("cancel-terminal", "Stop only the command that the agent shows."),
    ("decide", r#"Choose the option "{optionId_name}"."#),
    ("answer", "Answer what the agent asks of you:  {action}"),
    ("custom-request", "Have your editor make its own request {method}, if it can; else skip the case."),
    ("quit", "Quit the editor. Start it again for the next case."),
];

/// The instruction for an act with an optional argument.
const WITH: [(&str, &str, &str); 2] = [
    ("prompt", "attach", "Attach to your message {attach_name}, and send:  {text}"),
    ("list", "dir", "Look at the history of threads in the folder {dir}, down to its end."),
];

/// The attachments in words.
const ATTACHMENTS: [(&str, &str); 4] =
    [("image", "an image"), ("audio", "a sound"), ("file", "a file"), ("mention", "a mention of a file")];

/// Returns the instruction for the act.
pub fn sentence(act: &Act) -> &'static str {
    let with = WITH.into_iter().find(|(name, argument, _)| *name == act.name && act.arguments.contains_key(*argument));
    let usual = || ACTS.into_iter().find(|(name, _)| *name == act.name).map(|(_, sentence)| sentence);
    with.map(|(_, _, sentence)| sentence).or_else(usual).unwrap_or_default()
}

/// Returns the instruction for answering the agent's requests; `None` for allowing, which is stated once for all cases.
pub const fn permission(permission: UserPermission) -> Option<&'static str> {
    match permission {
        UserPermission::Allow => None,
        UserPermission::Reject => {
            Some("When you are asked for permission, choose the first option that rejects; decline all else.")
        }
        UserPermission::Hold => {
            Some("When the client asks for permission or other input, do not answer until an instruction says so.")
        }
    }
}

/// Returns the words for an attachment.
pub fn attachment(name: &str) -> Option<&'static str> {
    ATTACHMENTS.into_iter().find(|(known, _)| *known == name).map(|(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::places;

    #[test]
    fn every_act_has_a_sentence_with_all_of_its_arguments() {
        for (name, arguments) in crate::case::ACTS {
            let given = |argument: &&str| (argument.trim_start_matches('?').to_owned(), serde_json::Value::Null);
            let needed = arguments.iter().filter(|argument| !argument.starts_with('?'));
            for arguments in [arguments.iter().map(given).collect(), needed.map(given).collect()] {
                let act = Act { name: name.to_owned(), arguments };
                let sentence = sentence(&act);
                let known = places::of_an_act(name);
                assert!(!sentence.is_empty(), "{name}");
                assert!(places::words(sentence).all(|word| known.iter().any(|known| known == word)), "{sentence}");
                for argument in act.arguments.keys() {
                    let is_mentioned = places::words(sentence).any(|word| word.trim_end_matches("_name") == argument);
                    assert!(is_mentioned, "{sentence}: nothing about {argument}");
                }
            }
        }
    }
}
