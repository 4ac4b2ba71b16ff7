//! The reference programs over Streamable HTTP and WebSocket: with each other, and the agent with raw requests.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::Duration;

use acp_conformance::requirement::Party;
use acp_conformance::results::{CaseReport, RunReport};
use acp_conformance::verdict::{Conformance, Verdict};
use futures::{SinkExt, StreamExt};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sse_stream::SseStream;
use tempfile::TempDir;
use tokio_tungstenite::{connect_async, tungstenite::Message};

use crate::program::{self, said, tested, tested_in};
use crate::reference::{AGENT, CLIENT, Mutant};
use crate::{left, panicking_on_linux};

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    panicking_on_linux(
        "remote",
        &[
            ("the_client_uses_the_agent_over_both_transports", the_client_uses_the_agent_over_both_transports),
            ("every_case_of_an_agent_passes_over_both", every_case_of_an_agent_passes_over_both),
            ("every_case_of_a_client_passes_over_both", every_case_of_a_client_passes_over_both),
            ("a_faulty_agent_fails_over_both", a_faulty_agent_fails_over_both),
            ("a_running_agent_is_tested_at_its_address", a_running_agent_is_tested_at_its_address),
            ("an_agent_that_is_not_reached_is_explained", an_agent_that_is_not_reached_is_explained),
            ("the_client_says_why_it_cannot_go_on", the_client_says_why_it_cannot_go_on),
            ("the_agent_listens_on_loopback_only", the_agent_listens_on_loopback_only),
            ("requests_get_the_statuses_of_the_draft", requests_get_the_statuses_of_the_draft),
            ("messages_come_on_the_stream_of_their_session", messages_come_on_the_stream_of_their_session),
            ("a_socket_begins_with_initialize_in_text", a_socket_begins_with_initialize_in_text),
            ("the_end_of_a_connection_ends_its_commands", the_end_of_a_connection_ends_its_commands),
        ],
    )
}

/// The most time that one event may take.
const LIMIT: Duration = Duration::from_secs(30);

/// The reference agent on a port of its own.
pub struct Server {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// The endpoint.
    url: String,
    home: TempDir,
    /// A path in the environment of the agent and of all that it starts.
    mark: TempDir,
}

impl Server {
    pub fn start() -> Self {
        Self::start_program(AGENT)
    }

