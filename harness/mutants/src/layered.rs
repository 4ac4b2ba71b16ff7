//! The layers in Rust by name.

use acp_conformance_peers::{agent::ListenRules, client::DialRules};

use crate::{
    fault::{EditFile, inject::Injector},
    layer::Layer,
};

/// One deliberate violation in Rust, named after the wrong behaviour.
#[derive(Debug)]
pub(crate) struct Layered {
    /// The name on the command line.
    pub(crate) name: &'static str,
    /// The place where the layer acts.
    pub(crate) kind: Kind,
}

pub(crate) const fn messages(name: &'static str, layer: fn() -> Box<dyn Layer>) -> Layered {
    Layered { name, kind: Kind::Messages(layer) }
}

/// Creates a layer in the bytes of one `read()`.
pub(crate) const fn bytes(name: &'static str, read: fn(Vec<u8>) -> Vec<u8>) -> Layered {
    Layered { name, kind: Kind::Bytes(read) }
}

/// The place where a layer acts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Once, before the program starts.
    Start(fn()),
    /// In the bytes of one `read()`.
    Bytes(fn(Vec<u8>) -> Vec<u8>),
    /// At a line of the other side that is not a JSON object; the program ends there.
    EndAtBadInput,
    /// In the start of the client's agent, or of its login.
    Launch(Launch),
    /// In the server of an agent on HTTP and WebSocket.
    Listen(fn(&mut ListenRules)),
    /// In the requests of a client that dials its agent.
    Dial(fn(&mut DialRules)),
    Messages(fn() -> Box<dyn Layer>),
}

/// A fault in the start of the client, of the agent or of its login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Launch {
    /// The acts of the user have no end.
    Lingers,
    /// The agent writes its stderr to its stdout.
    StderrMerged,
    /// A login lacks the environment that is configured for the agent.
    LoginBare,
    /// A login lacks the agent's own arguments.
    LoginArgsReplaced,
    /// The agent's own environment replaces that of a login.
    LoginEnvLoses,
    /// A login has pipes and no terminal.
    LoginPiped,
    /// A login gets a message.
    LoginAddressed,
    /// Each end of a login is a success.
    LoginAlwaysSucceeds,
    /// A login that a signal ended is a success.
    LoginKilledSucceeds,
    /// A login that prints a success message is a success.
    LoginWordsSucceed,
    /// The connection continues after a login.
    LoginKeepsConnection,
}

/// The faults of a mutant.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults {
    /// The layers, the first one next to the other side.
    pub(crate) layers: Vec<&'static Layered>,
    /// The edits between the layers and the other side.
    pub(crate) edits: Vec<EditFile>,
    /// The file that gets the number of each edit that shows.
    pub(crate) effects: Option<std::path::PathBuf>,
}

impl Faults {
    /// Whether the program is the plain reference program.
    pub(crate) fn is_empty(&self) -> bool {
        self.layers.is_empty() && self.edits.is_empty()
    }

    /// Whether one of the layers is this one.
    pub(crate) fn launches(&self, launch: Launch) -> bool {
        self.layers.iter().any(|layer| matches!(layer.kind, Kind::Launch(kind) if kind == launch))
    }

    /// Returns the rules of a server with these faults.
    pub(crate) fn listen_rules(&self) -> ListenRules {
        let mut rules = ListenRules::default();
        for layer in &self.layers {
            if let Kind::Listen(break_rule) = layer.kind {
                break_rule(&mut rules);
            }
        }
        rules
    }

    /// Returns the rules of a client that dials with these faults.
    pub(crate) fn dial_rules(&self) -> DialRules {
        let mut rules = DialRules::default();
        for layer in &self.layers {
            if let Kind::Dial(break_rule) = layer.kind {
                break_rule(&mut rules);
            }
        }
        rules
    }

    /// Creates the injector of a connection, if there are edits.
    pub(crate) fn injector(&self) -> Option<Injector> {
        (!self.edits.is_empty()).then(|| Injector::new(&self.edits, self.effects.clone()))
    }
}
