//! Passes an input to the checks that read it.

use super::Judge;
use crate::areas::{CheckContext, Seen};
use crate::conversation::UpdateSeen;
use crate::finding::{Tally, Unread};
use crate::judge::dispatch::{Dispatch, ScheduledCheck};
use crate::judge::tallies::Tallies;
use crate::protocol::Update;
use crate::requirement::Party;

impl Judge {
    pub(super) fn show_both(&mut self, seen: Seen<'_>) {
        self.show(Party::Agent, seen);
        self.show(Party::Client, seen);
    }

    /// Passes an input to the checks of one party.
    pub(super) fn show(&mut self, party: Party, seen: Seen<'_>) {
        self.show_if(party, seen, |_| true);
    }

    /// Passes an input to the checks of one party that `fits` accepts.
    pub(super) fn show_if(&mut self, party: Party, seen: Seen<'_>, fits: impl Fn(&ScheduledCheck) -> bool) {
        let (n, us) = self.now;
        let ctx = CheckContext { conversation: &self.conversation, areas: &self.areas, n, us, from: party };
        let agrees = self.agrees_otherwise;
        let fits = |check: &ScheduledCheck| (!agrees || check.versionless) && fits(check);
        run_checks(&ctx, seen, fits, &self.checks, &mut self.tallies);
    }

    pub(super) fn show_update(&mut self, party: Party, update: Update<'_>) {
        let (n, us) = self.now;
        let ctx = CheckContext { conversation: &self.conversation, areas: &self.areas, n, us, from: party };
        let seen = UpdateSeen { update, known: self.conversation.session(update.session) };
        run_checks(&ctx, Seen::Update(&seen), |_| true, &self.checks, &mut self.tallies);
    }
}

/// Passes an input to the checks of the current party that `fits` accepts.
fn run_checks(
    ctx: &CheckContext<'_>,
    seen: Seen<'_>,
    fits: impl Fn(&ScheduledCheck) -> bool,
    checks: &Dispatch,
    tallies: &mut Tallies,
) {
    let (conversation, n, party) = (ctx.conversation, ctx.n, ctx.from);
    if conversation.is_uncovered(party) {
        return;
    }
    tallies.unread = match (seen, conversation.cut) {
        // A line is checked by its bytes, and the trace contains all of them.
        (Seen::Line(_), _) | (_, None) => None,
        (Seen::Payload(_) | Seen::Update(_), Some(cut)) if cut == n => Some(Unread::Here),
        (_, Some(cut)) => Some(Unread::Before(cut)),
    };
    let (foreign, holes) = (conversation.is_foreign(), conversation.holes.bits());
    for check in checks.of(party, seen) {
        if (!foreign || check.is_timeless()) && check.needs & holes == 0 && fits(check) {
            check.on.run(ctx, seen, &mut tallies.ruling_at(check.place, n).in_case(conversation.whole));
        }
    }
    if checks.proves_subjects {
        for check in checks.not_about(party, seen) {
            let found = check.on.dry_run(ctx, seen);
            assert_eq!(found, Tally::default(), "{} is about {:?} as well", check.requirement, seen.subject());
        }
    }
}
