//! The behaviour of the subjects, by the words in the table.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread::park;

use acp_conformance::requirement::Party;
use acp_conformance::transport::signal::outlive_signals;
use rustix::process::{Signal, getpid, kill_process, setsid};
use serde_json::{Value, json};

use super::program::{self, Conversation, update};
use super::this_program;
use super::trial::OUTSIDE;

/// The word for a child of a subject.
pub const CHILD: &str = "child";

/// The longest line that is sent as a whole.
const LONG: usize = 64 << 20;

/// The bytes of a flood in one write.
const PIECE: usize = 64 << 10;

/// Runs the behaviour of the subject.
pub fn act(conversation: &mut Conversation) {
    let does = conversation.row.does.clone();
    let (action, object) = does.split_once(' ').unwrap_or((&does, ""));
    let number = object.parse().unwrap_or(0);
    match action {
        "nothing" => {}
        "hang" => hang(),
        "exit" => end(number),
        "signal" => die_by(object),
        "close" => {
            conversation.close();
            hang()
        }
        "stubborn" => {
            outlive_signals().expect("signals can be caught");
            conversation.close();
            hang()
        }
        "flood" => flood(conversation, object),
        "line" => long_line(conversation, object),
        "write" => write_odd(conversation, object),
        "bytewise" => conversation.in_bytes = true,
        "twice" => conversation.twice = true,
        "early" => conversation.run_ahead(),
        "late" => late(conversation),
        "late-crash" => answer_and(conversation, 3, || end(1)),
        "stall" => answer_and(conversation, 1, || hang()),
        "answers" => answer_others(conversation),
        "deaf" => deaf(conversation),
        "ask" => ask_without_reading(conversation, object),
        "form" => ask_in_own_form(conversation),
        "sessions" => sessions(conversation, number),
        "prompts" => prompts(conversation, number),
        "same-ids" => same_ids(conversation),
        "terminals" => terminals(conversation, number),
        "child" => start_child(object),
        // The subject waits for it, since it is not a daemon before it has left the group.
        "hide" => drop(child(&["hidden-daemon"]).status().expect("it starts")),
        "daemons" => (0..number).for_each(|_| start_child("daemon")),
        "fill" => fill(&conversation.cwd),
        "nest" => nest(&conversation.cwd, number),
        "delete" => mine(conversation).iter().for_each(|folder| drop(fs::remove_dir_all(folder))),
        "lock" => lock(conversation),
        "links" => links(conversation),
        "server" => drive_server(conversation, object),
        "start-twice" => start_twice(conversation),
        "agent-away" => conversation.starter = Some(away(&conversation.server)),
        "kill-agent" => conversation.agent.as_mut().map(|agent| agent.kill()).into_iter().for_each(drop),
        "cancel" => cancel(conversation),
        other => unreachable!("no deed is called {other}"),
    }
}

fn hang() -> ! {
    loop {
        park();
    }
}

#[expect(clippy::exit, reason = "a program of its own")]
fn end(code: usize) -> ! {
    std::process::exit(i32::try_from(code).unwrap_or(1))
}

fn die_by(name: &str) -> ! {
    let signal = match name {
        "SIGKILL" => Signal::KILL,
        "SIGTERM" => Signal::TERM,
        "SIGUSR1" => Signal::USR1,
        _ => std::process::abort(),
    };
    kill_process(getpid(), signal).expect("a process may signal itself");
    hang()
}

fn flood(conversation: &mut Conversation, what: &str) {
    let fill = |line: &str| line.repeat(PIECE / line.len()).into_bytes();
    match what {
        "junk" => while conversation.write(&fill("{}\n")) {},
        "updates" => while conversation.write(&fill(&format!("{}\n", update("x")))) {},
        // Output outside the protocol never stops the subject, so it continues after the limit of the trace.
        "stderr" => {
            let piece = fill("log\n");
            (0..LONG / PIECE).for_each(|_| io::stderr().write_all(&piece).expect("the harness reads it"));
            std::thread::spawn(move || pour(&mut io::stderr(), &piece));
        }
        "terminal" => {
            std::thread::spawn(move || pour(&mut io::stderr(), &fill("log\n")));
            pour(&mut io::stdout(), &fill("shown\n"));
        }
        other => unreachable!("no flood of {other}"),
    }
}

fn pour(output: &mut dyn Write, piece: &[u8]) {
    while output.write_all(piece).is_ok() {}
}

