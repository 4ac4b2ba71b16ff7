//! Names that only earlier schemas have.

/// Members of messages in earlier schemas. They are legacy, and not names of extensions.
pub(crate) const WITHDRAWN_MEMBERS: [&str; 20] = [
    "authMethods",
    "authRequired",
    "availableCommands",
    "clientTools",
    "commandName",
    "connectionId",
    "diff",
    "label",
    "link",
    "meta",
    "modelId",
    "models",
    "nes",
    "optional",
    "planCapabilities",
    "positionEncoding",
    "positionEncodings",
    "stop",
    "userMessageId",
    "vars",
];
