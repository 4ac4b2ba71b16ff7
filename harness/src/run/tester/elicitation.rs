//! Elicitation requests: checked for shape and mode, then declined, since the tester has no user.

use serde_json::{Value, json};

use super::answer::{Answer, Refusal};
use super::params::Params;

/// Answers `elicitation/create` for a client that advertised `capability`.
///
/// A mode that is unknown or not advertised is refused as wrong parameters (`elicit.unadvertised-mode`).
pub(super) fn answer(capability: &Value, params: &Value) -> Result<Answer, Refusal> {
    let params = Params::new(params)?;
    params.string("message")?;
    check_scope(params)?;
    match params.string("mode")? {
        "form" if capability["form"].is_object() => {
            params.object("requestedSchema")?;
        }
        "url" if capability["url"].is_object() => {
            params.string("elicitationId")?;
            params.string("url")?;
        }
        mode => {
            return Err(Refusal::invalid(format!("elicitation mode `{mode}` is not supported")));
        }
    }
    Ok(Answer::Result(json!({ "action": "decline" })))
}

/// An elicitation belongs to a session or to a request, never to both.
fn check_scope(params: Params<'_>) -> Result<(), Refusal> {
    match (params.has("sessionId"), params.has("requestId")) {
        (true, false) => params.session().map(drop),
        (false, true) => Ok(()),
        _ => Err(Refusal::invalid("exactly one of `sessionId` and `requestId` is needed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tester::code;

    #[test]
    fn declines_advertised_modes_only() {
        let form = json!({"sessionId": "s", "message": "m", "mode": "form", "requestedSchema": {}});
        let url = json!({"requestId": 1, "message": "m", "mode": "url", "elicitationId": "e", "url": "https://x/"});
        let other = json!({"sessionId": "s", "message": "m", "mode": "_form", "requestedSchema": {}});
        let both = json!({"sessionId": "s", "requestId": 1, "message": "m", "mode": "form", "requestedSchema": {}});
        let table = [
            (json!({"form": {}}), &form, true),
            (json!({"form": {}}), &url, false),
            (json!({"form": {}}), &other, false),
            (json!({"form": {}}), &both, false),
            (json!({"url": {}}), &url, true),
            (json!({"url": {}}), &form, false),
            (json!({}), &form, false),
        ];
        for (capability, params, declined) in table {
            match Answer::from(answer(&capability, params)) {
                Answer::Result(result) => {
                    assert!(declined && result["action"] == "decline", "{params}")
                }
                other => assert!(!declined && is_invalid(&other), "{capability} {params}"),
            }
        }
    }

    fn is_invalid(answer: &Answer) -> bool {
        matches!(answer, Answer::Error { code: code::INVALID_PARAMS, .. })
    }
}
