//! What is late on a process that has served earlier cases: it says nothing about the case at hand, and nothing is made of it.

use std::collections::HashSet;

use crate::requirement::Party;
use crate::trace::{Event, ProcessEvent, Reuse, What};
use crate::wire::{Content, Envelope, RpcId, read_line};

/// The earlier cases of the process, once it is known that there are any.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    reuse: Option<Reuse>,
    /// The requests that the agent made for them, and that have no answer yet.
    asked: HashSet<RpcId>,
}

impl Earlier {
    /// Whether the event belongs to them, and is to be passed over.
    pub(super) fn claims(&mut self, event: &Event) -> bool {
        match (&event.what, &self.reuse) {
            (What::Process(ProcessEvent::Reused(reuse)), _) => {
                self.reuse = Some(reuse.clone());
                true
            }
            (What::Line { from, bytes, .. }, Some(reuse)) => {
                let Content::One { value, .. } = read_line(bytes) else { return false };
                match (from, Envelope::of(&value)) {
                    (Party::Agent, envelope) if reuse.is_about(&value) => {
                        if let Envelope::Call(call) = envelope {
                            self.asked.extend(call.id.map(RpcId::new));
                        }
                        true
                    }
                    (Party::Client, Envelope::Response { id: Some(id), .. }) => self.asked.remove(&RpcId::new(id)),
                    _ => false,
                }
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::judge::{Judgement, judge};
    use crate::protocol::Edition;
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
        judge(&Trace::read(file.as_bytes()).expect("a trace"), Edition::v1())
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
}
