//! The scripted model: every request gets an answer in the format of its API, and always the same.

use std::collections::BTreeSet;

use acp_conformance::model::dialect::Dialect;
use acp_conformance::model::dialect::chat::Chat;
use acp_conformance::model::dialect::gemini::Gemini;
use acp_conformance::model::dialect::messages::Messages;
use acp_conformance::model::dialect::responses::Responses;
use acp_conformance::model::routes::{Route, route};
use acp_conformance::model::script::answer;
use acp_conformance::model::{AnswerPart, ModelAnswer, Reply};
use acp_conformance::profile::Hints;
use serde_json::Value;

/// The first line is the path of a request, and the rest is its body.
pub fn holds(data: &[u8]) {
    let (path, body) = data.split_at(data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len()));
    let path = String::from_utf8_lossy(path);
    for method in ["GET", "POST"] {
        if let Route::Fixed { body, .. } = route(method, &path) {
            assert!(body.is_object());
        }
    }
    let Ok(body) = serde_json::from_slice(body) else { return };
    let dialects: [&dyn Dialect; 4] = [&Chat, &Gemini, &Messages, &Responses];
    dialects.into_iter().for_each(|dialect| asked(dialect, &body));
}

fn asked(dialect: &dyn Dialect, body: &Value) {
    let mut ask = dialect.read(body);
    ask.number = 3;
    let _ = ask.size();
    let hints = Hints { auxiliary: vec!["title".to_owned()], ..Hints::default() };
    for hints in [Hints::default(), hints] {
        let answered = answer(&ask, &hints);
        assert_eq!(answer(&ask, &hints), answered);
        assert!(!answered.did.is_empty());
        match answered.reply {
            Reply::Failure { status, message } => {
                assert!((400..600).contains(&status));
                assert!(dialect.failure(status, &message).is_object());
            }
            Reply::Answer(answer) => {
                calls_differ(&answer);
                assert!(dialect.whole(&ask, &answer).is_object());
                for piece in dialect.stream(&ask, &answer) {
                    // A line feed would end the event inside its data.
                    assert!(!piece.data.as_str().is_some_and(|data| data.contains(['\n', '\r'])), "{piece:?}");
                }
            }
        }
    }
}

fn calls_differ(answer: &ModelAnswer) {
    let calls =
        answer.parts.iter().filter_map(|part| if let AnswerPart::Call(call) = part { Some(&call.id) } else { None });
    let ids: Vec<&String> = calls.collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "an id was given twice: {ids:?}");
}
