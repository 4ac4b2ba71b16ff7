//! `monitor` over HTTP and WebSocket, between the reference programs and their mutants; and servers with TLS.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Arc;

use acp_conformance::requirement::Party;
use acp_conformance::results::RunReport;
use acp_conformance::verdict::Verdict;
use libtest_mimic::Trial;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::io::copy_bidirectional;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::program::{self, said};
use crate::reference::{AGENT, CLIENT, Mutant};
use crate::remote::Server;
use crate::{left, panicking_on_linux};

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    panicking_on_linux(
        "network",
        &[
            ("a_gateway_passes_everything_on", a_gateway_passes_everything_on),
            ("the_guilty_party_is_named", the_guilty_party_is_named),
            ("a_bridge_leads_from_each_transport_to_another", a_bridge_leads_from_each_transport_to_another),
            ("pages_of_other_origins_are_refused", pages_of_other_origins_are_refused),
            ("an_agent_that_is_not_there_is_named", an_agent_that_is_not_there_is_named),
            ("a_server_with_tls_is_tested", a_server_with_tls_is_tested),
        ],
    )
}

/// A prompt whose turn has plans, chunks and a question.
const PROMPT: &str = r#"acp-intent: {"intent":"ask-permission"}"#;

/// A monitor that clients dial.
struct Monitor {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// The address for clients.
    url: String,
    folder: TempDir,
    /// A path in the environment of the monitor and of all that it starts.
    mark: TempDir,
}

impl Monitor {
    /// Starts a monitor that listens with this scheme, with these further words.
    fn start(scheme: &str, words: &[&str]) -> Self {
        let (folder, mark) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let mut command = program::command();
        command.args(["monitor", "--trace", "trace.jsonl", "--report", "report", "--listen"]);
        command.arg(format!("{scheme}://127.0.0.1:0/acp")).args(words).current_dir(folder.path());
        command.env("ACP_TEST_MARK", mark.path()).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the monitor starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("a line");
        let url = line.strip_prefix("acp-conformance: ").and_then(|rest| rest.split(' ').next());
        let url = url.unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { child, stderr, url, folder, mark }
    }

    /// Runs a client there, and returns whether it ended well with what it printed.
    fn client(&self, client: &str) -> (bool, String) {
        let mut command = Command::new(client);
        command.args(["--prompt", PROMPT, "--url", &self.url]).current_dir(self.folder.path());
        let output = command.stdin(Stdio::null()).output().expect("the client runs");
        (output.status.success(), said(&output))
    }

    /// Ends it, and returns its exit code and the rest of its standard error.
    fn end(&mut self) -> (Option<i32>, String) {
        let pid = Pid::from_raw(self.child.id().cast_signed()).expect("a process");
        kill_process(pid, Signal::INT).expect("it runs");
        let status = self.child.wait().expect("it ends");
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).expect("text");
        assert_eq!(left::below(self.mark.path()), Vec::<String>::new());
        (status.code(), rest)
    }

    /// Returns the requirements of the agent and of the client that have this verdict.
    fn having(&self, verdict: Verdict) -> [Vec<String>; 2] {
        let text = fs::read_to_string(self.folder.path().join("report")).expect("a report");
        let reports: Vec<RunReport> = text.lines().map(|line| serde_json::from_str(line).expect("a report")).collect();
        let of = |report: &RunReport| {
            report.requirements.iter().filter(|r| r.verdict == verdict).map(|r| r.id.clone()).collect()
        };
        <[RunReport; 2]>::try_from(reports).expect("one for each party").each_ref().map(of)
    }

    /// Fails unless both parties kept everything, and exercised so many requirements of the area.
    fn assert_kept(&mut self, area: &str, least: [usize; 2]) {
        let (code, rest) = self.end();
        assert_eq!((code, self.having(Verdict::Fail)), (Some(0), [Vec::new(), Vec::new()]), "{rest}");
        assert!(rest.contains("no violation"), "{rest}");
        let passed = self.having(Verdict::Pass).map(|ids| ids.iter().filter(|id| id.starts_with(area)).count());
        assert!(passed.iter().zip(least).all(|(passed, least)| *passed >= least), "{area}: {passed:?}");
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        // This fails if it has ended.
        let _ = self.child.kill();
    }
}

fn a_gateway_passes_everything_on() {
    for (scheme, least) in [("http", [6, 4]), ("ws", [1, 0])] {
        let server = Server::start();
        let mut monitor = Monitor::start(scheme, &["--to", &server.url(scheme)]);
        // Each connection is a conversation of its own.
        for _ in 0..2 {
            let (is_good, text) = monitor.client(CLIENT);
            assert!(is_good, "{scheme}: {text}");
        }
        monitor.assert_kept("http.", least);
        server.stop();
    }
}

fn the_guilty_party_is_named() {
    let server = Server::start();
    let mut monitor = Monitor::start("http", &["--to", &server.url("http")]);
    let client = Mutant::new(Party::Client, &["--fault", "client-http-accepts-anything"]);
    monitor.client(&client.path());
    let (code, rest) = monitor.end();
    let failed = [Vec::new(), vec!["http.client-negotiation".to_owned()]];
    assert_eq!((code, monitor.having(Verdict::Fail)), (Some(1), failed), "{rest}");
    assert!(rest.contains("the client (acp-reference-client) broke 1 MUST"), "{rest}");
    server.stop();

    let agent = Mutant::new(Party::Agent, &["--fault", "http-post-ok"]);
    let server = Server::start_program(&agent.path());
    let mut monitor = Monitor::start("http", &["--to", &server.url("http")]);
    monitor.client(CLIENT);
    let (code, rest) = monitor.end();
    let failed = [vec!["http.post-202".to_owned()], Vec::new()];
    assert_eq!((code, monitor.having(Verdict::Fail)), (Some(1), failed), "{rest}");
}

