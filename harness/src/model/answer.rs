//! The answers of the model, the same for every API.

use std::time::Duration;

use serde_json::Value;

/// The reply to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// An answer of the model.
    Answer(ModelAnswer),
    /// An error of the API.
    Failure {
        /// The HTTP status.
        status: u16,
        /// The error message.
        message: String,
    },
}

/// An answer of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    /// The parts of the answer, in order.
    pub parts: Vec<AnswerPart>,
    /// The reason for its end.
    pub finish: Finish,
    /// The pause before each piece of text when the answer is streamed.
    pub pace: Duration,
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerPart {
    /// A thought of the model, in the pieces in which it is streamed.
    Thought(Vec<String>),
    /// A text of the model, in the pieces in which it is streamed.
    Text(Vec<String>),
    /// A call of a tool.
    Call(ToolUse),
}

/// A call of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolUse {
    /// Its id, which no other call of the same model has.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The group of the tool, for an API that has groups.
    pub group: Option<String>,
    /// The arguments: an object, or a text for a tool that takes any text.
    pub arguments: Value,
}

/// The reason for the end of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The model has finished.
    Stop,
    /// It waits for the results of its calls.
    Calls,
    /// The answer reached its longest length.
    Length,
    /// The model refuses.
    Refusal,
}

impl ModelAnswer {
    /// Creates an answer of text, in pieces, which then ends.
    pub fn text(pieces: Vec<String>) -> Self {
        Self { parts: vec![AnswerPart::Text(pieces)], finish: Finish::Stop, pace: Duration::ZERO }
    }

    /// Returns the whole text.
    pub fn said(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| if let AnswerPart::Text(pieces) = part { Some(pieces.concat()) } else { None })
            .collect()
    }

    /// Returns the whole thought.
    pub fn thought(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| if let AnswerPart::Thought(pieces) = part { Some(pieces.concat()) } else { None })
            .collect()
    }

    /// Returns the calls.
    pub fn calls(&self) -> impl Iterator<Item = &ToolUse> {
        self.parts.iter().filter_map(|part| if let AnswerPart::Call(call) = part { Some(call) } else { None })
    }

    /// Returns the duration of the whole answer when it is streamed.
    pub fn takes(&self) -> Duration {
        let pieces = self.parts.iter().map(|part| if let AnswerPart::Text(pieces) = part { pieces.len() } else { 0 });
        self.pace * u32::try_from(pieces.sum::<usize>()).unwrap_or(u32::MAX)
    }

    /// Returns the reported number of tokens: one for four bytes.
    pub fn tokens(&self) -> u64 {
        let calls: usize = self.calls().map(|call| call.arguments.to_string().len()).sum();
        tokens(self.said().len() + self.thought().len() + calls)
    }
}

impl ToolUse {
    /// Returns the arguments as text: JSON, or the text itself.
    pub fn arguments_text(&self) -> String {
        self.arguments.as_str().map_or_else(|| self.arguments.to_string(), str::to_owned)
    }
}

/// Returns the reported number of tokens for a text of this many bytes.
pub fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}
