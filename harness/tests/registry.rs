//! `registry`: small local registries whose agents are shell scripts. Package managers are scripts too, so that no test
//! needs a network.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use acp_conformance::registry;
use libtest_mimic::Trial;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::commands::{code, program};

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    trials![
        "registry":
        entries_are_tested_once_and_changes_are_shown,
        entries_that_cannot_be_tested_have_a_reason,
        an_entry_without_a_profile_gets_the_settings_that_lead_to_the_model,
        a_limit_keeps_what_was_decided,
        packages_are_installed_by_their_package_managers,
        shards_are_collected,
        wrong_registries_are_usage_errors,
    ]
}

/// An agent that answers `initialize` with the login methods in LOGINS, and everything else with an error. It exits at
/// once if it sees a secret of the user.
const AGENT: &str = r#"#!/bin/sh
[ -z "$SECRET_TOKEN" ] || exit 7
while read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*"id":\([^,}]*\).*/\1/')
    case $line in
    *'"method":"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"agentCapabilities":{},"authMethods":[LOGINS]}}\n' "$id" ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id" ;;
    esac
done
"#;

const LOGIN: &str = r#"{"id":"x","name":"X"}"#;

/// A folder with a registry and its archives.
struct Fixture {
    dir: TempDir,
    entries: Vec<Value>,
}

impl Fixture {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a folder"), entries: Vec::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Adds or replaces an entry.
    fn entry(&mut self, id: &str, version: &str, distribution: &Value) {
        self.entries.retain(|entry| entry["id"] != id);
        let entry = json!({ "id": id, "name": format!("Agent {id}"), "version": version, "description": "x", "distribution": distribution });
        self.entries.push(entry);
        let index = json!({ "version": "1.0.0", "agents": self.entries, "extensions": [] });
        fs::write(self.path("registry.json"), index.to_string()).expect("a registry");
    }

    /// Adds an entry with an archive that contains this script, and returns the digest of the archive.
    fn script(&mut self, id: &str, version: &str, script: &str, sha256: Option<&str>) {
        let (folder, archive) = (self.path("archive"), self.path(&format!("{id}-{version}.tar.gz")));
        fs::create_dir_all(&folder).expect("a folder");
        executable(&folder.join("agent"), script);
        let tar = Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(&folder).arg("agent").status();
        assert!(tar.expect("tar").success());
        let digest = acp_conformance::protocol::sha256(fs::read(&archive).expect("an archive"));
        let target = json!({
            "archive": format!("file://{}", archive.display()), "sha256": sha256.unwrap_or(&digest), "cmd": "./agent",
        });
        let platform = registry::platform();
        self.entry(id, version, &json!({ "binary": { platform: target } }));
    }

    fn run(&self, options: &[&str]) -> Output {
        let (cache, output) = (self.path("cache"), self.path("out"));
        let mut command = program(&["registry", "registry.json", "--quick", "--jobs", "2"], self.dir.path());
        command.args(options).arg("--cache").arg(cache);
        if !options.contains(&"-o") {
            command.arg("-o").arg(output);
        }
        let path = std::env::var("PATH").expect("PATH");
        command.env("SECRET_TOKEN", "x").env("PATH", format!("{}:{path}", self.path("bin").display()));
        command.output().expect("the program runs")
    }

    /// Runs the registry and returns the standard output and the error output.
    fn texts(&self, options: &[&str]) -> (String, String) {
        let output = self.run(options);
        let [said, noted] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        assert_eq!(code(&output), 0, "{said}{noted}");
        (said, noted)
    }

    fn results(&self) -> Value {
        self.read("results.json", &registry::schema())
    }

