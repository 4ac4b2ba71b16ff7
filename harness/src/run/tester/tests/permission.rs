//! Policies, held requests, and cancelled turns.

use super::*;

fn request(session: &str, kinds: &[&str]) -> Value {
    let option = |(n, kind): (usize, &&str)| json!({"optionId": format!("opt-{n}"), "name": "N", "kind": kind});
    let options: Vec<Value> = kinds.iter().enumerate().map(option).collect();
    json!({"sessionId": session, "toolCall": {"toolCallId": "c"}, "options": options})
}

fn cancelled() -> Answer {
    Answer::Result(json!({"outcome": {"outcome": "cancelled"}}))
}

fn selected(id: &str) -> Answer {
    Answer::Result(json!({"outcome": {"outcome": "selected", "optionId": id}}))
}

async fn ask(client: &Client, params: &Value) -> Answer {
    client.answer("session/request_permission", params).await
}

#[tokio::test(flavor = "current_thread")]
async fn options_are_chosen_by_kind() {
    let all = ["reject_always", "reject_once", "allow_always", "allow_once", "reject_once", "allow_once"];
    let table = [
        (Policy::Allow, &all[..], selected("opt-3")),
        (Policy::Reject, &all[..], selected("opt-1")),
        (Policy::Cancel, &all[..], cancelled()),
        (Policy::Hold, &all[..], Answer::Held),
        (Policy::Allow, &["reject_once", "allow_always", "allow_always"], selected("opt-1")),
        (Policy::Reject, &["allow_once", "reject_always"], selected("opt-1")),
        (Policy::Allow, &["reject_once", "allow_maybe"], cancelled()),
        (Policy::Reject, &["allow_once"], cancelled()),
        (Policy::Allow, &[], cancelled()),
    ];
    for (policy, kinds, expected) in table {
        let client = Client::deciding(policy);
        assert_eq!(ask(&client, &request("s", kinds)).await, expected, "{policy:?} {kinds:?}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn malformed_requests_are_refused() {
    let client = Client::new();
    for pointer in ["/sessionId", "/toolCall", "/toolCall/toolCallId", "/options", "/options/0", "/options/0/kind"] {
        let mut params = request("s", &["allow_once"]);
        *params.pointer_mut(pointer).expect("there") = json!(true);
        let answer = ask(&client, &params).await;
        assert!(matches!(answer, Answer::Error { code: code::INVALID_PARAMS, .. }), "{pointer}: {answer:?}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn cancelling_a_turn_cancels_its_requests_early_and_late() {
    let client = Client::deciding(Policy::Hold);
    let kinds = ["allow_once"];
    for (id, session) in [(1, "a"), (2, "b"), (3, "a")] {
        let params = request(session, &kinds);
        assert_eq!(ask(&client, &params).await, Answer::Held);
        assert_eq!(client.services.hold(json!(id), params), None);
    }
    assert_eq!(client.services.cancel_turn("a"), [(json!(1), cancelled()), (json!(3), cancelled())]);
    assert_eq!(client.services.cancel_turn("a"), []);
    assert_eq!(ask(&client, &request("a", &kinds)).await, cancelled());
    assert_eq!(ask(&client, &request("b", &kinds)).await, Answer::Held);

    assert_eq!(client.services.hold(json!(4), request("a", &kinds)), Some(cancelled()));
    client.services.begin_turn("a");
    assert_eq!(ask(&client, &request("a", &kinds)).await, Answer::Held);
}
