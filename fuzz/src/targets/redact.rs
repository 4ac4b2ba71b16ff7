//! Redaction: a secret in a place for private data is removed, whatever the text around it.

use acp_conformance::edition::V1;
use acp_conformance::example::conversation::Reader;
use acp_conformance::redact::redact;
use acp_conformance::trace::{Trace, What};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::written;

/// The places of a secret: `~` for a whole one, `<` and `>` for its halves.
const PRIVATE: &str = r#"C {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"_meta":{"x":"~"}}}}
A {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"authMethods":[{"id":"a","name":"~","description":"~"}]}}
C {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/srv/~","mcpServers":[{"name":"~","command":"/bin/~","args":["--key=~"],"env":[{"name":"KEY","value":"~"}]},{"type":"http","name":"n","url":"https://~.example/?token=~","headers":[{"name":"Authorization","value":"Bearer ~"}]}]}}
A {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1","configOptions":[{"id":"m","name":"~","type":"select","currentValue":"v","options":[{"value":"v","name":"~"}]}]}}
C {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"my key is ~."},{"type":"resource","resource":{"uri":"file:///srv/~","text":"~"}}]}}
A {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"you said <"}}}}
A {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":">"}}}}
A {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"~","status":"pending","rawInput":{"~":"~","path":["~"]},"rawOutput":"~","content":[{"type":"diff","path":"/srv/~","oldText":"~","newText":"~"}],"locations":[{"path":"/~"}]}}}
A {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"plan","entries":[{"content":"~","priority":"high","status":"pending"}]}}}
A {"jsonrpc":"2.0","id":3,"method":"fs/write_text_file","params":{"sessionId":"s1","path":"/srv/~","content":"a=~"}}
C {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"no such file: /srv/~","data":{"~":"~"}}}
A {"jsonrpc":"2.0","id":4,"method":"terminal/create","params":{"sessionId":"s1","command":"~","args":["~"],"env":[{"name":"~","value":"~"}],"cwd":"/~"}}
A {"jsonrpc":"2.0","method":"_own/method","params":{"~":"~"}}
A {"jsonrpc":"2.0","method":"session/update","params":{"text":"~
A key: ~
E key: ~
P {"agent-started":{"pid":1,"parent":1,"args":["~"],"cwd":"/srv/~","environment":["~"],"values":{"KEY":"~"}}}
V {"method":"GET","url":"http://127.0.0.1:1/~?token=~","headers":[["cookie","~"]]}
S {"kind":"must","line":1,"text":"x","outcome":"contradicted","expected":{"reply":{"equals":{"text":"~"}}},"observed":{"reply":{"text":{"text":"~"}}}}
"#;

/// The first byte is the position of the private lines, and the others are a conversation around them.
pub fn holds(data: &[u8]) {
    let Some((begin, data)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(data);
    let (above, conversation) = text.split_once("\n---\n").unwrap_or(("", &text));
    let around: Vec<&str> = conversation.lines().collect();
    let (before, after) = around.split_at(usize::from(*begin).min(around.len()));
    // The secret depends on the input, so the input cannot contain it.
    let secret = secret(data);
    let (first, second) = secret.split_at(secret.len() / 2);
    let private = PRIVATE.replace('~', &secret).replace('<', first).replace('>', second);
    let mut reader = Reader::new(above);
    for line in before.iter().copied().chain(private.lines()).chain(after.iter().copied()) {
        let _ = reader.line(line);
    }
    let redacted = redact(&reader.trace, V1.edition());
    let shown = String::from_utf8_lossy(&written(&redacted)).to_lowercase() + &streamed(&redacted);
    let survived: Vec<&str> = shown.lines().filter(|line| line.contains(&secret)).collect();
    assert!(survived.is_empty(), "the secret {secret} survived:\n{}", survived.join("\n"));
}

/// Returns letters that cannot be guessed.
fn secret(data: &[u8]) -> String {
    Sha256::digest(data).iter().take(24).map(|byte| char::from(b'a' + byte % 26)).collect()
}

/// Returns all pieces of streamed text, joined.
fn streamed(trace: &Trace) -> String {
    let piece = |what: &What| {
        let What::Line { bytes, .. } = what else { return None };
        let message: Value = serde_json::from_slice(bytes).ok()?;
        Some(message.pointer("/params/update/content/text")?.as_str()?.to_lowercase())
    };
    trace.events.iter().filter_map(|event| piece(&event.what)).collect()
}
