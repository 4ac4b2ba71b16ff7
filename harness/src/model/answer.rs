//! What the model answers, the same for every API.

use std::time::Duration;

use serde_json::Value;

/// What comes back for a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// An answer of the model.
    Answer(ModelAnswer),
    /// The API fails.
    Failure {
        /// The status of HTTP.
        status: u16,
        /// What is said about it.
        message: String,
    },
}

/// An answer of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    /// What it consists of, in order.
    pub parts: Vec<AnswerPart>,
    /// Why it ends.
    pub finish: Finish,
    /// The pause before each piece of text when the answer is streamed.
    pub pace: Duration,
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerPart {
    /// What the model thinks, in the pieces in which it is streamed.
    Thought(Vec<String>),
    /// What the model says, in the pieces in which it is streamed.
    Text(Vec<String>),
    /// A tool that the model wants to use.
    Call(ToolUse),
}

/// A call of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolUse {
    /// Its id, which no other call of the same model has.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The group that the tool is in, for an API that has groups.
    pub group: Option<String>,
    /// The arguments: an object, or a text for a tool that takes any text.
    pub arguments: Value,
}

/// Why an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The model is done.
    Stop,
    /// It waits for the results of its calls.
    Calls,
    /// It said as much as it may.
    Length,
    /// It refuses.
    Refusal,
}

impl ModelAnswer {
    /// A text, in pieces, and the end.
    #[must_use]
    pub fn text(pieces: Vec<String>) -> Self {
        Self { parts: vec![AnswerPart::Text(pieces)], finish: Finish::Stop, pace: Duration::ZERO }
    }

    /// All that is said, in one.
    #[must_use]
    pub fn said(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| if let AnswerPart::Text(pieces) = part { Some(pieces.concat()) } else { None })
            .collect()
    }

    /// Everything that is thought, in one.
    #[must_use]
    pub fn thought(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| if let AnswerPart::Thought(pieces) = part { Some(pieces.concat()) } else { None })
            .collect()
    }

    /// The calls.
    pub fn calls(&self) -> impl Iterator<Item = &ToolUse> {
        self.parts.iter().filter_map(|part| if let AnswerPart::Call(call) = part { Some(call) } else { None })
    }

    /// How long the whole answer takes when it is streamed.
    #[must_use]
    pub fn takes(&self) -> Duration {
        let pieces = self.parts.iter().map(|part| if let AnswerPart::Text(pieces) = part { pieces.len() } else { 0 });
        self.pace * u32::try_from(pieces.sum::<usize>()).unwrap_or(u32::MAX)
    }

    /// How many tokens it is said to have: one for four bytes.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        let calls: usize = self.calls().map(|call| call.arguments.to_string().len()).sum();
        tokens(self.said().len() + self.thought().len() + calls)
    }
}

impl ToolUse {
    /// The arguments as text: JSON, or the text itself.
    #[must_use]
    pub fn arguments_text(&self) -> String {
        self.arguments.as_str().map_or_else(|| self.arguments.to_string(), str::to_owned)
    }
}

/// How many tokens a text of this many bytes is said to have.
#[must_use]
pub fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}