    /// Starts this program, which has the options of the reference agent.
    pub fn start_program(agent: &str) -> Self {
        let (home, mark) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let mut command = Command::new(agent);
        command.args(["--listen", "127.0.0.1:0"]).env("HOME", home.path()).env("ACP_TEST_MARK", mark.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the agent starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("a line");
        let url = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { child, stderr, url, home, mark }
    }

    /// Returns the endpoint with this scheme.
    pub fn url(&self, scheme: &str) -> String {
        self.url.replacen("http", scheme, 1)
    }

    /// Returns the id of the only session of a version.
    fn session(&self, folder: &str) -> String {
        let folder = self.home.path().join(".acp-reference-agent").join(folder);
        let mut files = fs::read_dir(&folder).expect("sessions").map(|entry| entry.expect("a file").path());
        files.next().and_then(|file| Some(file.file_stem()?.to_str()?.to_owned())).expect("a session")
    }

    /// Ends the agent, which then leaves nothing.
    pub fn stop(mut self) {
        let pid = Pid::from_raw(self.child.id().cast_signed()).expect("a process");
        kill_process(pid, Signal::TERM).expect("it runs");
        let status = self.child.wait().expect("it ends");
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.child.stdout.take().expect("a pipe").read_to_string(&mut stdout).expect("text");
        self.stderr.read_to_string(&mut stderr).expect("text");
        assert!(status.success(), "{status}: {stderr}");
        assert_eq!((stdout.as_str(), stderr.as_str()), ("", ""));
        assert_eq!(left::below(self.mark.path()), Vec::<String>::new());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // This fails if the agent has ended.
        let _ = self.child.kill();
    }
}

/// Runs the reference client with these acts.
fn client(options: &[&str], acts: &[Value]) -> Output {
    let mut command = Command::new(CLIENT);
    command.args(options).arg("--acts").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the client starts");
    let lines: String = acts.iter().map(|act| format!("{act}\n")).collect();
    child.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("the client reads");
    child.wait_with_output().expect("the client ends")
}

/// Fails if a case of a report neither passed nor is about something that the subject lacks.
fn assert_passes(transport: &str, (output, report): &(Output, RunReport)) {
    let RunReport { cases, suite, .. } = report;
    let is_odd = |case: &&CaseReport| !matches!(case.verdict, Verdict::Pass | Verdict::NotApplicable);
    let odd: Vec<_> = cases.iter().filter(is_odd).collect();
    assert!(odd.is_empty() && cases.len() > 150, "{transport}: {} cases, {odd:#?}\n{}", cases.len(), said(output));
    assert_eq!(suite.transport, transport);
}

fn every_case_of_an_agent_passes_over_both() {
    for transport in ["http", "ws"] {
        let words = ["agent", "--transport", transport, "--quiet", "--", AGENT, "--listen", "127.0.0.1:{port}"];
        assert_passes(transport, &tested(&words));
    }
}

fn every_case_of_a_client_passes_over_both() {
    let profile = include_str!("../../../profiles/acp-reference-client.toml");
    let started = r#""--env", "ACP_CONFORMANCE_AGENT=configured", "--", "{agent}", "--acp"]"#;
    assert!(profile.contains(started), "the profile names its agent in another way");
    let profile =
        profile.replace(started, r#""--url", "{url}"]"#).replace(r#"["acp-reference-client""#, &format!("[{CLIENT:?}"));
    for transport in ["http", "ws"] {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("dials.toml"), &profile).expect("a profile");
        let words = ["client", "--transport", transport, "--quiet", "--profile", "dials.toml"];
        assert_passes(transport, &tested_in(folder.path(), &words));
    }
}

fn a_faulty_agent_fails_over_both() {
    let fault = "title: t\nkills: t\ncase: t\nmatch: { result-of: session/prompt }\n\
        do: { set: { /result/stopReason: done } }\n";
    let mutant = Mutant::of(Party::Agent, fault);
    for transport in ["http", "ws"] {
        let agent = mutant.path();
        let words =
            ["agent", "--transport", transport, "--case", "prompt/text", "--", &agent, "--listen", "127.0.0.1:{port}"];
        let (output, report) = tested(&words);
        assert_eq!((output.status.code(), report.verdict), (Some(1), Conformance::NotConformant), "{}", said(&output));
    }
}

fn a_running_agent_is_tested_at_its_address() {
    let server = Server::start();
    let (output, report) = tested(&["agent", "--url", &server.url, "--case", "v1/agent/session/new"]);
    assert_eq!((output.status.code(), report.verdict), (Some(0), Conformance::Passed), "{}", said(&output));
    server.stop();
}

fn an_agent_that_is_not_reached_is_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start();
    let wrong = server.url.replace("/acp", "/elsewhere");
    let words = |url: &str| {
        let mut command = program::command();
        command
            .args(["agent", "--case", "prompt/text", "--timeout-start", "2s", "--url", url])
            .current_dir(folder.path());
        let output = command.stdin(Stdio::null()).output().expect("this program starts");
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        said(&output)
    };
    assert!(words(&wrong).contains("answered the first request with the status 404"), "{}", words(&wrong));
    let socket = wrong.replace("http:", "ws:");
    assert!(words(&socket).contains("answered the first request with the status 404"), "{}", words(&socket));
    let text = words("http://127.0.0.1:1/acp");
    assert!(text.contains("The agent cannot be reached: nothing serves"), "{text}");
    server.stop();
}

fn the_client_uses_the_agent_over_both_transports() {
    let reopen = HashMap::from([("v1", ("sessions", "load")), ("v2", ("sessions-v2", "resume"))]);
    for (scheme, version) in [("http", "v1"), ("ws", "v1"), ("http", "v2"), ("ws", "v2")] {
        let server = Server::start();
        let url = server.url(scheme);
        let options = ["--url", &url, "--protocol", version];
        let prompt = |text: &str| json!({"act": "prompt", "text": text});
        let asks = prompt(r#"acp-intent: {"intent":"ask-permission"}"#);
        let first = client(&options, &[prompt("hello"), asks.clone(), prompt("good bye")]);
        let (folder, act) = reopen[version];
        let reopened = json!({"act": act, "sessionId": server.session(folder)});
        let more = json!({"act": "new-session"});
        let second = client(&options, &[reopened, prompt("again"), more, asks, json!({"act": "list"})]);
        for (output, texts) in [(first, ["hello", "good bye"]), (second, ["again", "again"])] {
            let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success(), "{scheme} {version}: {}\n{stdout}{stderr}", output.status);
            assert!(texts.iter().all(|text| stdout.contains(text)), "{scheme} {version}: {stdout}{stderr}");
        }
        server.stop();
    }
}

