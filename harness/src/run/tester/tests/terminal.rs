//! Real commands: output, exits, kills and releases.

use std::fs;
use std::sync::mpsc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::*;
use crate::run::tester::command::Command;
use crate::transport::process::{CASE_MARKER, Environment, Launch, reap_marked};

impl Client {
    async fn create(&self, script: &str, more: Value) -> Value {
        let mut params = json!({"sessionId": "s", "command": "sh", "args": ["-c", script]});
        if let Value::Object(more) = more {
            params.as_object_mut().expect("an object").extend(more);
        }
        let result = self.result("terminal/create", &params).await;
        json!({"sessionId": params["sessionId"], "terminalId": result["terminalId"]})
    }

    async fn output(&self, terminal: &Value) -> Value {
        self.result("terminal/output", terminal).await
    }

    async fn wait(&self, terminal: &Value) -> Value {
        self.result("terminal/wait_for_exit", terminal).await
    }

    /// Asks for output until it has `part`.
    async fn until(&self, terminal: &Value, part: &str) -> Value {
        self.until_it(terminal, |output| output["output"].as_str().expect("text").contains(part)).await
    }

    /// Asks for output until `is_wanted` accepts it.
    async fn until_it(&self, terminal: &Value, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let output = self.output(terminal).await;
            if is_wanted(&output) {
                return output;
            }
            assert!(Instant::now() < deadline, "not as wanted: {output}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Checks that no method finds the terminal.
    async fn assert_unknown(&self, terminal: &Value) {
        for method in ["output", "wait_for_exit", "kill", "release"] {
            assert_eq!(self.error(&format!("terminal/{method}"), terminal).await, code::NOT_FOUND, "{method}");
        }
    }

    /// Runs a script to its end and returns what it wrote.
    async fn run(&self, script: &str, more: Value) -> Value {
        let terminal = self.create(script, more).await;
        self.wait(&terminal).await;
        self.output(&terminal).await
    }
}

/// A named pipe that a script holds open, which shows when the last process of the script has exited.
struct Witness {
    script: String,
    ended: oneshot::Receiver<Vec<u8>>,
}

impl Witness {
    fn new(client: &Client) -> Self {
        let path = client.fifo("witness");
        let script = format!("exec 3>'{path}'; echo held >&3; sleep 1000 & echo ready; sleep 1000");
        let (report, ended) = oneshot::channel();
        // Opening waits for the script, which may never come, so it happens in a separate thread.
        std::thread::spawn(move || fs::read(path).map(|content| report.send(content)));
        Self { script, ended }
    }

    /// Starts the script in a terminal.
    async fn started(client: &Client) -> (Self, Value) {
        let witness = Self::new(client);
        let terminal = client.create(&witness.script, json!({})).await;
        client.until(&terminal, "ready").await;
        (witness, terminal)
    }

    /// Waits until every process of the script has exited.
    async fn released(self) {
        let content = timeout(PATIENCE, self.ended).await.expect("the end in time");
        assert_eq!(content.expect("readable"), b"held\n");
    }
}

const KILLED: &str = r#"{"exitCode":null,"signal":"SIGKILL"}"#;

#[tokio::test(flavor = "current_thread")]
async fn ends_are_flat_and_repeated_in_output() {
    let client = Client::new();
    let table = [
        ("exit 0", json!({"exitCode": 0, "signal": null})),
        ("exit 7", json!({"exitCode": 7, "signal": null})),
        ("exit 255", json!({"exitCode": 255, "signal": null})),
        ("kill -TERM $$", json!({"exitCode": null, "signal": "SIGTERM"})),
    ];
    for (script, end) in table {
        let terminal = client.create(script, json!({})).await;
        assert_eq!(client.wait(&terminal).await, end);
        assert_eq!(client.wait(&terminal).await, end);
        let output = client.output(&terminal).await;
        assert_eq!(output, json!({"output": "", "truncated": false, "exitStatus": end}));
        assert_eq!(client.result("terminal/kill", &terminal).await, json!({}));
    }
}

#[tokio::test(flavor = "current_thread")]
async fn command_gets_args_environment_and_directory() {
    let client = Client::new();
    let environment = Environment::default().with("HOME", "/nowhere").with("OVER", "ours");
    client.services.set_environment(environment);
    let script = r#"printf '%s|' "$HOME" "$OVER" "$EMPTY" "$@" "$(pwd -P)""#;
    let args = json!(["-c", script, "sh", "a b", "$HOME", "", "\"'é"]);
    let env = json!([{"name": "OVER", "value": "theirs"}, {"name": "EMPTY", "value": ""}]);
    let output = client.run("", json!({"args": args, "env": env})).await;
    let work = fs::canonicalize(client.path(".")).expect("there");
    let expected = format!("/nowhere|theirs||a b|$HOME||\"'é|{}|", work.display());
    assert_eq!(output["output"], expected);

    fs::create_dir(client.path("sub")).expect("made");
    client.services.set_session_cwd("t", client.path("sub"));
    let in_session = client.run("pwd -P", json!({"sessionId": "t"})).await;
    assert_eq!(in_session["output"], format!("{}\n", work.join("sub").display()));
    let in_cwd = client.run("pwd -P", json!({"sessionId": "t", "cwd": "/", "env": null})).await;
    assert_eq!(in_cwd["output"], "/\n");
}

#[tokio::test(flavor = "current_thread")]
async fn bad_commands_are_refused() {
    let client = Client::new();
    let table = [
        (json!({"command": "no-such-program-here"}), code::INTERNAL),
        (json!({"command": "/no/such/program"}), code::INTERNAL),
        (json!({"command": "true", "cwd": "/no/such/dir"}), code::INTERNAL),
        (json!({"command": "true", "cwd": "relative"}), code::INVALID_PARAMS),
        (json!({"command": ""}), code::INVALID_PARAMS),
        (json!({"command": "a\0b"}), code::INVALID_PARAMS),
        (json!({"command": "true", "args": "x"}), code::INVALID_PARAMS),
        (json!({"command": "true", "args": [1]}), code::INVALID_PARAMS),
        (json!({"command": "true", "env": {"A": "b"}}), code::INVALID_PARAMS),
        (json!({"command": "true", "env": [{"name": "A=", "value": ""}]}), code::INVALID_PARAMS),
        (json!({"command": "true", "outputByteLimit": -1}), code::INVALID_PARAMS),
    ];
    for (mut params, expected) in table {
        params["sessionId"] = json!("s");
        assert_eq!(client.error("terminal/create", &params).await, expected, "{params}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn output_is_cumulative_while_running() {
    let client = Client::new();
    let go = client.fifo("go");
    let terminal = client.create(&format!("echo one; read line <'{go}'; echo two >&2"), json!({})).await;
    let first = client.until(&terminal, "one\n").await;
    assert_eq!(first, json!({"output": "one\n", "truncated": false}));
    fs::write(&go, "\n").expect("written");
    assert_eq!(client.wait(&terminal).await["exitCode"], 0);
    assert_eq!(client.output(&terminal).await["output"], "one\ntwo\n");
}

#[tokio::test(flavor = "current_thread")]
async fn output_is_complete_at_the_end() {
    let client = Client::new();
    let output = client.run("seq 1 60000", json!({})).await;
    let expected: String = (1..=60000).map(|n| format!("{n}\n")).collect();
    assert!(output["output"] == expected && output["truncated"] == false);
}

#[tokio::test(flavor = "current_thread")]
async fn limits_keep_the_end_in_whole_characters() {
    let client = Client::new();
    let text = "aé€😀";
    for limit in 0..=text.len() + 1 {
        let output = client.run(&format!("printf '{text}'"), json!({"outputByteLimit": limit})).await;
        let kept = output["output"].as_str().expect("text");
        assert!(text.ends_with(kept) && kept.len() <= limit && limit < kept.len() + 4, "{limit} {kept}");
        assert_eq!(output["truncated"], limit < text.len(), "{limit}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn flood_is_cut_and_does_not_starve_others() {
    let client = Client::new();
    let flood = client.create("yes 0123456", json!({"outputByteLimit": 1000})).await;
    client.until_it(&flood, |output| output["truncated"] == true).await;
    // The test asks for the output only at the end, since repeated copies of that size would leave no time to read
    // more.
    let end = client.run("head -c 5000000 /dev/zero | tr '\\0' x", json!({})).await;
    assert_eq!((end["output"].as_str().expect("text").len(), &end["truncated"]), (1024 * 1024, &json!(true)));
    let output = client.output(&flood).await;
    assert_eq!((output["output"].as_str().expect("text").len(), &output["truncated"]), (1000, &json!(true)));
    client.result("terminal/kill", &flood).await;
    assert_eq!(client.wait(&flood).await.to_string(), KILLED);
}

#[tokio::test(flavor = "current_thread")]
async fn kill_ends_the_group_and_keeps_the_terminal() {
    let client = Client::new();
    let witness = Witness::new(&client);
    let script = format!("trap '' TERM; {}", witness.script);
    let terminal = client.create(&script, json!({})).await;
    client.until(&terminal, "ready").await;
    let (first, second, killed) = tokio::join!(client.wait(&terminal), client.wait(&terminal), async {
        tokio::task::yield_now().await;
        client.result("terminal/kill", &terminal).await
    });
    assert_eq!(killed, json!({}));
    assert_eq!((first.to_string(), second.to_string()), (KILLED.to_owned(), KILLED.to_owned()));
    let output = client.output(&terminal).await;
    assert_eq!((&output["output"], output["exitStatus"].to_string()), (&json!("ready\n"), KILLED.to_owned()));
    witness.released().await;
}

#[tokio::test(flavor = "current_thread")]
async fn release_while_running_answers_waits_and_forgets() {
    let client = Client::new();
    let (witness, terminal) = Witness::started(&client).await;
    let (end, released) = tokio::join!(client.wait(&terminal), async {
        tokio::task::yield_now().await;
        client.result("terminal/release", &terminal).await
    });
    assert_eq!(released, json!({}));
    witness.released().await;
    assert_eq!(end.to_string(), KILLED);
    client.assert_unknown(&terminal).await;
}

#[tokio::test(flavor = "current_thread")]
async fn terminals_belong_to_their_session() {
    let client = Client::new();
    let mut terminal = client.create("exit 0", json!({})).await;
    let other = client.create("exit 0", json!({})).await;
    assert_ne!(terminal["terminalId"], other["terminalId"]);
    terminal["sessionId"] = json!("t");
    client.assert_unknown(&terminal).await;
    terminal["sessionId"] = json!("s");
    assert_eq!(client.wait(&terminal).await["exitCode"], 0);
}

#[tokio::test(flavor = "current_thread")]
async fn a_grandchild_that_holds_the_pipe_delays_nothing() {
    let client = Client::new();
    let environment = Environment::default().with(CASE_MARKER, client.path("marker"));
    client.services.set_environment(environment);
    for background in ["sleep 1000", "setsid sleep 1000", "while :; do echo; done"] {
        let script = format!("{background} & seq 1 5000; echo last");
        let terminal = client.create(&script, json!({"outputByteLimit": 60_000_000})).await;
        assert_eq!(client.wait(&terminal).await["exitCode"], 0, "{background}");
        let output = client.output(&terminal).await;
        let text = output["output"].as_str().expect("text");
        assert!(text.contains("5000\n") && text.contains("last\n"), "{background}");
        assert_eq!(client.result("terminal/release", &terminal).await, json!({}));
    }
    // On Linux, the marker finds the process that left its group, so the test leaves none.
    reap_marked(&client.path("marker"));
}

#[tokio::test(flavor = "current_thread")]
async fn output_still_in_the_pipe_counts_at_the_end() {
    let client = Client::new();
    let go = client.fifo("go");
    // It is random whether the exit or the output is noticed first; hence the repetition.
    for _ in 0..8 {
        let script = format!("sleep 1000 & seq 1 5000; exec 3>'{go}'");
        let terminal = client.create(&script, json!({})).await;
        // Nothing is read until the command has exited, since this keeps the only thread busy.
        let (path, (report, ended)) = (go.clone(), mpsc::channel());
        std::thread::spawn(move || fs::read(path).map(|content| report.send(content)));
        ended.recv_timeout(PATIENCE).expect("the end in time");
        assert_eq!(client.wait(&terminal).await["exitCode"], 0);
        let output = client.output(&terminal).await;
        assert!(output["output"].as_str().expect("text").ends_with("\n5000\n"));
        client.result("terminal/release", &terminal).await;
    }
}

#[tokio::test(flavor = "current_thread")]
async fn output_shortly_after_the_end_still_counts() {
    let script = "(while kill -0 $$ 2>/dev/null; do :; done; seq 30000 | tail -n 1) & exit";
    let args = vec!["-c".into(), script.into()];
    let launch = Launch { program: "sh".into(), args, cwd: "/".into(), environment: Environment::default() };
    let process = launch.spawn_merged().expect("a shell");
    // The child may take any time to write on a busy machine. It ends then, so the test waits no longer.
    let command = Command::start(process, 1024, PATIENCE);
    timeout(PATIENCE, command.ended()).await.expect("the end in time");
    assert_eq!(command.output().0, "30000\n");
}

#[tokio::test(flavor = "current_thread")]
async fn output_of_children_is_read_after_the_end() {
    let client = Client::new();
    let go = client.fifo("go");
    let terminal = client.create(&format!("(read line <'{go}'; echo late) & echo early"), json!({})).await;
    client.wait(&terminal).await;
    assert_eq!(client.output(&terminal).await["output"], "early\n");
    fs::write(&go, "\n").expect("written");
    client.until(&terminal, "early\nlate\n").await;
}

#[tokio::test(flavor = "current_thread")]
async fn drop_kills_all_groups() {
    let client = Client::new();
    let (witness, _) = Witness::started(&client).await;
    let Client { services, dir } = client;
    drop(services);
    witness.released().await;
    drop(dir);
}

#[tokio::test(flavor = "current_thread")]
async fn shutdown_kills_all_groups_and_closes() {
    let client = Client::new();
    let (witness, terminal) = Witness::started(&client).await;
    let (end, ()) = tokio::join!(client.wait(&terminal), async {
        tokio::task::yield_now().await;
        client.services.shutdown().await;
    });
    assert_eq!(end.to_string(), KILLED);
    witness.released().await;
    let again = json!({"sessionId": "s", "command": "true"});
    assert_eq!(client.error("terminal/create", &again).await, code::INTERNAL);
}

#[tokio::test]
async fn whole_line_as_command_runs_in_a_shell() {
    let client = Client::new();
    for command in
        [json!({ "command": "printf 'a b' | tr a c" }), json!({ "command": "printf 'a b' | tr a c", "args": [] })]
    {
        let mut params = json!({ "sessionId": "s" });
        params.as_object_mut().expect("an object").extend(command.as_object().expect("an object").clone());
        let result = client.result("terminal/create", &params).await;
        let terminal = json!({ "sessionId": "s", "terminalId": result["terminalId"] });
        client.wait(&terminal).await;
        assert_eq!(client.output(&terminal).await["output"], "c b");
    }
}
