//! What a check is: the requirement and the party that it judges, what it looks at, and the function that does.

use serde_json::Value;

use super::login::LoginProcess;
use super::moment::Moment;
use super::ruling::{Ruling, Tally};
use super::seen::{Answer, CallSeen, LineSeen, Payload, UpdateSeen};
use crate::requirement::Party;
use crate::trace::{McpEvent, ProcessEvent, Visit};
use crate::wire::Envelope;

/// Defines each kind of thing that a check can look at once: [`On`] has the function of a check, [`Seen`] what it is shown.
macro_rules! kinds {
    ($($(#[$doc:meta])+ $kind:ident($($name:ident: $shown:ty),*),)+) => {
        /// What a check looks at, with the function that does.
        #[derive(Clone, Copy)]
        pub enum On {
            $($(#[$doc])+ $kind(for<'s> fn(&Moment<'_>, $($shown,)* &mut Ruling<'_>)),)+
        }

        /// What the checks of one kind are shown.
        #[derive(Clone, Copy)]
        pub(super) enum Seen<'s> {
            $($(#[$doc])+ $kind($($shown),*),)+
        }

        enum Kind {
            $($kind,)+
        }

        /// How many kinds there are.
        pub(super) const KINDS: usize = [$(Kind::$kind as usize),+].len();

        impl On {
            /// The number of the kind, from 0.
            pub(super) const fn kind(&self) -> usize {
                match self {
                    $(Self::$kind(_) => Kind::$kind as usize,)+
                }
            }

            /// Returns what the check finds in something of its kind.
            pub(super) fn try_out(&self, moment: &Moment<'_>, seen: Seen<'_>) -> Tally {
                let mut tally = Tally::default();
                self.look(moment, seen, &mut Ruling::new(&mut tally, &mut 0, None, moment.n));
                tally
            }

            /// Shows the check something of its kind; anything else is ignored.
            pub(super) fn look(&self, moment: &Moment<'_>, seen: Seen<'_>, ruling: &mut Ruling<'_>) {
                match (self, seen) {
                    $((Self::$kind(check), Seen::$kind($($name),*)) => check(moment, $($name,)* ruling),)+
                    _ => {}
                }
            }
        }

        impl Seen<'_> {
            /// The number of the kind, as in [`On::kind`].
            pub(super) const fn kind(&self) -> usize {
                match self {
                    $(Self::$kind(..) => Kind::$kind as usize,)+
                }
            }
        }
    };
}

impl<'s> Seen<'s> {
    /// The variant of an update and of its payload, and otherwise the method of a call, of a payload, or of the request that a
    /// response answers.
    pub(super) fn subject(&self) -> Option<&'s str> {
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
    /// Each line on the stream, readable or not.
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
    /// What the party writes to its standard error.
    Stderr(bytes: &'s [u8]),
    /// Each login in a terminal, when the trace has ended and all that came of it is known.
    Login(login: &'s LoginProcess),
    /// What happens to the party's process.
    Process(process: &'s ProcessEvent),
    /// What happens to the MCP servers that the other party plays.
    Mcp(event: &'s McpEvent),
    /// Each request of the party to the HTTP endpoint of the case.
    Visit(visit: &'s Visit),
    /// The end of each case of a conversation, and of the trace: for requirements that are satisfied because something did not come.
    /// Such a check only passes, and only for events of the current case.
    CaseEnd(),
    /// The end of the trace.
    End(),
}

/// One function that judges one requirement; a requirement may have several that look at different things.
#[derive(Clone, Copy)]
pub struct Check {
    /// The requirement that it judges.
    pub requirement: &'static str,
    /// The party that is judged.
    pub party: Party,
    /// What it looks at.
    pub on: On,
    /// The methods and the variants of updates that it is about; `None` for all.
    pub subjects: Option<&'static [&'static str]>,
}

impl Check {
    /// A check of the agent.
    #[must_use]
    pub const fn agent(requirement: &'static str, on: On) -> Self {
        Self { requirement, party: Party::Agent, on, subjects: None }
    }

    /// A check of the client.
    #[must_use]
    pub const fn client(requirement: &'static str, on: On) -> Self {
        Self { requirement, party: Party::Client, on, subjects: None }
    }

    /// The check, shown only what is about these methods and variants of updates.
    #[must_use]
    pub const fn only(self, subjects: &'static [&'static str]) -> Self {
        Self { subjects: Some(subjects), ..self }
    }

    /// A check of both parties: the requirement on the agent first, then that on the client.
    #[must_use]
    pub const fn both([agent, client]: [&'static str; 2], on: On) -> [Self; 2] {
        [Self::agent(agent, on), Self::client(client, on)]
    }
}
