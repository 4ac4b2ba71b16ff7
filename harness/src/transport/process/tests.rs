//! Starts real shells; every wait is for a condition and has a deadline.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::{Instant, interval, timeout_at};

use super::*;
use crate::trace::Exit;
use crate::transport::unix::group_runs;

/// Far more time than anything here takes: the limit of every wait that is expected to succeed.
const PATIENCE: Duration = Duration::from_secs(20);

fn sh(script: &str) -> Launch {
    Launch {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: "/".into(),
        environment: Environment::default(),
    }
}

fn soon() -> Instant {
    Instant::now() + PATIENCE
}

async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("an end in time")
}

/// Starts a shell and waits for the first line of its output.
async fn ready(launch: &Launch) -> (Process, String) {
    let mut process = launch.spawn().expect("sh starts");
    let mut line = String::new();
    // One byte at a time, since a larger buffer would swallow the bytes after the line.
    let mut reader = BufReader::with_capacity(1, &mut process.stdout);
    in_time(reader.read_line(&mut line)).await.expect("a line");
    (process, line)
}

async fn exit(script: &str) -> Exit {
    let mut process = sh(script).spawn().expect("sh starts");
    in_time(process.leader.wait_until(soon())).await.expect("a status").expect("an end in time")
}

async fn output(mut merged: MergedProcess) -> String {
    let mut bytes = Vec::new();
    let drained = drain(&mut merged.output, soon(), |piece| bytes.extend_from_slice(piece)).await;
    assert_eq!(drained.expect("readable"), Drained::End);
    String::from_utf8(bytes).expect("text")
}

#[tokio::test(flavor = "current_thread")]
async fn tells_how_it_ended() {
    assert_eq!(exit("exit 0").await, Exit::Code(0));
    assert_eq!(exit("exit 255").await, Exit::Code(255));
    // Without signals that `nohup` or a background shell makes its children ignore.
    for name in ["SIGKILL", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGSEGV", "SIGXFSZ"] {
        let script = format!("kill -{} $$", &name[3..]);
        assert_eq!(exit(&script).await, Exit::Signal(name.to_owned()));
    }
}

#[tokio::test(flavor = "current_thread")]
async fn waits_until_the_deadline_and_repeats_the_answer() {
    let (mut process, _) = ready(&sh("echo; read line; exit 4")).await;
    assert_eq!(in_time(process.leader.wait_until(Instant::now())).await.expect("a status"), None);
    drop(process.stdin);
    for _ in 0..2 {
        let exit = in_time(process.leader.wait_until(soon())).await.expect("a status");
        assert_eq!(exit, Some(Exit::Code(4)));
    }
}

#[tokio::test(flavor = "current_thread")]
async fn drop_kills_grandchildren() {
    let (mut process, _) = ready(&sh("sh -c 'sleep 1000 & sleep 1000' & echo; wait")).await;
    let id = process.group.id();
    assert!(group_runs(id));
    drop(process.group);
    // The stream ends with the last process that could write to it.
    let drained = drain(&mut process.stdout, soon(), |_| ()).await;
    assert_eq!(drained.expect("readable"), Drained::End);
    assert_eq!(in_time(process.leader.wait()).await.expect("a status"), Exit::Signal("SIGKILL".to_owned()));
}

#[tokio::test(flavor = "current_thread")]
async fn panic_kills_the_group() {
    let (process, _) = ready(&sh("sleep 1000 & echo; wait")).await;
    let Process { mut stdout, group, leader, .. } = process;
    let doomed = tokio::spawn(async move {
        let _kept = (group, leader);
        std::panic::resume_unwind(Box::new("expected"));
    });
    assert!(doomed.await.is_err());
    assert_eq!(drain(&mut stdout, soon(), |_| ()).await.expect("readable"), Drained::End);
}

/// Waits until no process of the group is running; `false` if one still is at `deadline`.
async fn gone_by(group: &ProcessGroup, deadline: Instant) -> bool {
    let mut ticks = interval(Duration::from_millis(5));
    while group.alive() {
        if timeout_at(deadline, ticks.tick()).await.is_err() {
            return !group.alive();
        }
    }
    true
}

#[tokio::test(flavor = "current_thread")]
async fn terminate_can_be_handled() {
    let (mut process, _) = ready(&sh("trap 'exit 3' TERM; sh -c 'echo; exec sleep 1000' & wait")).await;
    process.group.terminate();
    assert_eq!(in_time(process.leader.wait()).await.expect("a status"), Exit::Code(3));
    assert!(gone_by(&process.group, soon()).await);
}

#[tokio::test(flavor = "current_thread")]
async fn orphans_keep_the_group_alive() {
    let (mut process, _) = ready(&sh("sleep 1000 & echo")).await;
    assert_eq!(in_time(process.leader.wait()).await.expect("a status"), Exit::Code(0));
    assert!(process.group.alive());
    assert!(!gone_by(&process.group, Instant::now()).await);
    process.group.kill();
    assert!(gone_by(&process.group, soon()).await);
    assert!(!process.group.alive());
}

