//! A second, tiny edition runs through every command: the edition is a value, and no part of the program is for version
//! 1 alone.
//!
//! The tiny schema requires a `motto` in the answer to `initialize`, which version 1 does not have. So each result
//! shows which edition was used.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

use acp_conformance::edition::{Bundle, Files};
use acp_conformance::protocol::V1;
use libtest_mimic::{Failed, Trial};
use serde_json::Value;

use crate::program;

/// The tiny edition.
pub static TINY: Bundle = Bundle::new(Files {
    name: "tiny@2026-01",
    major: 1,
    adapter: &V1,
    stable: || include_str!("edition/schema.json").into(),
    unstable: || include_str!("edition/schema.json").into(),
    other_revision: None,
    base: None,
    catalogue: || include_str!("edition/requirements.yaml").into(),
    folder: "tiny",
    cases: || CASES.get_or_init(|| yaml_files("cases")),
    lowered_catalogue: None,
    heads: None,
});

static CASES: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// Reads the files of the tiny edition, by their paths below the folder.
fn yaml_files(folder: &str) -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/edition").join(folder);
    let (mut files, mut folders) = (BTreeMap::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(&root).expect("a path below the folder").display().to_string();
                files.insert(name, fs::read_to_string(&path).expect("a text"));
            }
        }
    }
    files
}

const AGENT_OF_BOTH: &str = env!("CARGO_BIN_EXE_acp-reference-agent");

/// An agent that does not know the parameters of some versions, and so answers their handshake with an error. Its
/// arguments are the agent and a pattern of these versions.
/// With a third argument, it never answers.
const REFUSES: &str = r#"
read -r line
case $line in
*'"protocolVersion":'$1*)
  [ -z "$2" ] || exec sleep 300
  id=${line#*'"id":'}
  echo "{\"jsonrpc\":\"2.0\",\"id\":${id%%[,\}]*},\"error\":{\"code\":-32602,\"message\":\"a member is missing\"}}" ;;
*) { printf '%s\n' "$line"; cat; } | "$0" ;;
esac"#;

const CLIENT: &str = env!("CARGO_BIN_EXE_acp-reference-client");

/// A test of this file.
type Test = fn() -> Result<(), Failed>;

/// Answers `initialize` with or without a motto, and every unknown request with an error.
const AGENT: &str = r#"while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1%s}}\n' "$id" "$MOTTO" ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}\n' "$id" ;;
  esac
done"#;

const MOTTO: &str = r#","motto":"festina lente""#;

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    let trials: [(&str, Test); 9] = [
        ("list-explain-and-lint-show-its-content", shows_content),
        ("an-agent-is-tested-by-it", tests_agents),
        ("a-client-is-tested-by-it", tests_clients),
        ("a-trace-and-a-report-name-it", reads_traces_and_reports),
        ("a-certificate-is-one-of-it", certifies),
        ("all-tests-each-version-that-the-agent-speaks", tests_each_version),
        ("all-tests-no-version-whose-handshake-the-agent-refuses", tests_no_refused_version),
        ("newest-falls-back-to-what-the-agent-speaks", tests_the_newest_version),
        ("an-unknown-edition-is-refused", refuses_unknown_editions),
    ];
    let trials = trials.map(|(name, test)| Trial::test(format!("editions/{name}"), test).with_kind("edition"));
    trials.into()
}

/// Runs a command of the program with the tiny edition in addition to its own.
fn command(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = program::command_with_tiny();
    command.current_dir(dir).args(arguments);
    command.output().expect("the program starts")
}

/// Returns the output, if the program exits with this code.
fn prints(dir: &Path, code: i32, arguments: &[&str]) -> Result<String, Failed> {
    let output = command(dir, arguments);
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    match output.status.code() {
        Some(is) if is == code => Ok(said),
        is => Err(format!("{arguments:?} exits with {is:?} instead of {code}:\n{said}").into()),
    }
}