fn long_line(conversation: &mut Conversation, what: &str) {
    match what {
        "long" => {
            let (before, after) = around_text();
            conversation.write(before.as_bytes());
            write_often(conversation, &[b'x'; PIECE]);
            conversation.write(after.as_bytes());
        }
        "endless" => while conversation.write(&[b'x'; PIECE]) {},
        "values" => {
            let piece = "0,".repeat(PIECE / 2);
            let (before, after) = around_meta();
            conversation.write(format!("{before}[").as_bytes());
            write_often(conversation, piece.as_bytes());
            conversation.write(format!("0]{after}").as_bytes());
        }
        "deep" => {
            let deep = "[".repeat(10_000) + &"]".repeat(10_000);
            let (before, after) = around_meta();
            conversation.write(format!("{before}{deep}{after}").as_bytes());
        }
        other => unreachable!("no {other} line"),
    }
}

fn write_often(conversation: &mut Conversation, piece: &[u8]) {
    for _ in 0..LONG / PIECE {
        conversation.write(piece);
    }
}

/// Returns the piece of an answer before and after its text.
fn around_text() -> (String, String) {
    let whole = format!("{}\n", update("#"));
    whole.split_once('#').map(|(before, after)| (before.to_owned(), after.to_owned())).expect("the text is there")
}

/// Returns the piece of an answer before and after metadata at its end.
fn around_meta() -> (String, &'static str) {
    let whole = update("x").to_string();
    let open = whole.strip_suffix("}}").expect("two objects end there");
    (format!(r#"{open},"_meta":{{"hostile":"#), "}}}\n")
}

fn write_odd(conversation: &mut Conversation, what: &str) {
    let line = format!("{}\n", update("x"));
    let bytes: Vec<u8> = match what {
        "half-emoji" => return half_emoji(conversation),
        "brackets" => format!("{}\n", "[".repeat(200)).into_bytes(),
        "two-long" => (update(&"x".repeat(1 << 20)).to_string().repeat(2) + "\n").into_bytes(),
        "every-byte" => (0..=255).chain([b'\n']).collect(),
        "nul" => b"\0\0\0\n".to_vec(),
        "bom" => format!("\u{FEFF}{line}").into_bytes(),
        "utf-16" => line.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        "bad-utf-8" => line.bytes().map(|byte| if byte == b'x' { 0xFF } else { byte }).collect(),
        other => unreachable!("nothing odd is called {other}"),
    };
    conversation.write(&bytes);
}

/// Sends half of an emoji as a text and as an id. The turn ends here when the answer has that id and the cancel has
/// come; the prompt has the id 2.
fn half_emoji(conversation: &mut Conversation) {
    let id = r#""id":"\ud83d""#;
    let params = permission();
    let request = format!(r#"{{"jsonrpc":"2.0",{id},"method":"session/request_permission","params":{params}}}"#);
    let half = update("#").to_string().replace('#', r"half \ud83d");
    conversation.write(format!("{request}\n{half}\n").as_bytes());
    let (mut is_answered, mut is_cancelled) = (false, false);
    while !(is_answered && is_cancelled) {
        let Some(line) = conversation.hear_line() else { return };
        is_answered |= line.contains(id);
        is_cancelled |= line.contains("session/cancel");
    }
    conversation.answer(&json!(2), json!({ "stopReason": "cancelled" }));
}

/// Some programs that cannot continue exit only when their blocked read returns.
fn late(conversation: &mut Conversation) {
    if let Some(fence) = conversation.hear() {
        conversation
            .say(&json!({ "jsonrpc": "2.0", "id": fence["id"], "error": { "code": -32601, "message": "unknown" } }));
    }
    (0..3).for_each(|_| drop(conversation.hear()));
    end(1)
}

/// Refuses the requests among the next lines, and then acts.
fn answer_and(conversation: &mut Conversation, lines: usize, then: impl FnOnce()) {
    for _ in 0..lines {
        let Some(message) = conversation.hear() else { return };
        conversation.refuse(&message["id"]);
    }
    then();
}

fn answer_others(conversation: &mut Conversation) {
    [json!(9999), json!("0"), Value::Null].iter().for_each(|id| conversation.answer(id, json!({})));
}

fn ask_without_reading(conversation: &mut Conversation, what: &str) {
    let path = Path::new(&conversation.cwd).join("large");
    let (method, params) = match what {
        "files" => ("fs/read_text_file", json!({ "sessionId": "s", "path": path })),
        "permission" => ("session/request_permission", permission()),
        _ => ("session/new", json!({ "cwd": conversation.cwd, "mcpServers": [] })),
    };
    if what == "files" {
        fs::write(&path, vec![b'x'; 15 << 20]).expect("written");
    }
    // It is killed in the middle of this.
    loop {
        conversation.request(method, params.clone());
    }
}

fn permission() -> Value {
    let option = json!({ "optionId": "yes", "name": "Yes", "kind": "allow_once" });
    json!({ "sessionId": "s", "toolCall": { "toolCallId": "call", "title": "A call" }, "options": [option] })
}

/// Asks its user a question that the case does not expect, and only then ends its turn; the prompt has the id 2.
fn ask_in_own_form(conversation: &mut Conversation) {
    let schema = json!({ "type": "object", "properties": { "colour": { "type": "string" } } });
    let form = json!({ "sessionId": "s", "mode": "form", "message": "Which colour?", "requestedSchema": schema });
    conversation.ask("elicitation/create", form);
    conversation.answer(&json!(2), json!({ "stopReason": "end_turn" }));
}

/// Requests a turn, and does not read it.
fn deaf(conversation: &mut Conversation) -> ! {
    prompts(conversation, 1);
    hang()
}

fn sessions(conversation: &mut Conversation, number: usize) {
    const AT_ONCE: usize = 100;
    for first in (0..number).step_by(AT_ONCE) {
        for n in first..first + AT_ONCE {
            if conversation.row.party() == Party::Client {
                conversation.request("session/new", json!({ "cwd": conversation.cwd, "mcpServers": [] }));
            } else {
                let mut message = update("x");
                message["params"]["sessionId"] = json!(format!("other-{n}"));
                conversation.say(&message);
            }
        }
        if conversation.row.party() == Party::Client {
            (0..AT_ONCE).for_each(|_| drop(conversation.hear()));
        }
    }
}

fn prompts(conversation: &mut Conversation, number: usize) {
    let words = json!([{ "type": "text", "text": "Hello." }]);
    for _ in 0..number {
        conversation.request("session/prompt", json!({ "sessionId": conversation.session, "prompt": words }));
    }
}

/// Requests with the ids that the other party uses, which is allowed, and two with one id, which is not: the first of
/// these has no answer while its command runs. The turn ends here, since the line that was read may be its cancel; the
/// prompt has the id 2.
fn same_ids(conversation: &mut Conversation) {
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "call", "title": "A call" });
    let params = json!({ "sessionId": "s", "update": call });
    conversation.say(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }));
    let ask = |conversation: &mut Conversation, id: u64, method: &str, params: Value| {
        conversation.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    };
    for id in [0, 1, 2] {
        ask(conversation, id, "session/request_permission", permission());
    }
    let stay = json!({ "sessionId": "s", "command": this_program(), "args": [program::WORD, CHILD, "stay"] });
    ask(conversation, 3, "terminal/create", stay);
    let (mut terminal, mut is_cancelled) = (Value::Null, false);
    while terminal.is_null() || !is_cancelled {
        let Some(message) = conversation.hear() else { return };
        is_cancelled |= message["method"] == "session/cancel";
        if message["id"] == 3 && message.get("method").is_none() {
            terminal = message["result"]["terminalId"].clone();
        }
    }
    let its = json!({ "sessionId": "s", "terminalId": terminal });
    for (id, method) in [(7, "terminal/wait_for_exit"), (7, "terminal/wait_for_exit"), (8, "terminal/release")] {
        ask(conversation, id, method, its.clone());
    }
    conversation.answer(&json!(2), json!({ "stopReason": "cancelled" }));
}