fn a_bridge_leads_from_each_transport_to_another() {
    for scheme in ["http", "ws"] {
        // The client of this transport, and the agent of standard streams, are judged by their own rules.
        let mut monitor = Monitor::start(scheme, &["--", AGENT]);
        let (is_good, text) = monitor.client(CLIENT);
        assert!(is_good, "{scheme}: {text}");
        monitor.assert_kept("transport.", [2, 0]);
        assert_eq!(monitor.having(Verdict::Pass)[0].iter().find(|id| id.starts_with("http.")), None);

        // And the reverse: the client starts the monitor as its agent.
        let server = Server::start();
        let folder = tempfile::tempdir().expect("a folder");
        let report = folder.path().join("report").display().to_string();
        let mut client = Command::new(CLIENT);
        client.args(["--prompt", PROMPT, "--"]).args(program::words());
        client.args(["monitor", "--report", &report, "--to", &server.url(scheme)]).current_dir(folder.path());
        let output = client.stdin(Stdio::null()).output().expect("the client runs");
        assert!(output.status.success(), "{}", said(&output));
        assert_eq!(said(&output).lines().filter(|line| line.starts_with("acp-conformance")).count(), 0);
        let text = fs::read_to_string(&report).expect("a report");
        assert_eq!(text.lines().count(), 2);
        server.stop();
    }
}

fn pages_of_other_origins_are_refused() {
    let server = Server::start();
    let monitor = Monitor::start("http", &["--to", &server.url("http")]);
    let authority = monitor.url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/acp")).expect("an address");
    for (host, origin, status) in [
        (authority, "http://evil.example", "403"),
        ("evil.example", "", "403"),
        (authority, "http://localhost:3000", "400"),
    ] {
        let mut stream = TcpStream::connect(authority).expect("it listens");
        let origin = if origin.is_empty() { String::new() } else { format!("Origin: {origin}\r\n") };
        let request = format!("DELETE /acp HTTP/1.1\r\nHost: {host}\r\n{origin}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it is read");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("text");
        assert_eq!(answer.split(' ').nth(1), Some(status), "{host} {origin}: {answer}");
    }
    drop(monitor);
    server.stop();
}

fn an_agent_that_is_not_there_is_named() {
    for words in [["--to", "http://127.0.0.1:1/acp"], ["--", "no-such-agent"]] {
        let mut monitor = Monitor::start("http", &words);
        assert!(!monitor.client(CLIENT).0);
        let (code, rest) = monitor.end();
        assert_eq!(code, Some(2), "{rest}");
        assert!(rest.contains("acp-conformance: the agent did not answer: "), "{rest}");
    }
    // The client on standard streams has also ended.
    let mut bridge = program::command();
    bridge.args(["monitor", "--to", "http://127.0.0.1:1/acp"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut bridge = bridge.spawn().expect("the monitor starts");
    let initialize = br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#;
    bridge.stdin.take().expect("a pipe").write_all(initialize).expect("it is read");
    let output = bridge.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("the agent did not answer: nothing serves at 127.0.0.1:1"), "{}", said(&output));
}

/// Serves TLS on loopback and passes the bytes on to this port, as long as this program runs. Returns its own port and
/// the certificate as PEM.
fn with_tls(port: u16) -> (u16, String) {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).expect("a key");
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![cert.der().clone()], key);
    let mut config = config.expect("a configuration");
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
    let own = listener.local_addr().expect("an address").port();
    let serve = async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut outer) = acceptor.accept(stream).await else { return };
                let Ok(mut inner) = tokio::net::TcpStream::connect(("127.0.0.1", port)).await else { return };
                let _ = copy_bidirectional(&mut outer, &mut inner).await;
            });
        }
    };
    std::thread::spawn(move || runtime.block_on(serve));
    (own, cert.pem())
}

fn a_server_with_tls_is_tested() {
    let server = Server::start();
    let port = server.url("http").split([':', '/']).nth(4).and_then(|port| port.parse().ok()).expect("a port");
    let (port, certificate) = with_tls(port);
    let folder = tempfile::tempdir().expect("a folder");
    let trusted: PathBuf = folder.path().join("trusted.pem");
    fs::write(&trusted, certificate).expect("a file");
    for scheme in ["https", "wss"] {
        let run = |trusts: bool| {
            let mut command = program::command();
            command.args(["agent", "--case", "v1/agent/prompt/text", "--timeout-start", "10s"]);
            command.args(["--url", &format!("{scheme}://localhost:{port}/acp")]).current_dir(folder.path());
            if trusts {
                command.env("SSL_CERT_FILE", &trusted);
            }
            let output = command.stdin(Stdio::null()).output().expect("this program starts");
            (output.status.code(), said(&output))
        };
        let (code, text) = run(true);
        assert_eq!(code, Some(0), "{scheme}: {text}");
        let (code, text) = run(false);
        assert_ne!(code, Some(0), "{scheme}: {text}");
        assert!(text.contains("SSL_CERT_FILE names a file of certificates to trust"), "{scheme}: {text}");
    }
    server.stop();
}
