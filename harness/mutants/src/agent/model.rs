//! An agent with a model: it sends each prompt to the scripted model with the history of the session, as the agents do
//! that cannot act without one. The reference program answers all the same.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::{env, fs, io};

use serde_json::{Value, json};

use crate::{
    layer::{Layer, Onward},
    message,
};

/// The variable with the origin of the model's URLs, which the tests set.
const MODEL: &str = "ACP_MODEL";

/// What the agent does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lapse {
    Nothing,
    /// It passes only the first text block of a prompt.
    OtherTexts,
    /// It drops links to resources.
    Links,
    /// It passes only the first image, sound or embedded resource of a prompt.
    OtherAttachments,
    /// It passes no history from before this message of the client.
    HistoryAfter(&'static str),
    /// It passes the newest message first once this request opened the session again.
    NewestFirstAfter(&'static str),
    /// It passes no more the newest turn from before this request, which opened the session again.
    NewestBefore(&'static str),
    /// All sessions have one history.
    OneHistory,
    /// All sessions have the system prompt that was given last.
    OneSystemPrompt,
}

/// Sends each prompt to the model.
pub(super) struct AsksModel {
    lapse: Lapse,
    instructions: String,
}

impl AsksModel {
    pub(super) fn with(lapse: Lapse) -> Box<dyn Layer> {
        Box::new(Self { lapse, instructions: "You help.".to_owned() })
    }

    /// Returns the messages that the model gets for a prompt, in the words of the chat completions API.
    fn message(&self, prompt: &Value) -> Value {
        let blocks = prompt.as_array().into_iter().flatten();
        let mut texts: Vec<String> = Vec::new();
        let mut links: Vec<String> = Vec::new();
        let (mut media, mut attachments) = (Vec::new(), 0);
        for block in blocks {
            let member = |name: &str| block[name].as_str().unwrap_or_default();
            attachments += usize::from(!["text", "resource_link"].contains(&member("type")));
            match member("type") {
                "resource" | "image" | "audio" if self.lapse == Lapse::OtherAttachments && attachments > 1 => {}
                "text" => texts.push(member("text").to_owned()),
                "resource_link" => links.push(format!("[{}]({})", member("name"), member("uri"))),
                "resource" => texts.push(block["resource"].to_string()),
                _ => media.push(json!({
                    "type": "image_url",
                    "image_url": { "url": format!("data:{};base64,{}", member("mimeType"), member("data")) },
                })),
            }
        }
        match self.lapse {
            Lapse::OtherTexts => texts.truncate(1),
            Lapse::Links => links.clear(),
            _ => {}
        }
        let texts = texts.into_iter().chain(links).map(|text| json!({ "type": "text", "text": text }));
        json!({ "role": "user", "content": texts.chain(media).collect::<Vec<_>>() })
    }
}

impl Layer for AsksModel {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        let mut histories = Histories::read();
        let id = message::session(&message).unwrap_or_default();
        let id = if self.lapse == Lapse::OneHistory { "all" } else { id };
        if matches!(self.lapse, Lapse::HistoryAfter(opening) if message::calls(&message, opening)) {
            histories.0.remove(id);
            histories.write();
        }
        if matches!(self.lapse, Lapse::NewestBefore(opening) if message::calls(&message, opening)) {
            let history = histories.0.entry(id.to_owned()).or_default();
            history.truncate(history.len().saturating_sub(2));
            histories.write();
        }
        if matches!(self.lapse, Lapse::NewestFirstAfter(opening) if message::calls(&message, opening)) {
            histories.0.entry(id.to_owned()).or_default().reverse();
            histories.write();
        }
        let given = message["params"]["systemPrompt"]["content"][0]["text"].as_str();
        if let Some(given) = given.filter(|_| self.lapse == Lapse::OneSystemPrompt) {
            given.clone_into(&mut self.instructions);
        }
        if message::calls(&message, "session/prompt") && message::is_request(&message) {
            let history = histories.0.entry(id.to_owned()).or_default();
            history.push(self.message(&message["params"]["prompt"]));
            // Without a model, the agent is the reference program.
            if let Ok(origin) = env::var(MODEL) {
                let _ = ask(&origin, &self.instructions, history);
            }
            history.push(json!({ "role": "assistant", "content": "Done." }));
            histories.write();
        }
        onward.inward(message);
    }
}

/// The messages of each session, in a file: the next process of the agent continues them.
struct Histories(BTreeMap<String, Vec<Value>>);

impl Histories {
    fn path() -> PathBuf {
        PathBuf::from(env::var_os("HOME").unwrap_or_default()).join("model-histories.json")
    }

    fn read() -> Self {
        let text = fs::read(Self::path()).unwrap_or_default();
        Self(serde_json::from_slice(&text).unwrap_or_default())
    }

    fn write(&self) {
        // A mutant without a home has no memory of its earlier process.
        let _ = fs::write(Self::path(), json!(self.0).to_string());
    }
}

/// Asks the model, and waits until it begins to answer.
fn ask(origin: &str, instructions: &str, history: &[Value]) -> io::Result<()> {
    let system = json!({ "role": "system", "content": instructions });
    let messages: Vec<&Value> = std::iter::once(&system).chain(history).collect();
    let tool = json!({ "type": "function", "function": { "name": "nothing", "parameters": { "type": "object" } } });
    let body = json!({ "model": "any", "stream": true, "messages": messages, "tools": [tool] }).to_string();
    let host = origin.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host)?;
    let head = format!("POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all((head + &body).as_bytes())?;
    stream.read_exact(&mut [0])
}