/// Makes the client start commands that flood.
fn terminals(conversation: &mut Conversation, number: usize) {
    for _ in 0..number {
        let args = [program::WORD, CHILD, "flood"];
        let params =
            json!({ "sessionId": "s", "command": this_program(), "args": args, "outputByteLimit": 1_u64 << 40 });
        conversation.request("terminal/create", params);
    }
}

fn child(words: &[&str]) -> Command {
    let mut command = Command::new(this_program());
    command.args([program::WORD, CHILD]).args(words);
    command
}

/// Starts a child that outlives the subject, on the subject's own streams.
#[expect(clippy::zombie_processes, reason = "the subject leaves a zombie on purpose")]
fn start_child(kind: &str) {
    child(&[kind]).spawn().expect("it starts");
}

/// Starts a child that outlives the subject, with no trace of it except a word by which this test finds it.
#[expect(clippy::zombie_processes, reason = "the subject leaves a zombie on purpose")]
fn start_hidden() {
    let mut hidden = child(&["stay"]);
    hidden.arg(env::temp_dir()).env_clear().current_dir("/");
    hidden.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    hidden.spawn().expect("it starts");
}

/// Runs as a child of a subject.
pub fn play_child(words: &[&str]) -> ExitCode {
    match words {
        ["stay", ..] => stay(),
        ["daemon"] => {
            setsid().expect("a session of its own");
            start_child("stay");
        }
        ["hidden-daemon"] => {
            setsid().expect("a session of its own");
            start_hidden();
        }
        ["flood"] => pour(&mut io::stdout(), &[b'x'; PIECE]),
        ["away", program, args @ ..] => {
            setsid().expect("a session of its own");
            let path = env::var_os("PATH").unwrap_or_default();
            let error = Command::new(program).args(args).env_clear().env("PATH", path).exec();
            unreachable!("{program} does not start: {error}");
        }
        _ => return ExitCode::FAILURE,
    }
    ExitCode::SUCCESS
}

