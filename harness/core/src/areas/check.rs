//! A check: its requirement, its party, the kind of event that it reads, and its function.

use serde_json::Value;

use super::auth::LoginProcess;
use super::context::CheckContext;
use crate::conversation::{Answer, CallSeen, LineSeen, Payload, UpdateSeen};
use crate::finding::{Ruling, Tally};
use crate::requirement::Party;
use crate::trace::{HttpEvent, McpEvent, ModelEvent, ProcessEvent, Visit};
use crate::wire::Envelope;

/// Defines each kind of check input once: [`On`] holds the function of a check, [`Seen`] its input.
macro_rules! kinds {
    ($($(#[$doc:meta])+ $kind:ident($($name:ident: $shown:ty),*),)+) => {
        /// The kind of input of a check, with its function.
        #[derive(Clone, Copy)]
        pub enum On {
            $($(#[$doc])+ $kind(for<'s> fn(&CheckContext<'_>, $($shown,)* &mut Ruling<'_>)),)+
        }

        /// The input for the checks of one kind.
        #[derive(Clone, Copy)]
        pub(crate) enum Seen<'s> {
            $($(#[$doc])+ $kind($($shown),*),)+
        }

        enum Kind {
            $($kind,)+
        }

        /// The number of kinds.
        pub(crate) const KINDS: usize = [$(Kind::$kind as usize),+].len();

        impl On {
            /// Returns the number of the kind, from 0.
            pub(crate) const fn kind(&self) -> usize {
                match self {
                    $(Self::$kind(_) => Kind::$kind as usize,)+
                }
            }

            /// Returns the findings of the check for an input of its kind.
            pub(crate) fn dry_run(&self, ctx: &CheckContext<'_>, seen: Seen<'_>) -> Tally {
                let mut tally = Tally::default();
                self.run(ctx, seen, &mut Ruling::new(&mut tally, &mut 0, None, ctx.n));
                tally
            }

            /// Runs the check on an input of its kind; ignores any other input.
            pub(crate) fn run(&self, ctx: &CheckContext<'_>, seen: Seen<'_>, ruling: &mut Ruling<'_>) {
                match (self, seen) {
                    $((Self::$kind(check), Seen::$kind($($name),*)) => check(ctx, $($name,)* ruling),)+
                    _ => {}
                }
            }
        }

        impl Seen<'_> {
            /// Returns the number of the kind, as in [`On::kind`].
            pub(crate) const fn kind(&self) -> usize {
                match self {
                    $(Self::$kind(..) => Kind::$kind as usize,)+
                }
            }
        }
    };
}

impl On {
    /// Whether the input is one message, which most checks of this kind decide by itself.
    const fn is_one_message(&self) -> bool {
        matches!(self, Self::Line(_) | Self::Message(_) | Self::Stderr(_) | Self::Payload(_))
    }
}

impl<'s> Seen<'s> {
    /// Returns the variant of an update and of its payload, and otherwise the method of a call, of a payload, or of the
    /// answered request.
    pub(crate) fn subject(&self) -> Option<&'s str> {
        match self {
            Self::Call(call) | Self::ReceivedCall(call) => Some(call.method),
            Self::Response(answer) | Self::ReceivedResponse(answer) => {
                answer.exchange.map(|exchange| exchange.method.as_str())
            }
            Self::Update(update) => Some(update.variant),
            Self::Payload(payload) => Some(payload.variant.unwrap_or(payload.method)),
            _ => None,
        }
    }
}

kinds! {
    /// Each line on the stream, valid or not.
    Line(line: &'s LineSeen<'s>),
    /// Each JSON object, whatever its form.
    Message(value: &'s Value, envelope: Envelope<'s>),
    /// Each request and notification of the party.
    Call(call: &'s CallSeen<'s>),
    /// Each response of the party.
    Response(answer: &'s Answer<'s>),
    /// Each response that the party *receives*.
    ReceivedResponse(answer: &'s Answer<'s>),
    /// Each request and notification that the party *receives*.
    ReceivedCall(call: &'s CallSeen<'s>),
    /// Each `session/update`.
    Update(update: &'s UpdateSeen<'s>),
    /// Each params and result that the schema describes.
    Payload(payload: &'s Payload<'s>),
    /// Output of the party on its standard error.
    Stderr(bytes: &'s [u8]),
    /// Each login in a terminal, at the end of the trace, when its result is known.
    Login(login: &'s LoginProcess),
    /// Events of HTTP or of a WebSocket that carries the messages.
    Http(event: &'s HttpEvent),
    /// Events of the party's process.
    Process(process: &'s ProcessEvent),
    /// Events of the MCP servers of the other party.
    Mcp(event: &'s McpEvent),
    /// Each request of the party to the HTTP endpoint of the case.
    Visit(visit: &'s Visit),
    /// Each request of the agent to the scripted model of the case.
    Model(model: &'s ModelEvent),
    /// The end of each case of a conversation, and of the trace: for requirements that are satisfied because a message
    /// did not come. Such a check only passes, and only for events of the current case.
    CaseEnd(),
    /// The end of the trace.
    End(),
}

/// Makes a check of a function that takes further arguments before the ruling.
macro_rules! with {
    ($check:path, $($more:expr),+ $(,)?) => { |ctx, seen, ruling| $check(ctx, seen, $($more,)+ ruling) };
}

/// Returns the ids of a requirement on both parties: first that of the agent, then that of the client.
macro_rules! of_both {
    ($requirement:literal) => {
        [concat!($requirement, ".agent"), concat!($requirement, ".client")]
    };
}

pub(crate) use {of_both, with};

/// A function that checks one requirement; a requirement may have several for different kinds of input.
#[derive(Clone, Copy)]
pub struct Check {
    /// The requirement that it checks.
    pub requirement: &'static str,
    /// The party that it checks.
    pub party: Party,
    /// The input.
    pub on: On,
    /// The methods and the variants of updates that it needs; `None` for all.
    pub subjects: Option<&'static [&'static str]>,
    /// Whether one message decides, with the request that it answers and with what the parties said in `initialize`; or
    /// one request of HTTP with its response. Such a check also works where the order of the messages is unknown.
    pub alone: bool,
}

impl Check {
    /// Creates a check of the agent.
    pub const fn agent(requirement: &'static str, on: On) -> Self {
        Self { requirement, party: Party::Agent, on, subjects: None, alone: on.is_one_message() }
    }

    /// Creates a check of the client.
    pub const fn client(requirement: &'static str, on: On) -> Self {
        Self { requirement, party: Party::Client, on, subjects: None, alone: on.is_one_message() }
    }

    /// Limits the check to these methods and variants of updates.
    pub const fn only(self, subjects: &'static [&'static str]) -> Self {
        Self { subjects: Some(subjects), ..self }
    }

    /// Marks a check for which one message decides.
    pub const fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    /// Marks a check of a payload that needs earlier messages.
    pub const fn with_history(self) -> Self {
        Self { alone: false, ..self }
    }

    /// Creates a check of both parties, for which one message decides.
    pub const fn both_alone(requirements: [&'static str; 2], on: On) -> [Self; 2] {
        let [agent, client] = Self::both(requirements, on);
        [agent.alone(), client.alone()]
    }

    /// Creates a check of both parties: first the requirement on the agent, then that on the client.
    pub const fn both([agent, client]: [&'static str; 2], on: On) -> [Self; 2] {
        [Self::agent(agent, on), Self::client(client, on)]
    }
}