    /// Reads a file of the results, and compares it with its schema.
    fn read(&self, name: &str, schema: &Value) -> Value {
        let text = fs::read_to_string(self.path("out").join(name)).expect("a file");
        let value = serde_json::from_str(&text).expect("JSON");
        let schema = jsonschema::validator_for(schema).expect("a sound schema");
        let problems: Vec<String> = schema.iter_errors(&value).map(|problem| problem.to_string()).collect();
        assert!(problems.is_empty(), "{problems:#?}");
        value
    }

    fn result(&self, id: &str) -> Value {
        let results = self.results();
        let entries = results["entries"].as_array().expect("entries");
        entries.iter().find(|entry| entry["id"] == id).expect("the entry").clone()
    }
}

fn executable(file: &Path, text: &str) {
    fs::write(file, text).expect("a file");
    fs::set_permissions(file, Permissions::from_mode(0o755)).expect("permissions");
}

fn with_logins(logins: &str) -> String {
    AGENT.replace("LOGINS", logins)
}

fn entries_are_tested_once_and_changes_are_shown() {
    let mut fixture = Fixture::new();
    fixture.script("a", "1.0.0", &with_logins(LOGIN), None);
    let (said, noted) = fixture.texts(&["--traces"]);
    let tested = fixture.result("a");
    assert_eq!(tested["outcome"], "tested", "{said}{noted}");
    assert_eq!((&tested["login"]["verdict"], &tested["login"]["types"]), (&json!("met"), &json!(["agent"])));
    assert_eq!(tested["editions"].as_array().map(Vec::len), Some(1), "{tested}");
    assert_eq!(fixture.results()["changes"], json!([]));
    for file in ["out/reports/a-v1.json", "out/board/index.html", "out/board.md", "out/feed.xml", "out/registry.lock"] {
        assert!(fixture.path(file).is_file(), "{file}");
    }
    let lock = fixture.read("registry.lock", &registry::lock_schema());
    let digest = lock["entries"]["a"]["digest"].as_str().expect("a digest");
    assert!(digest.starts_with("sha256-"), "{lock}");
    let traces = fs::read_dir(fixture.path("out/traces/a")).expect("traces");
    assert!(traces.flatten().any(|file| file.path().extension().is_some_and(|end| end == "jsonl")), "no trace");

    let (said, noted) = fixture.texts(&[]);
    assert!(noted.contains("1 entry with results; --again tests them again"), "{noted}");
    assert!(said.contains("No changes since"), "{said}");
    assert_eq!(fixture.result("a"), tested);

    fixture.script("a", "1.1.0", &with_logins(""), None);
    let (said, _) = fixture.texts(&[]);
    assert!(said.contains("Agent a (a)\n  version: 1.0.0 → 1.1.0\n  login rule: met → not met\n"), "{said}");
    let feed = fs::read_to_string(fixture.path("out/feed.xml")).expect("a feed");
    assert!(feed.contains("version: 1.0.0 → 1.1.0"), "{feed}");
    let (said, _) = fixture.texts(&[]);
    assert!(said.contains("No changes since"), "{said}");
    assert_eq!(fixture.results()["changes"].as_array().map(Vec::len), Some(2));
}

fn entries_that_cannot_be_tested_have_a_reason() {
    let mut fixture = Fixture::new();
    let digest = "0".repeat(64);
    fixture.script("digest", "1.0.0", AGENT, Some(&digest));
    fixture.entry(
        "elsewhere",
        "1.0.0",
        &json!({ "binary": { "plan9-mips": { "archive": "https://a/b", "cmd": "a" } } }),
    );
    fixture.entry("mistaken", "1.0.0", &json!({ "npx": { "args": [] } }));
    fixture.script("crash", "1.0.0", "#!/bin/sh\necho 'no licence' >&2; exit 3\n", None);
    fixture.script("silent", "1.0.0", "#!/bin/sh\ntrap '' TERM INT\nexec sleep 1000\n", None);
    let (said, noted) = fixture.texts(&["--time-limit", "2s"]);
    for (id, outcome, reason) in [
        ("digest", "not-installed", "the SHA-256 of"),
        ("elsewhere", "not-installed", "no distribution for"),
        ("mistaken", "not-installed", "mistake in the entry: missing field `package`"),
        ("crash", "not-started", ""),
        ("silent", "not-started", ""),
    ] {
        let result = fixture.result(id);
        assert_eq!(result["outcome"], outcome, "{result}\n{noted}");
        assert!(result["reason"].as_str().is_some_and(|text| text.contains(reason)), "{result}");
        assert!(said.contains(&outcome.replace('-', " ")), "{said}");
    }
    assert_eq!(fixture.result("crash")["stderr"], json!(["no licence"]));
    assert_eq!(fixture.result("silent")["login"]["verdict"], "not-met");
    let board = fs::read_to_string(fixture.path("out/board/index.html")).expect("a board");
    assert!(board.contains("Agent digest") && board.contains("no licence"));
}

