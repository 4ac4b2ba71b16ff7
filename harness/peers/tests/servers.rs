//! Servers that are odd or hostile below the messages: each is a thread that answers raw requests of HTTP.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use libtest_mimic::Trial;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::panicking;
use crate::program::{self, said};

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    panicking(
        "servers",
        &[
            ("an_event_without_end_is_cut_off", an_event_without_end_is_cut_off),
            ("other_letters_and_line_ends_are_understood", other_letters_and_line_ends_are_understood),
            ("a_repeated_token_is_in_no_file", a_repeated_token_is_in_no_file),
            ("an_answer_without_a_message_fails", an_answer_without_a_message_fails),
            ("a_refused_stream_fails", a_refused_stream_fails),
            ("a_server_that_is_not_ready_is_asked_again", a_server_that_is_not_ready_is_asked_again),
        ],
    )
}

/// How a server differs from a plain one.
#[derive(Clone, Default)]
struct Oddness {
    /// The status and the body of the response to `initialize`, instead of the answer.
    initialize: Option<(&'static str, &'static str)>,
    /// The head of the streams.
    stream: Option<&'static str>,
    /// The text that each answer repeats.
    repeats: &'static str,
    /// What ends a line of an event.
    line_end: Option<&'static str>,
    /// The streams are one event without an end.
    is_endless: bool,
}

const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

/// The messages for the stream of the connection, and for those of sessions.
#[derive(Default)]
struct Queues(Mutex<[Option<Sender<Value>>; 2]>);

/// Serves an agent that says a word in each turn, until the program ends. Returns its URL.
fn serve(odd: &Oddness) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/acp", listener.local_addr().expect("an address"));
    let queues = Arc::new(Queues::default());
    let odd = odd.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (odd, queues) = (odd.clone(), Arc::clone(&queues));
            std::thread::spawn(move || {
                // An error means that the client has left.
                let _ = answer_all(stream, &odd, &queues);
            });
        }
    });
    url
}

fn answer_all(mut stream: TcpStream, odd: &Oddness, queues: &Queues) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        while reader.read_line(&mut head)? > 2 && !head.ends_with("\r\n\r\n") {}
        if head.is_empty() {
            return Ok(());
        }
        let lower = head.to_lowercase();
        if let Some(rest) = lower.split("content-length: ").nth(1) {
            length = rest.split("\r\n").next().and_then(|number| number.parse().ok()).unwrap_or(0);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        match head.split(' ').next() {
            Some("GET") => return follow(stream, odd, queues, lower.contains("acp-session-id")),
            Some("POST") => post(&mut stream, odd, queues, &serde_json::from_slice(&body)?)?,
            Some("DELETE") => {
                stream.write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")?;
                // Without them, the streams end.
                *queues.0.lock().expect("no panic") = [None, None];
            }
            // HTTP/2 is not spoken.
            _ => return Ok(()),
        }
    }
}

fn post(stream: &mut TcpStream, odd: &Oddness, queues: &Queues, message: &Value) -> std::io::Result<()> {
    let (id, session) = (&message["id"], &message["params"]["sessionId"]);
    let answer = |result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result });
    if message["method"] == "initialize" {
        let info = json!({ "name": format!("odd {}", odd.repeats).trim(), "version": "1" });
        let answer = answer(json!({ "protocolVersion": 1, "agentInfo": info })).to_string();
        let (status, body) = odd.initialize.unwrap_or(("200 OK", &answer));
        let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nAcp-Connection-Id: c\r\n");
        return write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
    }
    stream.write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")?;
    let queues = queues.0.lock().expect("no panic");
    let say = |to: usize, message: Value| drop(queues[to].as_ref().map(|queue| queue.send(message)));
    match message["method"].as_str() {
        Some("session/new") => say(0, answer(json!({ "sessionId": "s" }))),
        Some("session/prompt") => {
            let content = json!({ "type": "text", "text": "Grüße" });
            let update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
            let params = json!({ "sessionId": session, "update": update });
            say(1, json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }));
            say(1, answer(json!({ "stopReason": "end_turn" })));
        }
        Some(_) if !id.is_null() => {
            let error = json!({ "code": -32601, "message": "unknown" });
            say(usize::from(session.is_string()), json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
        _ => {}
    }
    Ok(())
}

fn follow(mut stream: TcpStream, odd: &Oddness, queues: &Queues, of_session: bool) -> std::io::Result<()> {
    // The client sends messages as soon as it has the head.
    let (sender, queue): (_, Receiver<Value>) = channel();
    queues.0.lock().expect("no panic")[usize::from(of_session)] = Some(sender);
    let head = odd.stream.unwrap_or(STREAM);
    stream.write_all(head.as_bytes())?;
    if !head.contains(" 200 ") {
        return Ok(());
    }
    if odd.is_endless {
        stream.write_all(b"data: ")?;
        let piece = vec![b'x'; 1 << 20];
        loop {
            stream.write_all(&piece)?;
        }
    }
    let end = odd.line_end.unwrap_or("\n");
    for message in queue {
        let event = format!(": a comment{end}id: 1{end}event: message{end}data:{message}{end}{end}");
        // One byte at a time splits characters and line ends.
        for byte in event.bytes() {
            stream.write_all(&[byte])?;
        }
    }
    Ok(())
}