fn the_client_says_why_it_cannot_go_on() {
    let server = Server::start();
    let address =
        server.url.strip_prefix("http://").and_then(|url| url.strip_suffix("/acp")).expect("a URL").to_owned();
    let fails = |url: &str, reason: &str| {
        let output = client(&["--url", url], &[]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(reason), "{url}: {stderr}");
    };
    fails(&format!("http://{address}/other"), "404 Not Found");
    fails(&format!("ws://{address}/other"), "404 Not Found");
    fails(&format!("https://{address}/acp"), "only http and ws are supported");
    server.stop();
    fails(&format!("http://{address}/acp"), "refused");
    fails(&format!("ws://{address}/acp"), "refused");
}

fn the_agent_listens_on_loopback_only() {
    let output = Command::new(AGENT).args(["--listen", "0.0.0.0:0"]).output().expect("the agent starts");
    assert!(!output.status.success());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("it is not a loopback address"), "{stderr}");
}

/// Runs asynchronous code of a test.
fn block_on(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async { tokio::time::timeout(LIMIT, test).await }).expect("the test takes no longer");
}

/// A raw client of the endpoint.
struct Raw {
    http: Client<HttpConnector, Full<Bytes>>,
    url: String,
    /// What replaces `{connection}` and `{session}`.
    connection: String,
    session: String,
}

const CONNECTION: (&str, &str) = ("acp-connection-id", "{connection}");
const SESSION: (&str, &str) = ("acp-session-id", "{session}");
const IS_JSON: (&str, &str) = ("content-type", "application/json");
const ACCEPTS: (&str, &str) = ("accept", "text/event-stream");

const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}"#;
const NEW: &str = r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}"#;
const PROMPT: &str = r#"{"jsonrpc":"2.0","id":2,"method":"session/prompt",
    "params":{"sessionId":"{session}","prompt":[{"type":"text","text":"hello"}]}}"#;

impl Raw {
    /// Opens a connection.
    async fn open(server: &Server, is_http2: bool) -> Self {
        let http = Client::builder(TokioExecutor::new()).http2_only(is_http2).build_http();
        let mut raw = Self { http, url: server.url.clone(), connection: String::new(), session: "none".to_owned() };
        let response = raw.ask("POST", "", &[IS_JSON], INITIALIZE).await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()["content-type"]),
            (200, &IS_JSON.1.parse::<HeaderValue>().expect("a value"))
        );
        raw.connection = response.headers()["acp-connection-id"].to_str().expect("text").to_owned();
        let answer: Value = serde_json::from_str(&body(response).await).expect("JSON");
        assert_eq!((&answer["id"], &answer["result"]["protocolVersion"]), (&json!(0), &json!(1)));
        raw
    }

    /// Opens a session; returns the streams of the connection and of the session.
    async fn open_session(&mut self) -> [SseStream<Incoming>; 2] {
        let mut connection = SseStream::new(self.ask("GET", "", &[CONNECTION, ACCEPTS], "").await.into_body());
        assert_eq!(self.ask("POST", "", &[CONNECTION, IS_JSON], NEW).await.status(), 202);
        let answer = next(&mut connection).await.expect("an answer");
        answer["result"]["sessionId"].as_str().expect("an id").clone_into(&mut self.session);
        assert_eq!(answer["id"], 1);
        let session = self.ask("GET", "", &[CONNECTION, SESSION, ACCEPTS], "").await;
        assert_eq!(
            (session.status().as_u16(), &session.headers()["content-type"]),
            (200, &ACCEPTS.1.parse::<HeaderValue>().expect("a value"))
        );
        [connection, SseStream::new(session.into_body())]
    }

    fn fill_in(&self, text: &str) -> String {
        text.replace("{connection}", &self.connection).replace("{session}", &self.session)
    }

    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response<Incoming> {
        let mut request = Request::builder().method(method).uri(self.url.clone() + path);
        for (name, value) in headers {
            request = request.header(*name, self.fill_in(value));
        }
        let request = request.body(Full::from(self.fill_in(body))).expect("a request");
        self.http.request(request).await.expect("a response")
    }
}

async fn body(response: Response<Incoming>) -> String {
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    String::from_utf8(bytes.into()).expect("text")
}

/// Returns the next message of a stream; `None` at its end.
async fn next(stream: &mut SseStream<Incoming>) -> Option<Value> {
    let event = stream.next().await?.expect("an event");
    Some(serde_json::from_str(&event.data.expect("data")).expect("JSON"))
}

