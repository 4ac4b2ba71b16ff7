//! The time windows of the checks, each with its reason.
//!
//! The specification sets no times, so all of these are ours. A busy machine delays a program by up to half a second;
//! each window allows for that.

use std::time::Duration;

/// Returns the time between two moments of a trace, in microseconds since its start; zero when the second is earlier.
pub(crate) const fn between(from_us: u64, until_us: u64) -> Duration {
    Duration::from_micros(until_us.saturating_sub(from_us))
}

/// Returns a time in whole milliseconds, as in findings.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The exit or failure of a program within this time after a message is attributed to the message.
pub(crate) const EXIT_AFTER_MESSAGE: Duration = Duration::from_secs(5);

/// A turn that ends later than this after the response to `session/close` continued after the close.
pub(crate) const TURN_AFTER_CLOSE: Duration = Duration::from_secs(5);

/// A party answers a cancelled or closed turn, and releases its terminals, within this time. The specification says "as
/// soon as possible": this is long for a program, and short for a person who waits.
pub(crate) const CANCEL_LIMIT: Duration = Duration::from_secs(10);

/// An answer that arrives within this time after a cancel may have crossed with it. Pipes deliver within microseconds,
/// but a program may need a while to write an answer that it decided on earlier.
pub(crate) const CANCEL_CROSSING: Duration = Duration::from_secs(5);

/// A turn that is cancelled within this time after its prompt may not have begun: JSON-RPC lets a receiver work on a
/// request and a notification at the same time.
pub(crate) const TURN_START: Duration = Duration::from_secs(1);

/// A request that ends as cancelled within this time after the cancel of another one was ended by that cancel: a
/// program that cancels the wrong request does so when it reads the notification. Later it may have another reason.
pub(crate) const WRONG_CANCEL: Duration = Duration::from_secs(1);

/// A user's decision within this time around a cancel may have come before it. The client sends both, in its own order,
/// so a slow machine changes little.
pub(crate) const USER_CROSSING: Duration = Duration::from_millis(500);

/// A permission request that is answered as cancelled within this time after the cancel of another session was
/// cancelled with it: no user is that fast.
pub(crate) const CANCEL_SWEEP: Duration = Duration::from_millis(100);

/// A message of the client within this time after a capability was withdrawn may have crossed with that.
pub(crate) const CAPABILITY_CROSSING: Duration = Duration::from_millis(500);

/// A mode update within this time after the response to `session/set_mode` was decided together with the response.
pub(crate) const UPDATE_WITH_RESPONSE: Duration = Duration::from_millis(500);

/// A client that follows the pages of a list by itself asks for the next one within this time.
pub(crate) const NEXT_PAGE: Duration = Duration::from_secs(2);

/// A prompt within this time after the response to the previous one follows it directly. A session that is still busy
/// then may be idle a little later, so that a later prompt shows nothing.
pub(crate) const NEXT_PROMPT: Duration = Duration::from_millis(100);

/// An answer within this time was not delayed; long enough for a busy machine.
pub(crate) const PROMPT_ANSWER: Duration = Duration::from_secs(2);

/// After this time, an agent has had time to clean up. Agents release terminals up to 300 ms after the response to a
/// prompt; they may first give a command some seconds to exit.
pub(crate) const CLEAN_UP: Duration = Duration::from_secs(5);

/// After this time, an agent has sent the end of its text. Some send what they collected a moment after the response.
pub(crate) const TEXT_SENT: Duration = Duration::from_secs(1);

/// A permission request of an earlier turn was ignored when a later turn has been over for this time.
pub(crate) const LATER_TURN_OVER: Duration = Duration::from_secs(10);

/// A turn that has sent all of its output and then sends nothing for this time is done; models pause for a few seconds
/// only.
pub(crate) const OUTPUT_SILENCE: Duration = Duration::from_secs(20);

/// An agent that has opened a session like this one never takes this long to open the next: the time, and how many
/// times as long as the slowest one took. It may start services of its own, or wait for the machine.
pub(crate) const OPENING_SILENCE: (Duration, u64) = (Duration::from_secs(30), 20);

/// A client may prompt again when the agent has not answered a cancelled prompt within this time; agents take less to
/// stop.
pub(crate) const CLIENT_PATIENCE: Duration = Duration::from_secs(10);

/// A cursor stays valid for at least this time; agents may let it expire later.
pub(crate) const CURSOR_LIFETIME: Duration = Duration::from_secs(60);

/// An answer within this time after the end of a turn, or of the input, is attributed to that end.
pub(crate) const ANSWER_AFTER_END: Duration = Duration::from_secs(1);

/// An answer that takes longer than this, and comes when a turn ends, was held back by the turn.
pub(crate) const HELD_BACK: Duration = Duration::from_secs(2);

/// An answer that is missing for this time, and comes when the input ends, was written but not flushed.
pub(crate) const NOT_FLUSHED: Duration = Duration::from_secs(20);

/// The time after which a response of HTTP or the end of a stream is late: the server has shown in the meantime that it
/// works on the request. A server that takes requests at once needs milliseconds. Shorter than the tester waits.
pub(crate) const LATE_RESPONSE: Duration = Duration::from_millis(2500);

/// A message that comes this long after a stream was opened was written when the server knew of it. Streams have no
/// common order, but none is delayed for longer.
pub(crate) const STREAM_KNOWN: Duration = Duration::from_millis(500);