fn stay() -> ! {
    outlive_signals().expect("signals can be caught");
    hang()
}

/// Creates a program in a session of its own, without the environment.
fn away(program: &str) -> Command {
    child(&["away", program])
}

fn mine(conversation: &Conversation) -> [PathBuf; 2] {
    [PathBuf::from(&conversation.cwd), home()]
}

fn home() -> PathBuf {
    env::var_os("HOME").map(PathBuf::from).expect("there is a HOME")
}

/// Many files, and one that is larger than the disk.
fn fill(cwd: &str) {
    for n in 0..2_000 {
        fs::write(Path::new(cwd).join(format!("file-{n}")), "").expect("written");
    }
    fs::File::create(Path::new(cwd).join("sparse")).and_then(|file| file.set_len(1 << 40)).expect("no block is taken");
}

/// Creates nested folders, so deep that their path is too long.
fn nest(cwd: &str, levels: usize) {
    env::set_current_dir(cwd).expect("it is there");
    for _ in 0..levels {
        fs::create_dir("folder").and_then(|()| env::set_current_dir("folder")).expect("one folder more");
    }
}

/// Removes all permissions from its folders, and from a folder in them with content.
fn lock(conversation: &Conversation) {
    for folder in mine(conversation) {
        let inner = folder.join("inner");
        fs::create_dir(&inner).and_then(|()| fs::write(inner.join("file"), "")).expect("written");
        [&inner, &folder].into_iter().for_each(|folder| close(folder));
    }
}

/// Creates links to a folder outside its own, in its folders and instead of one.
fn links(conversation: &Conversation) {
    let outside = env::var_os(OUTSIDE).expect("a folder");
    let [cwd, home] = mine(conversation);
    symlink(&outside, cwd.join("link")).expect("linked");
    fs::remove_dir_all(&home).and_then(|()| symlink(&outside, &home)).expect("linked");
    // This forces the harness to clean the folder up by other means.
    close(&cwd);
}

fn close(folder: &Path) {
    fs::set_permissions(folder, PermissionsExt::from_mode(0o000)).expect("it is its own");
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;

/// Prints without a pause, while its MCP server answers.
fn print_and_drive_server(conversation: &Conversation) {
    let piece = "log\n".repeat(PIECE / 4).into_bytes();
    // This prints more than the trace can hold before the server starts.
    (0..4).for_each(|_| io::stderr().write_all(&piece).expect("the harness reads it"));
    std::thread::spawn(move || pour(&mut io::stderr(), &piece));
    let mut command = Command::new(&conversation.server);
    command.args(["--mode", "plain"]).env("ACP_CONFORMANCE_ONE", "one");
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the server starts");
    let mut input = server.stdin.take().expect("a pipe");
    input.write_all(format!("{HELLO}\n").as_bytes()).expect("the server reads");
    let mut answer = String::new();
    BufReader::new(server.stdout.take().expect("a pipe")).read_line(&mut answer).expect("text");
    assert!(answer.contains("serverInfo"), "the server says {answer:?}");
    drop(input);
    server.wait().expect("the server ends with its input");
}

/// Starts its MCP server in an unexpected place, or sends it more than it reads.
#[expect(clippy::zombie_processes, reason = "the subject leaves a zombie on purpose")]
fn drive_server(conversation: &mut Conversation, how: &str) {
    if how == "logs" {
        return print_and_drive_server(conversation);
    }
    let mut command = match how {
        "away" => child(&["away", &conversation.server, "--mode", "plain"]),
        _ => Command::new(&conversation.server),
    };
    if how == "flood" {
        command.args(["--mode", "plain"]).env("ACP_CONFORMANCE_ONE", "one");
    }
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("the server starts");
    let mut input = server.stdin.take().expect("a pipe");
    let flood = how == "flood";
    std::thread::spawn(move || {
        let line = format!("{HELLO}\n");
        let mut said = input.write_all(line.as_bytes());
        while flood && said.is_ok() {
            said = input.write_all(line.repeat(PIECE / line.len()).as_bytes());
        }
        // The server is held open as long as the agent runs.
        hang()
    });
}

fn start_twice(conversation: &Conversation) {
    let ended = Command::new(&conversation.server).stdin(Stdio::null()).stdout(Stdio::null()).status();
    ended.expect("the agent starts");
}

fn cancel(conversation: &mut Conversation) {
    conversation
        .say(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": conversation.session } }));
    hang()
}