/// One request: what it is, its method, its path after the endpoint, its headers, its body, and the expected status.
type Row = (&'static str, &'static str, &'static str, &'static [(&'static str, &'static str)], &'static str, u16);

const UNKNOWN: (&str, &str) = ("acp-connection-id", "unknown");
const OTHER: (&str, &str) = ("acp-session-id", "other");

const TABLE: &[Row] = &[
    ("a message that is not JSON by its type", "POST", "", &[("content-type", "text/plain")], INITIALIZE, 415),
    ("a message without a type", "POST", "", &[], INITIALIZE, 415),
    (
        "a type with a parameter",
        "POST",
        "",
        &[CONNECTION, ("content-type", "application/json; charset=utf-8")],
        "{}",
        202,
    ),
    ("a stream that accepts no events", "GET", "", &[CONNECTION, ("accept", "*/*")], "", 406),
    ("a stream that accepts nothing", "GET", "", &[CONNECTION], "", 406),
    ("a POST without a connection", "POST", "", &[IS_JSON], NEW, 400),
    ("a GET without a connection", "GET", "", &[ACCEPTS], "", 400),
    ("a DELETE without a connection", "DELETE", "", &[], "", 400),
    ("a POST of an unknown connection", "POST", "", &[UNKNOWN, IS_JSON], NEW, 404),
    ("a GET of an unknown connection", "GET", "", &[UNKNOWN, ACCEPTS], "", 404),
    ("a DELETE of an unknown connection", "DELETE", "", &[UNKNOWN], "", 404),
    ("a prompt without its session", "POST", "", &[CONNECTION, IS_JSON], PROMPT, 400),
    ("a prompt with another session", "POST", "", &[CONNECTION, OTHER, IS_JSON], PROMPT, 400),
    ("a prompt with its session", "POST", "", &[CONNECTION, SESSION, IS_JSON], PROMPT, 202),
    ("a batch", "POST", "", &[CONNECTION, IS_JSON], "[]", 400),
    ("no JSON", "POST", "", &[CONNECTION, IS_JSON], "{", 400),
    ("another path", "POST", "/other", &[IS_JSON], INITIALIZE, 404),
    ("another method", "PUT", "", &[IS_JSON], INITIALIZE, 405),
    ("a page of another machine", "POST", "", &[IS_JSON, ("origin", "http://example.com")], INITIALIZE, 403),
];

fn requests_get_the_statuses_of_the_draft() {
    let server = Server::start();
    block_on(async {
        for is_http2 in [false, true] {
            let mut raw = Raw::open(&server, is_http2).await;
            let streams = raw.open_session().await;
            for &(what, method, path, headers, text, status) in TABLE {
                let response = raw.ask(method, path, headers, text).await;
                assert_eq!(response.status().as_u16(), status, "{what}, HTTP/2: {is_http2}");
                if status == 202 {
                    assert_eq!(body(response).await, "", "{what}, HTTP/2: {is_http2}");
                }
            }
            let again = raw.ask("GET", "", &[CONNECTION, ACCEPTS], "").await;
            assert_eq!(again.status(), 409, "the stream is open already");
            assert_eq!(raw.ask("DELETE", "", &[CONNECTION], "").await.status(), 202);
            for mut stream in streams {
                while next(&mut stream).await.is_some() {}
            }
            assert_eq!(raw.ask("POST", "", &[CONNECTION, IS_JSON], NEW).await.status(), 404);
        }
    });
    server.stop();
}

fn messages_come_on_the_stream_of_their_session() {
    let server = Server::start();
    block_on(async {
        let mut raw = Raw::open(&server, true).await;
        let [mut connection, mut session] = raw.open_session().await;
        let id = raw.session.clone();
        assert_eq!(raw.ask("POST", "", &[CONNECTION, SESSION, IS_JSON], PROMPT).await.status(), 202);
        turn(&mut session, &id).await;
        // An earlier session has its stream before it is loaded, and what comes before the stream waits for it.
        let mut later = Raw::open(&server, true).await;
        later.session.clone_from(&id);
        let load =
            NEW.replace("session/new", "session/load").replace("{\"cwd\"", "{\"sessionId\":\"{session}\",\"cwd\"");
        assert_eq!(later.ask("POST", "", &[CONNECTION, SESSION, IS_JSON], &load).await.status(), 202);
        let mut answers = SseStream::new(later.ask("GET", "", &[CONNECTION, ACCEPTS], "").await.into_body());
        assert_eq!(next(&mut answers).await.expect("an answer")["id"], 1);
        let mut replay = SseStream::new(later.ask("GET", "", &[CONNECTION, SESSION, ACCEPTS], "").await.into_body());
        assert_eq!(next(&mut replay).await.expect("an update")["params"]["sessionId"], id.as_str());
        // Only that was on the stream of the connection.
        let unknown = r#"{"jsonrpc":"2.0","id":9,"method":"_unknown"}"#;
        assert_eq!(raw.ask("POST", "", &[CONNECTION, IS_JSON], unknown).await.status(), 202);
        assert_eq!(next(&mut connection).await.expect("an answer")["id"], 9);
    });
    server.stop();
}

/// Reads a turn to its end; all its messages are of this session.
async fn turn(stream: &mut SseStream<Incoming>, session: &str) {
    loop {
        let message = next(stream).await.expect("the turn goes on");
        if message["id"] == 2 {
            return assert_eq!(message["result"]["stopReason"], "end_turn");
        }
        assert_eq!(message["params"]["sessionId"], session);
    }
}

type Socket = tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;

/// Returns the next message that comes on a socket.
async fn answer(socket: &mut Socket, id: u64) -> Value {
    loop {
        let Message::Text(text) = socket.next().await.expect("a frame").expect("a frame") else { continue };
        let message: Value = serde_json::from_str(&text).expect("JSON");
        if message["id"] == id {
            return message;
        }
    }
}

async fn connect(server: &Server) -> (Socket, HeaderMap) {
    let (socket, response) = connect_async(server.url("ws")).await.expect("a socket");
    assert_eq!(response.status(), 101);
    (socket, response.headers().clone())
}

fn a_socket_begins_with_initialize_in_text() {
    let server = Server::start();
    block_on(async {
        let (mut socket, headers) = connect(&server).await;
        assert!(!headers["acp-connection-id"].is_empty());
        socket.send(Message::text(NEW)).await.expect("it is sent");
        let refused = answer(&mut socket, 1).await;
        assert!(refused.get("error").is_some(), "{refused}");
        socket.send(Message::binary(NEW.replace("\"id\":1", "\"id\":5"))).await.expect("it is sent");
        socket.send(Message::text(INITIALIZE)).await.expect("it is sent");
        let first = socket.next().await.expect("a frame").expect("a frame");
        let first: Value = serde_json::from_str(first.to_text().expect("text")).expect("JSON");
        assert_eq!(first["id"], 0);
        socket.close(None).await.expect("it is open");
        while let Some(Ok(_)) = socket.next().await {}
    });
    server.stop();
}

/// A turn of a command that runs until it is ended; its last argument is a folder.
fn command(session: &str, folder: &TempDir) -> String {
    let run = "touch \"$HOME/started\"; sleep 300; true";
    let folder = folder.path().display().to_string();
    let intent = json!({"intent": "run-command", "command": "sh", "args": ["-c", run, folder], "ask": false});
    let prompt = json!([{"type": "text", "text": format!("acp-intent: {intent}")}]);
    let params = json!({"sessionId": session, "prompt": prompt});
    json!({"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": params}).to_string()
}

fn the_end_of_a_connection_ends_its_commands() {
    let server = Server::start();
    let started: PathBuf = server.home.path().join("started");
    let folder = tempfile::tempdir().expect("a folder");
    let has_started = async || {
        while fs::remove_file(&started).is_err() {
            tokio::task::yield_now().await;
        }
    };
    block_on(async {
        let mut raw = Raw::open(&server, false).await;
        let _streams = raw.open_session().await;
        let prompt = command(&raw.session, &folder);
        assert_eq!(raw.ask("POST", "", &[CONNECTION, SESSION, IS_JSON], &prompt).await.status(), 202);
        has_started().await;
        assert_eq!(raw.ask("DELETE", "", &[CONNECTION], "").await.status(), 202);
    });
    assert_eq!(left::below(folder.path()), Vec::<String>::new());
    block_on(async {
        let (mut socket, _) = connect(&server).await;
        socket.send(Message::text(INITIALIZE)).await.expect("it is sent");
        socket.send(Message::text(NEW)).await.expect("it is sent");
        let session = answer(&mut socket, 1).await["result"]["sessionId"].as_str().expect("an id").to_owned();
        socket.send(Message::text(command(&session, &folder))).await.expect("it is sent");
        has_started().await;
    });
    assert_eq!(left::below(folder.path()), Vec::<String>::new());
    server.stop();
}