/// A run on a server.
struct Run {
    folder: TempDir,
    code: Option<i32>,
    text: String,
}

impl Run {
    fn new(url: &str, cases: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = program::command();
        command.args(["agent", "--url", url, "--header", "authorization=Bearer T0KEN-12345678"]);
        command.args(["--timeout-start", "5s", "--timeout-answer", "5s", "--timeout-turn", "5s", "--trace-dir", "t"]);
        command.args(["--format=json=report.json", "--format=text"]).args(cases);
        let output = command.current_dir(folder.path()).stdin(Stdio::null()).output().expect("this program starts");
        Self { code: output.status.code(), text: said(&output), folder }
    }

    fn report(&self) -> Value {
        let text =
            fs::read_to_string(self.folder.path().join("report.json")).unwrap_or_else(|_| panic!("{}", self.text));
        serde_json::from_str(&text).expect("a report")
    }

    /// Returns the MUSTs that failed.
    fn failed(&self) -> Vec<String> {
        let report = self.report();
        let all = report["requirements"].as_array().expect("requirements").iter();
        let failed = all.filter(|it| it["verdict"] == "fail" && it["level"] == "must");
        failed.map(|it| it["id"].as_str().expect("an id").to_owned()).collect()
    }

    /// Returns the bytes of all traces.
    fn traces(&self) -> Vec<u8> {
        let files =
            fs::read_dir(self.folder.path().join("t")).expect("traces").map(|file| file.expect("a file").path());
        files.flat_map(|file| fs::read(file).expect("a trace")).collect()
    }
}

fn an_event_without_end_is_cut_off() {
    let run = Run::new(&serve(&Oddness { is_endless: true, ..Oddness::default() }), &["prompt/text"]);
    assert_eq!((run.code, run.failed()), (Some(3), Vec::new()), "{}", run.text);
    let traces = run.traces();
    assert!(traces.len() < 1 << 20, "{} bytes", traces.len());
    assert!(String::from_utf8_lossy(&traces).contains("it has an event of more than"));
}

fn other_letters_and_line_ends_are_understood() {
    let stream = "HTTP/1.1 200 OK\r\ncontent-TYPE: Text/Event-Stream; Charset=utf-8\r\n\r\n";
    for line_end in ["\n", "\r\n"] {
        let odd = Oddness { stream: Some(stream), line_end: Some(line_end), ..Oddness::default() };
        let run = Run::new(&serve(&odd), &["prompt/text"]);
        assert_eq!((run.code, run.failed()), (Some(0), Vec::new()), "{line_end:?} {}", run.text);
    }
}

fn a_repeated_token_is_in_no_file() {
    let run = Run::new(&serve(&Oddness { repeats: "T0KEN-12345678", ..Oddness::default() }), &["prompt/text"]);
    let all = [run.traces(), run.report().to_string().into_bytes(), run.text.into_bytes()].concat();
    let all = String::from_utf8_lossy(&all);
    assert!(all.contains("odd ***") && !all.contains("T0KEN"), "{all}");
}

fn an_answer_without_a_message_fails() {
    let run =
        Run::new(&serve(&Oddness { initialize: Some(("200 OK", "hello")), ..Oddness::default() }), &["prompt/text"]);
    assert_eq!((run.code, run.failed()), (Some(1), vec!["http.initialize-200".to_owned()]), "{}", run.text);
    assert!(run.text.contains("with something else than a message: hello"), "{}", run.text);
    let run = Run::new(
        &serve(&Oddness { initialize: Some(("401 Unauthorized", "")), ..Oddness::default() }),
        &["prompt/text"],
    );
    assert_eq!(run.code, Some(2), "{}", run.text);
    assert!(run.text.contains("with the status 401. If it needs a login, give it by --header."), "{}", run.text);
}

fn a_refused_stream_fails() {
    let stream = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n";
    let run = Run::new(&serve(&Oddness { stream: Some(stream), ..Oddness::default() }), &["session/new"]);
    assert_eq!((run.code, run.failed()), (Some(1), vec!["http.connection-stream".to_owned()]), "{}", run.text);
}

fn a_server_that_is_not_ready_is_asked_again() {
    // Only a server that the harness starts is asked again, so the profile starts a program next to this one, and has
    // the port of that in places that do not matter.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("ws://{}/{{port}}", listener.local_addr().expect("an address"));
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 4];
            if stream.read_exact(&mut head).is_err() {
                continue;
            }
            let status = if count.fetch_add(1, Ordering::Relaxed) < 2 { "406 Not Acceptable" } else { "418 Teapot" };
            let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    let folder = tempfile::tempdir().expect("a folder");
    let profile = format!(
        "name = \"waiter\"\nkind = \"agent\"\ntitle = \"W\"\ncommand = [\"sleep\", \"60\"]\nserve = [\"sleep\", \"{{port}}\"]\nurl = \"{url}\"\n"
    );
    fs::write(folder.path().join("waiter.toml"), profile).expect("a file");
    let mut command = program::command();
    command.args(["agent", "--profile", "./waiter.toml", "--transport", "ws", "--case", "v1/agent/prompt/text"]);
    let output = command.current_dir(folder.path()).stdin(Stdio::null()).output().expect("this program starts");
    assert!(said(&output).contains("with the status 418"), "{}", said(&output));
    assert!(asked.load(Ordering::Relaxed) >= 3);
}