fn contains(text: &str, part: &str) -> Result<(), Failed> {
    if text.contains(part) { Ok(()) } else { Err(format!("`{part}` is missing in:\n{text}").into()) }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Tests an agent with this motto with the tiny edition, and keeps its traces and its report.
fn tested(dir: &Path, code: i32, motto: &str) -> Result<(String, PathBuf), Failed> {
    let env = format!("MOTTO={motto}");
    let common = ["agent", "--edition", "tiny@2026-01", "--trace-dir", "traces", "--format", "json=report.json"];
    let rest = ["--format", "text", "--env", &env, "--", "sh", "-c", AGENT];
    let said = prints(dir, code, &[common.as_slice(), &rest].concat())?;
    Ok((said, dir.join("traces/tiny-agent-init-handshake.jsonl")))
}

fn shows_content() -> Result<(), Failed> {
    let dir = folder();
    let shows =
        |code, arguments: &[&str]| prints(dir.path(), code, &[arguments, &["--edition", "tiny@2026-01"]].concat());
    let cases = shows(0, &["list"])?;
    contains(&cases, "tiny/agent/init/handshake")?;
    contains(&cases, "\n2 cases\n")?;
    contains(&shows(0, &["list", "--requirements"])?, "The agent has a motto.")?;
    contains(&shows(0, &["explain", "init.motto"])?, "tiny/agent/init/handshake")?;
    contains(&shows(2, &["explain", "cancel.stop-reason"])?, "cancel.stop-reason")?;
    contains(&shows(0, &["lint"])?, "2 files are correct")
}

fn tests_agents() -> Result<(), Failed> {
    let dir = folder();
    let (said, _) = tested(dir.path(), 0, MOTTO)?;
    contains(&said, "conformant")?;
    let (said, _) = tested(dir.path(), 1, "")?;
    contains(&said, "init.motto")?;
    contains(&said, "schema.valid.agent")
}

fn tests_clients() -> Result<(), Failed> {
    let dir = folder();
    let client = [
        "client",
        "--edition",
        "tiny@2026-01",
        "--",
        CLIENT,
        "--cwd",
        "{cwd}",
        "--prompt",
        "{prompt}",
        "--",
        "{agent}",
    ];
    contains(&prints(dir.path(), 0, &client)?, "conformant")
}

fn reads_traces_and_reports() -> Result<(), Failed> {
    let dir = folder();
    let (_, trace) = tested(dir.path(), 1, "")?;
    let trace = trace.display().to_string();
    // The header of the trace names the edition, so no option is needed.
    contains(&prints(dir.path(), 1, &["check", &trace])?, "init.motto")?;
    let other = std::fs::read_to_string(&trace)?.replace("tiny@2026-01", "v1@2026-11-20");
    std::fs::write(dir.path().join("v1.jsonl"), other)?;
    let by_v1 = prints(dir.path(), 3, &["check", "v1.jsonl"])?;
    contains(&by_v1, "ACP version 1, schema of 2026-11-20")?;
    if by_v1.contains("schema.valid.agent") {
        return Err(format!("version 1 wants no motto:\n{by_v1}").into());
    }
    prints(dir.path(), 0, &["redact", &trace, "--output", "redacted.jsonl"])?;
    contains(&prints(dir.path(), 1, &["check", "redacted.jsonl"])?, "init.motto")?;
    let report: Value = serde_json::from_str(&std::fs::read_to_string(dir.path().join("report.json"))?)?;
    assert_eq!(report["suite"]["edition"], "tiny@2026-01");
    let ids: Vec<&str> =
        report["requirements"].as_array().into_iter().flatten().filter_map(|one| one["id"].as_str()).collect();
    assert_eq!(ids, ["init.motto", "jsonrpc.version-member.agent", "schema.valid.agent"]);
    prints(dir.path(), 0, &["diff", "report.json", "report.json"])?;
    prints(dir.path(), 0, &["board", "report.json", "-o", "board"])?;
    contains(&std::fs::read_to_string(dir.path().join("board/index.html"))?, "The agent has a motto.")
}

fn certifies() -> Result<(), Failed> {
    let dir = folder();
    let env = format!("MOTTO={MOTTO}");
    let certify =
        ["certify", "agent", "--edition", "tiny@2026-01", "--output", "kept", "--env", &env, "--", "sh", "-c", AGENT];
    prints(dir.path(), 0, &certify)?;
    contains(&prints(dir.path(), 0, &["verify", "kept"])?, "tiny@2026-01")
}

fn tests_each_version() -> Result<(), Failed> {
    let dir = folder();
    let env = format!("MOTTO={MOTTO}");
    let common = ["agent", "--protocol", "all", "--case", "*/agent/init/handshake"];
    let agent = ["--env", &env, "--", "sh", "-c", AGENT];
    let said = prints(dir.path(), 1, &[&common, &["--format", "json=r.json"][..], &agent].concat())?;
    contains(
        &said,
        "ACP version 2 (preview), schema of 2026-11-20:\nnot tested: the agent speaks version 1 of the protocol\n",
    )?;
    let report = |version: &str| dir.path().join(format!("r-{version}.json"));
    for (version, edition) in [("v1", "v1@2026-11-20"), ("tiny", "tiny@2026-01")] {
        let report: Value = serde_json::from_str(&std::fs::read_to_string(report(version))?)?;
        assert_eq!(report["suite"]["edition"], edition);
    }
    assert!(!report("v2").exists());
    let alone = ["agent", "--protocol", "v2", "--format", "text", "--format", "json=alone.json"];
    let said = prints(dir.path(), 3, &[&alone[..], &agent].concat())?;
    contains(&said, "The agent speaks version 1 of the protocol, and this run tests ACP version 2 (preview)")?;
    let alone: Value = serde_json::from_str(&std::fs::read_to_string(dir.path().join("alone.json"))?)?;
    assert_eq!(alone["summary"]["starts"], 1);
    let of_v1 = ["agent", "--protocol", "all", "--case", "v1/agent/init/version-newest"];
    contains(&prints(dir.path(), 1, &[&of_v1[..], &agent].concat())?, "not tested: no agent case matches")?;
    let of_none = ["agent", "--protocol", "all", "--case", "v1/agent/init/version-oldest"];
    contains(&prints(dir.path(), 2, &[&of_none[..], &agent].concat())?, "error: no agent case matches")?;
    contains(&prints(dir.path(), 2, &[&common, &["--format", "json"][..], &agent].concat())?, "--format json=FILE")?;
    contains(&prints(dir.path(), 2, &["list", "--protocol", "all"])?, "`agent` and `client`")
}

fn tests_no_refused_version() -> Result<(), Failed> {
    let dir = folder();
    let exists = |version: &str| dir.path().join(format!("r-{version}.json")).exists();
    let run = |code: i32, refused: &str| {
        let common = ["agent", "--protocol", "all", "--case", "*/agent/init/handshake", "--format", "json=r.json"];
        prints(dir.path(), code, &[&common[..], &["--", "sh", "-c", REFUSES, AGENT_OF_BOTH, refused]].concat())
    };
    let said = run(0, "1")?;
    contains(&said, "ACP version 1, schema of 2026-11-20:\nnot tested: the agent did not finish the handshake")?;
    assert!(exists("v2") && !exists("v1"), "{said}");
    let said = run(1, "[12]")?;
    contains(&said, "ACP version 1, schema of 2026-11-20, although it refuses the handshake:\n")?;
    assert!(exists("v1"), "{said}");
    let limited = ["agent", "--protocol", "all", "--case", "*/agent/init/handshake", "--format", "json=l.json"];
    let limited = [&limited[..], &["--time-limit", "15s"], &["--", "sh", "-c", REFUSES, AGENT_OF_BOTH, "2", "silent"]];
    contains(
        &prints(dir.path(), 3, &limited.concat())?,
        "the agent did not finish the handshake: the run was stopped",
    )?;
    assert!(!dir.path().join("l-v2.json").exists());
    Ok(())
}

fn tests_the_newest_version() -> Result<(), Failed> {
    let dir = folder();
    let tested = |subject: &[&str]| -> Result<(String, Value), Failed> {
        let common = ["agent", "--protocol", "newest", "--case", "*/agent/init/handshake", "--format", "json=r.json"];
        let said = prints(dir.path(), 0, &[&common[..], subject].concat())?;
        let report: Value = serde_json::from_str(&std::fs::read_to_string(dir.path().join("r.json"))?)?;
        Ok((said, report["suite"]["edition"].clone()))
    };
    let (_, edition) = tested(&["--", AGENT_OF_BOTH])?;
    assert_eq!(edition, "v2@2026-11-20");
    let (said, edition) = tested(&["--", "sh", "-c", REFUSES, AGENT_OF_BOTH, "2"])?;
    assert_eq!(edition, "v1@2026-11-20");
    contains(&said, "not tested: the agent did not finish the handshake")
}

fn refuses_unknown_editions() -> Result<(), Failed> {
    let dir = folder();
    contains(
        &prints(dir.path(), 2, &["list", "--edition", "v9@2040-01"])?,
        "it knows v1@2026-11-20, v2@2026-11-20, v1@2026-11-02, v2@2026-11-02, tiny@2026-01",
    )?;
    let (_, trace) = tested(dir.path(), 0, MOTTO)?;
    let unknown = std::fs::read_to_string(trace)?.replace("tiny@2026-01", "v9@2040-01");
    std::fs::write(dir.path().join("unknown.jsonl"), unknown)?;
    for command in [&["check", "unknown.jsonl"][..], &["redact", "unknown.jsonl", "--output", "out.jsonl"]] {
        contains(&prints(dir.path(), 2, command)?, "does not know the edition \"v9@2040-01\"")?;
    }
    Ok(())
}
