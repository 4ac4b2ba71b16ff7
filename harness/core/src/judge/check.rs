//! The registry of checks: which function judges which requirement, and what it wants to see.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use super::checks;
use super::login::LoginProcess;
use super::looks::Look;
use super::moment::{Answer, CallSeen, LineSeen, Moment, Payload, UpdateSeen};
use super::ruling::Ruling;
use crate::requirement::Party;
use crate::trace::{McpEvent, ProcessEvent, Visit};
use crate::wire::Envelope;

/// What a check looks at, with the function that does.
#[derive(Clone, Copy)]
pub enum On {
    /// Each line on the stream, readable or not.
    Line(fn(&Moment<'_>, &LineSeen<'_>, &mut Ruling<'_>)),
    /// Each JSON object, whatever its form.
    Message(fn(&Moment<'_>, &serde_json::Value, Envelope<'_>, &mut Ruling<'_>)),
    /// Each request and notification.
    Call(fn(&Moment<'_>, &CallSeen<'_>, &mut Ruling<'_>)),
    /// Each answer of the party.
    Response(fn(&Moment<'_>, &Answer<'_>, &mut Ruling<'_>)),
    /// Each answer that the party *receives*.
    Received(fn(&Moment<'_>, &Answer<'_>, &mut Ruling<'_>)),
    /// Each request and notification that the party *receives*.
    Told(fn(&Moment<'_>, &CallSeen<'_>, &mut Ruling<'_>)),
    /// Each `session/update`.
    Update(fn(&Moment<'_>, &UpdateSeen<'_>, &mut Ruling<'_>)),
    /// Each params and result that the schema describes.
    Payload(fn(&Moment<'_>, &Payload<'_>, &mut Ruling<'_>)),
    /// What the party writes to its standard error.
    Stderr(fn(&Moment<'_>, &[u8], &mut Ruling<'_>)),
    /// Each login in a terminal, when the trace has ended and all that came of it is known.
    Login(fn(&Moment<'_>, &LoginProcess, &mut Ruling<'_>)),
    /// What happens to the party's process.
    Process(fn(&Moment<'_>, &ProcessEvent, &mut Ruling<'_>)),
    /// What happens to the MCP servers that the other party plays.
    Mcp(fn(&Moment<'_>, &McpEvent, &mut Ruling<'_>)),
    /// Each request of the party to the HTTP endpoint of the case.
    Visit(fn(&Moment<'_>, &Visit, &mut Ruling<'_>)),
    /// The end of the trace.
    End(fn(&Moment<'_>, &mut Ruling<'_>)),
}

/// The kinds of [`On`], by which checks are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sight {
    Line,
    Message,
    Call,
    Response,
    Received,
    Told,
    Update,
    Payload,
    Stderr,
    Process,
    Mcp,
    Visit,
    Login,
    End,
}

impl On {
    pub(super) const fn sight(&self) -> Sight {
        match self {
            Self::Line(_) => Sight::Line,
            Self::Message(_) => Sight::Message,
            Self::Call(_) => Sight::Call,
            Self::Response(_) => Sight::Response,
            Self::Received(_) => Sight::Received,
            Self::Told(_) => Sight::Told,
            Self::Update(_) => Sight::Update,
            Self::Payload(_) => Sight::Payload,
            Self::Stderr(_) => Sight::Stderr,
            Self::Process(_) => Sight::Process,
            Self::Mcp(_) => Sight::Mcp,
            Self::Visit(_) => Sight::Visit,
            Self::Login(_) => Sight::Login,
            Self::End(_) => Sight::End,
        }
    }
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
}

impl Check {
    /// A check of the agent.
    #[must_use]
    pub const fn agent(requirement: &'static str, on: On) -> Self {
        Self { requirement, party: Party::Agent, on }
    }

    /// A check of the client.
    #[must_use]
    pub const fn client(requirement: &'static str, on: On) -> Self {
        Self { requirement, party: Party::Client, on }
    }

    /// A check of both parties: the requirement on the agent first, then that on the client.
    #[must_use]
    pub const fn both([agent, client]: [&'static str; 2], on: On) -> [Self; 2] {
        [Self::agent(agent, on), Self::client(client, on)]
    }
}

/// All checks.
pub struct Registry {
    checks: Vec<Check>,
    looks: Vec<(Look, Party)>,
    /// The requirements that a function judges or that the shape table owns, each with its place in a list of them all.
    places: HashMap<&'static str, usize>,
}

impl Registry {
    /// The checks of this program.
    #[must_use]
    pub fn all() -> &'static Self {
        static ALL: LazyLock<Registry> = LazyLock::new(|| {
            let checks = checks::all();
            let owned = checks.iter().map(|check| check.requirement).chain(super::shapes::requirements());
            let owned: BTreeSet<&'static str> = owned.collect();
            let places: HashMap<&'static str, usize> = owned.into_iter().zip(0..).collect();
            let looks = checks.iter().map(|check| (Look::new(check, places[check.requirement]), check.party)).collect();
            Registry { checks, looks, places }
        });
        &ALL
    }

    /// Each check, in the order of the areas.
    pub fn iter(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter()
    }

    /// The same as they are shown things, each with the party that it judges.
    pub(super) fn looks(&self) -> &[(Look, Party)] {
        &self.looks
    }

    /// The requirements that a function judges or that the shape table owns; a case may decide others by its steps.
    #[must_use]
    pub fn requirements(&self) -> BTreeSet<&'static str> {
        self.places.keys().copied().collect()
    }

    /// Each of them with its place.
    pub(super) fn places(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.places.iter().map(|(requirement, place)| (*requirement, *place))
    }

    /// The place of a requirement; none when no function and no row of a table judges it.
    pub(super) fn place(&self, requirement: &str) -> Option<usize> {
        self.places.get(requirement).copied()
    }
}
