//! Reading parts of files, writing, and the limits of the workspace.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

impl Client {
    fn read_params(&self, name: &str) -> Value {
        json!({"sessionId": "s", "path": self.path(name)})
    }

    async fn read(&self, name: &str, line: Value, limit: Value) -> String {
        let mut params = self.read_params(name);
        params["line"] = line;
        params["limit"] = limit;
        let result = self.result("fs/read_text_file", &params).await;
        result["content"].as_str().expect("content").to_owned()
    }

    async fn write(&self, path: &str, content: &str) -> Answer {
        self.answer("fs/write_text_file", &json!({"sessionId": "s", "path": path, "content": content})).await
    }
}

#[tokio::test(flavor = "current_thread")]
async fn windows() {
    let client = Client::new();
    let files = [
        ("unix", "1\n2\n3\n4\n"),
        ("dos", "1\r\n2\r\n3\r\n4\r\n"),
        ("open", "1\n2\n3\n4"),
        ("mixed", "\u{FEFF}ä\r\n\n\u{1F600}\r \n\t"),
        ("blank", "\n\n\n"),
        ("empty", ""),
    ];
    for (name, text) in files {
        fs::write(client.path(name), text).expect("written");
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        assert_eq!(client.read(name, Value::Null, Value::Null).await, text);
        for line in 1..=lines.len() + 2 {
            let from = &lines[(line - 1).min(lines.len())..];
            assert_eq!(client.read(name, json!(line), Value::Null).await, from.concat(), "{name} {line}");
            for limit in 0..=lines.len() + 1 {
                let window = from[..limit.min(from.len())].concat();
                assert_eq!(client.read(name, json!(line), json!(limit)).await, window, "{name} {line} {limit}");
            }
        }
        let first = lines.first().copied().unwrap_or_default();
        assert_eq!(client.read(name, Value::Null, json!(1)).await, first, "{name}");
    }
    assert_eq!(client.read("unix", json!(2), json!(2)).await, "2\n3\n");
    assert_eq!(client.read("dos", json!(4), json!(9)).await, "4\r\n");
    assert_eq!(client.read("unix", json!(u64::MAX), json!(u64::MAX)).await, "");
}

#[tokio::test(flavor = "current_thread")]
async fn bad_windows_are_refused() {
    let client = Client::new();
    fs::write(client.path("file"), "1\n").expect("written");
    for (line, limit) in [(json!(0), json!(1)), (json!(-1), json!(1)), (json!("1"), json!(1)), (json!(1), json!(1.5))] {
        let mut params = client.read_params("file");
        params["line"] = line;
        params["limit"] = limit;
        assert_eq!(client.error("fs/read_text_file", &params).await, code::INVALID_PARAMS, "{params}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn unreadable_files_have_their_codes() {
    let client = Client::new();
    fs::create_dir(client.path("dir")).expect("made");
    fs::write(client.path("binary"), b"a\xFF").expect("written");
    client.fifo("pipe");
    let large = fs::File::create(client.path("large")).expect("made");
    large.set_len(1 << 40).expect("sparse");
    let table = [
        ("missing", code::NOT_FOUND),
        ("dir/missing/deep", code::NOT_FOUND),
        ("binary/below", code::NOT_FOUND),
        ("dir", code::INTERNAL),
        ("binary", code::INTERNAL),
        ("pipe", code::INTERNAL),
        ("large", code::INTERNAL),
        ("nul\0", code::INVALID_PARAMS),
    ];
    for (name, expected) in table {
        assert_eq!(client.error("fs/read_text_file", &client.read_params(name)).await, expected, "{name}");
    }
    let relative = json!({"sessionId": "s", "path": "binary"});
    assert_eq!(client.error("fs/read_text_file", &relative).await, code::INVALID_PARAMS);
}

#[tokio::test(flavor = "current_thread")]
async fn writes_are_exact_create_and_replace() {
    let client = Client::new();
    for (name, text) in [("a", "long text\n"), ("a", "x"), ("a", ""), ("new/deep/file", "é\r\n\u{1F600}\n\nend")] {
        let path = client.path(name);
        assert_eq!(client.write(&path, text).await, Answer::Result(json!({})));
        assert_eq!(fs::read(&path).expect("there"), text.as_bytes());
        assert_eq!(client.read(name, Value::Null, Value::Null).await, text);
    }
    for name in ["new", "a/below"] {
        let answer = client.write(&client.path(name), "x").await;
        assert!(matches!(answer, Answer::Error { code: code::INTERNAL, .. }), "{name}: {answer:?}");
    }
    client.fifo("pipe");
    let answer = client.write(&client.path("pipe"), "x").await;
    assert!(matches!(answer, Answer::Error { code: code::INTERNAL, .. }), "{answer:?}");
}

#[tokio::test(flavor = "current_thread")]
async fn nothing_outside_is_touched() {
    let client = Client::new();
    let outside = client.dir.path().join("secret");
    fs::write(&outside, "secret").expect("written");
    fs::create_dir(client.dir.path().join("work-2")).expect("made");
    let links = [
        ("link", "../secret"),
        ("dangling", "../created"),
        ("up", ".."),
        ("absolute", client.dir.path().to_str().expect("text")),
        ("chain", "link"),
        ("loop", "loop"),
        ("inside", "real"),
    ];
    for (link, target) in links {
        symlink(target, client.path(link)).expect("linked");
    }
    let refused = [
        "../secret",
        "missing/../../secret",
        "link",
        "chain",
        "up/secret",
        "absolute/secret",
        "dangling",
        "loop",
        "../work-2/file",
        "up/new/dir/file",
    ];
    for name in refused {
        let path = client.path(name);
        let read = client.answer("fs/read_text_file", &client.read_params(name)).await;
        for answer in [read, client.write(&path, "changed").await] {
            assert!(matches!(answer, Answer::Error { code, .. } if code != code::NOT_FOUND), "{name}: {answer:?}");
        }
    }
    assert_eq!(fs::read_to_string(&outside).expect("there"), "secret");
    let names = |dir: &std::path::Path| fs::read_dir(dir).expect("listed").count();
    assert_eq!((names(client.dir.path()), names(&client.dir.path().join("work-2"))), (3, 0));

    // Links that stay inside are followed, also to a file that does not exist yet.
    assert_eq!(client.write(&client.path("inside"), "x").await, Answer::Result(json!({})));
    assert_eq!(fs::read_to_string(client.path("real")).expect("there"), "x");

    client.services.allow_root(client.dir.path());
    assert_eq!(client.read("chain", Value::Null, Value::Null).await, "secret");
}