fn an_entry_without_a_profile_gets_the_settings_that_lead_to_the_model() {
    let mut fixture = Fixture::new();
    let calls_tool = r#"    case $line in
    *'"method":"session/new"'*)
        printf '{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s"}}\n' "$id"
        continue ;;
    *'"method":"session/prompt"'*)
        [ "$OPENAI_BASE_URL" ] && printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"T"}}}\n{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}\n' "$id" && continue ;;
    esac
    case $line in"#;
    let with_model = with_logins(LOGIN).replacen("    case $line in", calls_tool, 1);
    fixture.script("with-model", "1.0.0", &with_model, None);
    fixture.script("without", "1.0.0", &with_logins(LOGIN), None);
    let (said, noted) = fixture.texts(&[]);
    let result = fixture.result("with-model");
    assert_eq!(result["profile"], "profiles/with-model.toml", "{said}{noted}{result}");
    let profile = fs::read_to_string(fixture.path("out/profiles/with-model.toml")).expect("a profile");
    assert!(profile.contains(r#"OPENAI_BASE_URL = "{model}"#), "{profile}");
    let report = fs::read_to_string(fixture.path("out/reports/with-model-v1.json")).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let requirements = report["requirements"].as_array().expect("requirements");
    let verdict = |id: &str| &requirements.iter().find(|one| one["id"] == id).expect("a requirement")["verdict"];
    assert_eq!(verdict("tool.title"), "pass");
    let without = fixture.result("without");
    assert_eq!((without.get("profile"), &without["outcome"]), (None, &json!("tested")), "{without}");
    assert!(!fixture.path("out/profiles/without.toml").exists());
}

/// Memory and processes are known on Linux only.
fn a_limit_keeps_what_was_decided() {
    if cfg!(not(target_os = "linux")) {
        return;
    }
    let mut fixture = Fixture::new();
    let hungry = with_logins(LOGIN).replace(
        r#"    case $line in"#,
        r#"    case $line in *'"method":"session/new"'*) for i in 1 2 3 4 5 6 7 8; do sleep 1000 & done ;; esac
    case $line in"#,
    );
    fixture.script("hungry", "1.0.0", &hungry, None);
    let (said, noted) = fixture.texts(&["--processes", "30"]);
    let result = fixture.result("hungry");
    assert_eq!(result["outcome"], "tested", "{result}\n{noted}");
    assert_eq!(result["reason"], "the agent ran more than 30 processes", "{result}");
    assert!(said.contains("partial: the agent ran more than 30 processes"), "{said}");
}

/// A package manager that installs the agent for the command lines of this program.
const NPM: &str = r#"#!/bin/sh
[ "$1" = install ] && [ "$2" = --prefix ] && [ -z "$SECRET_TOKEN" ] || exit 1
for last; do :; done
[ "$last" = "@a/b@1.0.0" ] || { echo "no package $last" >&2; exit 1; }
mkdir -p "$3/node_modules/@a/b" "$3/node_modules/.bin"
echo '{"dependencies":{"@a/b":"1.0.0"}}' > "$3/package.json"
echo '{"packages":{"node_modules/@a/b":{"integrity":"sha512-x"}}}' > "$3/package-lock.json"
echo '{"bin":{"b":"b.js","c":"c.js"}}' > "$3/node_modules/@a/b/package.json"
cp "SCRIPT" "$3/node_modules/.bin/b"
"#;

const UV: &str = r#"#!/bin/sh
[ "$1" = tool ] || exit 0
for last; do :; done
[ "$last" = "c-d==2.0.0" ] || { echo "no package $last" >&2; exit 1; }
info="$UV_TOOL_DIR/c-d/lib/python3.12/site-packages/c_d-2.0.0.dist-info"
mkdir -p "$info" "$UV_TOOL_DIR/c-d/bin"
printf '[console_scripts]\nother = x:y\nc-d = x:z\n' > "$info/entry_points.txt"
cp "SCRIPT" "$UV_TOOL_DIR/c-d/bin/c-d"
"#;

fn packages_are_installed_by_their_package_managers() {
    let mut fixture = Fixture::new();
    let (script, bin) = (fixture.path("script"), fixture.path("bin"));
    executable(&script, &with_logins(LOGIN));
    fs::create_dir(&bin).expect("a folder");
    for (name, text) in [("npm", NPM), ("uv", UV)] {
        executable(&bin.join(name), &text.replace("SCRIPT", &script.display().to_string()));
    }
    fixture.entry("npx", "1.0.0", &json!({ "npx": { "package": "@a/b" } }));
    fixture.entry("uvx", "2.0.0", &json!({ "uvx": { "package": "c-d", "args": ["acp"], "env": { "A": "b" } } }));
    fixture.entry("missing", "1.0.0", &json!({ "npx": { "package": "missing" } }));
    let (said, noted) = fixture.texts(&[]);
    for id in ["npx", "uvx"] {
        assert_eq!(fixture.result(id)["outcome"], "tested", "{said}{noted}");
    }
    let missing = fixture.result("missing");
    assert_eq!((&missing["outcome"], &missing["reason"]), (&json!("not-installed"), &json!("npm exited with code 1")));
    assert_eq!(missing["stderr"], json!(["no package missing@1.0.0"]));
    let (said, _) = fixture.texts(&["--list"]);
    assert!(said.contains("uvx c-d") && said.contains("npx @a/b"), "{said}");
}

fn shards_are_collected() {
    let mut fixture = Fixture::new();
    for id in ["a", "b", "c"] {
        fixture.entry(id, "1.0.0", &json!({ "binary": {} }));
    }
    for (number, folder) in [("1/2", "one"), ("2/2", "out")] {
        fixture.texts(&["--shard", number, "-o", &fixture.path(folder).display().to_string()]);
    }
    for file in ["a", "c"].map(|id| format!("entries/{id}.json")) {
        fs::copy(fixture.path("one").join(&file), fixture.path("out").join(&file)).expect("a copy");
    }
    let (said, _) = fixture.texts(&["--collect"]);
    assert_eq!(fixture.results()["entries"].as_array().map(Vec::len), Some(3), "{said}");
}

fn wrong_registries_are_usage_errors() {
    let mut fixture = Fixture::new();
    fixture.entry("agent-a", "1.0.0", &json!({ "binary": {} }));
    let error = |options: &[&str]| {
        let output = fixture.run(options);
        assert_eq!(code(&output), 2);
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(error(&["--only", "agent-b"]).contains("no such entry; did you mean `agent-a`?"));
    for (text, wanted) in
        [("{", "is not JSON"), ("{}", "neither `agents` nor an `id`"), (r#"{"agents":[]}"#, "no entries")]
    {
        fs::write(fixture.path("registry.json"), text).expect("a file");
        let error = error(&[]);
        assert!(error.contains(wanted), "{error}");
    }
}
