//! Faults: a file is a fault or has a mistake, and a fault can be planted in any conversation.

use acp_conformance::edition::V1;
use acp_conformance::fault::{Planted, load_bytes};
use acp_conformance::wire::{Frame, LineEnd};

use super::drawn;

/// Messages in both directions, so that every selector has a match.
const MESSAGE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s"}}"#;
const SAID: [&str; 4] = [
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[]}}}"#,
    r#"{"jsonrpc":"2.0","id":0,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/a"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}"#,
    "no message",
];

/// Treats the bytes as a fault file.
pub fn holds(data: &[u8]) {
    let (fault, problems) = load_bytes("cases/faults/x.yaml", data, V1.edition(), &["v1/agent/init/handshake"]);
    drawn(fault.is_some(), &problems);
    let Some(fault) = fault else { return };
    let said = || {
        let mut injector = Planted::new(fault.clone()).injector();
        let _ = injector.sent(MESSAGE.as_bytes());
        let frames = SAID.map(|line| Frame { bytes: line.as_bytes().to_vec(), end: LineEnd::Lf });
        let mut out: Vec<Frame> = frames.into_iter().flat_map(|frame| injector.received(frame)).collect();
        let _ = injector.sent(br#"{"jsonrpc":"2.0","id":0,"result":{"content":""}}"#);
        out.extend(injector.finish());
        out
    };
    assert_eq!(said(), said());
}
