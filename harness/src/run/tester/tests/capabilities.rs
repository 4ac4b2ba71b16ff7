//! Methods that were not advertised, and unknown methods.

use super::*;

const METHODS: [(&str, &str); 8] = [
    ("fs/read_text_file", "fs.readTextFile"),
    ("fs/write_text_file", "fs.writeTextFile"),
    ("terminal/create", "terminal"),
    ("terminal/output", "terminal"),
    ("terminal/wait_for_exit", "terminal"),
    ("terminal/kill", "terminal"),
    ("terminal/release", "terminal"),
    ("elicitation/create", "elicitation"),
];

#[tokio::test(flavor = "current_thread")]
async fn unadvertised_methods_are_not_found() {
    let off = json!({"fs": {"readTextFile": false}, "terminal": false, "elicitation": null});
    for capabilities in [json!({}), Value::Null, off] {
        let client = Client::advertising(&capabilities);
        for (method, needed) in METHODS {
            match client.answer(method, &json!({})).await {
                Answer::Error { code: code::METHOD_NOT_FOUND, data: Some(data), .. } => {
                    assert_eq!(data["requiredCapability"], needed);
                }
                other => panic!("{method}: {other:?}"),
            }
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn advertised_methods_refuse_wrong_parameters() {
    let client = Client::advertising(&json!({
        "fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true, "elicitation": {}
    }));
    for (method, _) in METHODS.iter().chain(&[("session/request_permission", "")]) {
        for params in [json!({}), json!([]), Value::Null, json!({"sessionId": 1})] {
            assert_eq!(client.error(method, &params).await, code::INVALID_PARAMS, "{method} {params}");
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn unknown_methods_are_not_found() {
    let client = Client::new();
    for method in ["session/prompt", "_vendor/thing", "terminal/", "terminal/resize", "fs/delete", ""] {
        assert_eq!(client.error(method, &json!({})).await, code::METHOD_NOT_FOUND, "{method}");
    }
}