#[tokio::test(flavor = "current_thread")]
async fn ended_leader_is_not_alive_before_it_is_reaped() {
    let (mut process, _) = ready(&sh("echo")).await;
    assert!(gone_by(&process.group, soon()).await);
    assert_eq!(in_time(process.leader.wait()).await.expect("a status"), Exit::Code(0));
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "current_thread")]
async fn finds_marked_processes_outside_the_group() {
    let marker = format!("reap-{}", std::process::id());
    let mut launch = sh("setsid sh -c 'echo; sleep 1000; true' & wait");
    launch.environment = launch.environment.with(CASE_MARKER, &marker);
    let (mut process, _) = ready(&launch).await;
    process.group.kill();
    assert!(gone_by(&process.group, soon()).await);
    let shortly = Instant::now() + Duration::from_millis(50);
    let drained = drain(&mut process.stdout, shortly, |_| ()).await;
    assert_eq!(drained.expect("readable"), Drained::Deadline, "the escaped process holds the stream");

    assert_eq!(reap_marked(&marker[..marker.len() - 1]), 0);
    assert!(reap_marked(&marker) >= 1);
    assert_eq!(drain(&mut process.stdout, soon(), |_| ()).await.expect("readable"), Drained::End);
    assert_eq!(reap_marked(&marker), 0);
}

#[tokio::test(flavor = "current_thread")]
async fn environment_is_inherited_and_changed() {
    let mut launch = sh("echo ${PATH:+path} ${HOME-none} $ONE");
    launch.environment = Environment::default().without("HOME").with("ONE", "1").with("ONE", "2");
    let merged = launch.spawn_merged().expect("sh starts");
    assert_eq!(output(merged).await, "path none 2\n");
}

#[tokio::test(flavor = "current_thread")]
async fn merged_output_keeps_the_order_of_writing() {
    let script = "i=0; while [ $i -lt 200 ]; do echo $i; i=$((i+1)); echo $i >&2; i=$((i+1)); done";
    let expected: String = (0..200).map(|n| format!("{n}\n")).collect();
    assert_eq!(output(sh(script).spawn_merged().expect("sh starts")).await, expected);
}

#[tokio::test(flavor = "current_thread")]
async fn spawn_errors_name_the_missing_part() {
    let dir = tempfile::tempdir().expect("a directory");
    let plain = dir.path().join("plain");
    let script = dir.path().join("script");
    std::fs::write(&plain, "text").expect("written");
    std::fs::write(&script, "#!/no/such/interpreter\n").expect("written");
    std::fs::set_permissions(&script, Permissions::from_mode(0o755)).expect("set");
    let error = |program: &str, cwd: &str| {
        let launch = Launch { program: program.into(), args: Vec::new(), cwd: cwd.into(), ..sh("") };
        launch.spawn().expect_err("nothing to start").to_string()
    };
    let (plain, script) = (plain.display().to_string(), script.display().to_string());
    assert_eq!(error("no-such-agent", "/"), "no program `no-such-agent` on PATH");
    assert_eq!(error("/no/such/agent", "/"), "no such program `/no/such/agent`");
    assert_eq!(error("./agent", "/"), "no such program `./agent`");
    let quoted = "it is one word: leave out the quotes around the command line";
    assert_eq!(error("my-agent --acp", "/"), format!("no program `my-agent --acp` on PATH; {quoted}"));
    assert_eq!(error("./agent --acp", "/"), format!("no such program `./agent --acp`; {quoted}"));
    let remedy = "chmod +x it, or put its interpreter before it, such as node";
    assert_eq!(error(&plain, "/"), format!("`{plain}` is not executable; {remedy}"));
    let folder = dir.path().display().to_string();
    assert_eq!(error(&folder, "/"), format!("`{folder}` is a folder"));
    assert_eq!(error("sh", "/no/such/dir"), "working directory `/no/such/dir` does not exist");
    assert_eq!(error("sh", &plain), format!("working directory `{plain}` is not a directory"));
    assert!(error(&script, "/").starts_with(&format!("cannot start `{script}`: ")));
}

#[tokio::test(flavor = "current_thread")]
async fn available_output_is_read_without_the_runtime() {
    let mut merged = sh("echo one; echo two >&2; sleep 1000").spawn_merged().expect("sh starts");
    let mut text = Vec::new();
    let deadline = std::time::Instant::now() + PATIENCE;
    while text != b"one\ntwo\n" {
        // Without an await, only direct reading can bring the output.
        let ended = read_available(&merged.output, 3, |piece| text.extend_from_slice(piece));
        assert!(!ended.expect("readable") && std::time::Instant::now() < deadline);
    }
    drop(merged.group);
    let drained = drain(&mut merged.output, soon(), |_| ()).await;
    assert_eq!(drained.expect("readable"), Drained::End);
    assert!(read_available(&merged.output, 3, |_| ()).expect("readable"));
}
