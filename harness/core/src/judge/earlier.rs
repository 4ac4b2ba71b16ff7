//! What belongs to no case on a process that serves several: words that come late for an earlier case, and the fence between
//! two. Nothing is made of it.

use std::collections::HashSet;

use crate::requirement::Party;
use crate::trace::{Event, FENCE, ProcessEvent, Reuse, What};
use crate::wire::{Content, Envelope, RpcId, read_line};

/// What is known of the other cases of the process.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    reuse: Option<Reuse>,
    /// The requests that the agent made for earlier cases, and that have no answer yet.
    asked: HashSet<RpcId>,
    /// The case is over.
    parted: bool,
    /// The fence behind it.
    fence: Option<RpcId>,
}

impl Earlier {
    /// Whether the event belongs to no case, and is to be passed over.
    pub(super) fn claims(&mut self, event: &Event) -> bool {
        match &event.what {
            What::Process(ProcessEvent::Reused(reuse)) => self.reuse = Some(reuse.clone()),
            What::Process(ProcessEvent::Parted) => self.parted = true,
            What::Line { from, bytes, .. } if self.parted || self.reuse.is_some() => {
                return self.claims_line(*from, bytes);
            }
            _ => return false,
        }
        true
    }

    fn claims_line(&mut self, from: Party, bytes: &[u8]) -> bool {
        let Content::One { value, .. } = read_line(bytes) else { return false };
        match (from, Envelope::of(&value)) {
            (Party::Client, Envelope::Call(call)) if self.parted && call.method == FENCE => {
                self.fence = call.id.map(RpcId::new);
                true
            }
            (Party::Client, Envelope::Response { id: Some(id), .. }) => self.asked.remove(&RpcId::new(id)),
            (Party::Client, _) => false,
            (Party::Agent, Envelope::Response { id: Some(id), .. }) if self.fence == Some(RpcId::new(id)) => true,
            (Party::Agent, envelope) => {
                let is_late = self.reuse.as_ref().is_some_and(|reuse| reuse.is_about(&value));
                if let Envelope::Call(call) = envelope
                    && is_late
                {
                    self.asked.extend(call.id.map(RpcId::new));
                }
                is_late
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::judge::{Judgement, judge};
    use crate::testing::v1;
    use crate::trace::Trace;
    use crate::verdict::Verdict;

    /// A conversation on a process that has served a case with the session `old`, in which these lines come last.
    fn judged(is_reused: bool, lines: &[(&str, &str)]) -> Judgement {
        let reused = ("process", r#"{"reused":{"cases":1,"sessions":["old"],"requests":3}}"#);
        let opening = [
            ("client", r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#),
            (
                "agent",
                r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"a","version":"1"}}}"#,
            ),
        ];
        let session = [
            ("client", r#"{"jsonrpc":"2.0","id":3,"method":"session/new","params":{"cwd":"/x","mcpServers":[]}}"#),
            ("agent", r#"{"jsonrpc":"2.0","id":3,"result":{"sessionId":"new"}}"#),
        ];
        let all = opening.iter().chain(is_reused.then_some(&reused)).chain(&session).chain(lines);
        let mut file =
            r#"{"format":"acp-conformance-trace/1","suite":"0","edition":"v1@2026-11","case":"c","subject":"agent"}"#
                .to_owned();
        for (n, (kind, text)) in all.enumerate() {
            let quoted = serde_json::Value::from(*text);
            file += &match *kind {
                "process" => format!("\n{{\"n\":{n},\"us\":0,\"process\":{text}}}"),
                from => format!("\n{{\"n\":{n},\"us\":0,\"from\":\"{from}\",\"line\":{quoted}}}"),
            };
        }
        judge(&Trace::read(file.as_bytes()).expect("a trace"), v1())
    }

    fn failed(judgement: &Judgement) -> Vec<&str> {
        let failed = judgement.tallies.iter().filter(|(_, tally)| tally.verdict() == Verdict::Fail);
        failed.map(|(id, _)| id.as_str()).collect()
    }

    /// What stands in a trace: who says it, and the line.
    type Lines = &'static [(&'static str, &'static str)];

    /// Late words of an earlier case: each breaks a rule where there was no earlier case.
    const LATE: [(&str, &str, Lines); 3] = [
        (
            "an update",
            "update.session-known",
            &[(
                "agent",
                r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"old","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}}"#,
            )],
        ),
        ("a second answer", "jsonrpc.response-id-known.agent", &[("agent", r#"{"jsonrpc":"2.0","id":2,"result":{}}"#)]),
        (
            "a request",
            "fs.session-known",
            &[
                (
                    "agent",
                    r#"{"jsonrpc":"2.0","id":"a","method":"fs/read_text_file","params":{"sessionId":"old","path":"/x/y"}}"#,
                ),
                ("client", r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32603,"message":"the case is over"}}"#),
            ],
        ),
    ];

    #[test]
    fn what_belongs_to_an_earlier_case_accuses_nobody() {
        for (what, requirement, lines) in LATE {
            assert_eq!(failed(&judged(true, lines)), Vec::<&str>::new(), "{what}");
            let alone = judged(false, lines);
            assert!(failed(&alone).contains(&requirement), "{what} without an earlier case: {:?}", failed(&alone));
        }
    }

    #[test]
    fn what_belongs_to_the_case_at_hand_is_judged_as_ever() {
        let unknown = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}}"#;
        let twice = r#"{"jsonrpc":"2.0","id":3,"result":{"sessionId":"new"}}"#;
        assert!(failed(&judged(true, &[("agent", unknown)])).contains(&"update.session-known"));
        assert!(failed(&judged(true, &[("agent", twice)])).contains(&"jsonrpc.response-once.agent"));
        assert_eq!(
            judged(true, &[]).verdict("session.new.returns-id"),
            judged(false, &[]).verdict("session.new.returns-id")
        );
    }

    #[test]
    fn the_fence_between_two_cases_is_part_of_neither() {
        let fence = ("client", r#"{"jsonrpc":"2.0","id":4,"method":"_acp-conformance/fence","params":{}}"#);
        let odd = ("agent", r#"{"jsonrpc":"2.0","id":4,"result":null}"#);
        let parted = ("process", r#""parted""#);
        assert_eq!(judged(true, &[parted, fence, odd]), judged(true, &[]));
        assert_eq!(judged(false, &[parted, fence]), judged(false, &[]), "without an answer");
        assert!(failed(&judged(false, &[fence, odd])).contains(&"ext.unknown-custom-request.agent"));
    }
}
