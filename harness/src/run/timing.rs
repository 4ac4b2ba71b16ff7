//! The time limits and windows of the runner, each with its reason. Limits that a profile or a case may change are in
//! [`super::Limits`].

use std::time::Duration;

/// The time an agent has to release its terminals after the transcript. The judge reports terminals that are still held
/// after a turn; the runner waits longer than the judge.
pub(super) const RELEASE_TERMINALS: Duration = Duration::from_secs(6);

/// The time a subject has to answer the fence after a time limit. The fence distinguishes a dropped request from a
/// subject that hangs, so one that still works answers at once.
pub(super) const FENCE_AFTER_TIMEOUT: Duration = Duration::from_secs(5);

/// The shortest and the longest time a subject has to crash after it answered the fence that follows a line which
/// breaks the protocol. Some programs on a virtual machine or an interpreter crash 100 ms later.
pub(super) const CRASH_AFTER_BAD_LINE: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(200)];

/// The same time between these two, as a multiple of the time until the first answer of the subject. A program that
/// starts within milliseconds crashes as fast.
pub(super) const CRASH_AFTER_STARTS: u32 = 10;

/// The time after which the tester tries another request as a fence, and the length of a weak fence. Programs that
/// answer do so within milliseconds when idle.
pub(super) const NEXT_FENCE: Duration = Duration::from_secs(3);

/// The time an agent has to answer the fence between two cases of a conversation. A slow answer only costs another
/// start.
pub(super) const FENCE_BETWEEN_CASES: Duration = Duration::from_secs(5);

/// The time for the answers to other requests of a case once that fence is answered: a program that handles several
/// requests at once may answer the fence first. One that comes later only costs another start.
pub(super) const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// The longest time of the first start of a run, of a program that uses the processors all the time. Programs that
/// start in a second have needed two minutes on a machine with a load of 75.
pub(super) const LONGEST_FIRST_START: Duration = Duration::from_secs(180);

/// The time after which the harness looks again whether a program is still starting.
pub(super) const STILL_STARTING: Duration = Duration::from_secs(5);

/// The ticks of a processor, of 10 ms, that a program uses in that time while it is starting. An idle one uses none,
/// and one of 75 programs on two cores gets 13.
pub(super) const BUSY_TICKS: u64 = 3;

/// The limit for the later starts of a program, as a multiple of its first one, if that took long. Several start at
/// once then.
pub(super) const LATER_STARTS: u32 = 3;

/// The least time an agent has to answer `initialize` once it has left another one unanswered. The agents that were
/// measured start within that, and a missing answer alone fails no requirement.
pub(super) const START_AFTER_SILENCE: Duration = Duration::from_secs(5);

/// The same time as a multiple of the longest time that the agent took to agree to an `initialize`.
pub(super) const STARTS_AFTER_SILENCE: u32 = 5;

/// The time an agent that has served other cases has to exit, where a case starts it again. Some never exit once they
/// ran commands; then the case runs again alone, where the limit for answers holds.
pub(super) const EXIT_AFTER_OTHERS: Duration = Duration::from_secs(5);

/// The time for a first message to an MCP server, as a multiple of the time that the subject took to answer
/// `initialize`. It counts as long as the subject does not try to call a tool; then a missing message decides nothing,
/// whatever the time.
pub(super) const FIRST_OF_SERVER: u32 = 4;

/// The least time for a first message that a case requires.
pub(super) const WANTED_SERVER: Duration = Duration::from_secs(5);

/// The time for a message to an MCP server, once the subject sent none as long as one was awaited and does not try to
/// call a tool. Servers are local; agents that start them do so within a second.
pub(super) const SILENT_SERVERS: Duration = Duration::from_secs(2);

/// The time for a line of an agent that has ended all work, or waits for an answer of the transcript: updates that
/// follow work come within milliseconds. If one comes later, its case is undecided.
pub(super) const AT_REST: Duration = Duration::from_secs(3);

/// The time for a request of a kind that an agent never sent in this run, although several cases awaited it. A tool
/// call comes within milliseconds after the answer of the scripted model. An agent that runs the command itself would
/// make the case wait for its end.
pub(super) const NEVER_SENT: Duration = Duration::from_secs(5);

/// The time for the response to a request of HTTP that a case sends. The client's end gives up after 3 s, once it has
/// taken as long for the requests before.
pub(super) const SCRIPTED_RESPONSE: Duration = Duration::from_secs(10);

/// The time for a server to end a connection that the client ended, which the client's end awaits for 3 s.
pub(super) const CONNECTION_END: Duration = Duration::from_secs(4);

/// The pause between two checks of a file or a process. Short, since a local program writes within milliseconds; long
/// enough to leave the processor to the subject.
pub(super) const CHECK_AGAIN: Duration = Duration::from_millis(5);

/// The time for the output of a client after its exit. All of it is in the pipe and ends with the stream, unless a
/// leftover process of the client holds the stream open.
pub(super) const OUTPUT_AFTER_EXIT: Duration = Duration::from_secs(5);

/// The time the process that a client takes for its agent has to exit on our order. It only has to read the order.
pub(super) const AGENT_EXIT: Duration = Duration::from_secs(2);

/// The time for the command that prints the installed version. A package manager that only looks it up takes seconds.
pub(super) const INSTALLED_VERSION: Duration = Duration::from_secs(30);

/// The time for the processes that an agent started to end after it, and the pause between two looks at them. Most end
/// with the pipe from the agent, within milliseconds; an interpreter under load takes longer.
pub(super) const CHILDREN_END: Duration = Duration::from_secs(2);
pub(super) const CHILDREN_POLL: Duration = Duration::from_millis(20);

/// The time before an act without a fence in a case whose failure counts at once. A client may show what it read a
/// moment later, when its window is drawn again; until then, its user acts on what was there before.
pub(super) const BEFORE_ACT: Duration = Duration::from_millis(250);

/// The same in a run that confirms a failure, also after a fence, which only the reader of the client may have
/// answered. A page that asks for news twice a second shows everything by then.
pub(super) const BEFORE_CONFIRMING_ACT: Duration = Duration::from_secs(1);

/// The time in which a client shows a request for permission, and answers one that needs no user, such as in a
/// cancelled turn.
pub(super) const SHOWN: Duration = Duration::from_millis(300);

/// The time after the last line in a run that confirms a failure. What a subject sends some time after an answer comes
/// during the next case of a longer conversation.
pub(super) const AFTERMATH: Duration = Duration::from_millis(250);
