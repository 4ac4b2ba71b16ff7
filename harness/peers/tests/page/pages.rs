//! The pages for the test, made by the command line like those of a user.

use std::path::PathBuf;

use acp_conformance::edition::V1;
use acp_conformance::requirement::Party;
use acp_conformance_mutants::fault::Fault;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program;
use crate::reference::Mutant;

/// Returns options that run the cases of a fault, each alone.
fn cases_of(fault: &str) -> Result<Vec<String>, String> {
    let cases = Fault::find(fault, Party::Agent)?.file.case.items.into_iter();
    let cases = cases.flat_map(|(_, case)| ["--case".to_owned(), case]);
    Ok(std::iter::once("--isolate".to_owned()).chain(cases).collect())
}

const AGENT: &str = env!("CARGO_BIN_EXE_acp-reference-agent");

/// A text that is harmless unless it becomes markup.
pub(crate) const HOSTILE: &str =
    "</script><img src=x onerror=window.hit=1><!--<script>\u{2028}\u{2029}\u{202e}{{head}}'\"`&lt;";

/// The reason of an expected failure.
pub(crate) const REASON: &str = "it is <b>known</b> to lie";

/// A folder with the pages and the reports that they show.
pub(crate) struct Pages {
    folder: TempDir,
}

impl Pages {
    pub(crate) fn make() -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let pages = Self { folder };
        pages.drive("kept", &["--case", "cancel", "--case", "fs/read"])?;
        let broken = Mutant::new(Party::Agent, &["--fault", "cancelled-as-end-turn"]);
        pages.drive_agent(&broken.path(), "broken", &cases_of("cancelled-as-end-turn")?)?;
        let member = "agent-info-without-version";
        let mutant = Mutant::new(Party::Agent, &["--fault", member]);
        pages.drive_agent(&mutant.path(), "member", &cases_of(member)?)?;
        let entry = format!("[[expected]]\nrequirement = 'cancel.stop-reason'\nreason = '{REASON}'\n");
        std::fs::write(pages.path("expected.toml"), entry).map_err(|error| error.to_string())?;
        let file = pages.text("expected.toml");
        let options = ["--isolate", "--case", "cancel", "--expected", &file].map(str::to_owned);
        pages.drive_agent(&broken.path(), "expected", &options)?;
        std::fs::write(pages.path("hostile.jsonl"), hostile_trace()).map_err(|error| error.to_string())?;
        pages.cli(&["check", "--html", &pages.text("hostile.html"), &pages.text("hostile.jsonl")])?;
        for party in ["agent", "client"] {
            let json = format!("json={}", pages.text(&format!("hostile-{party}.json")));
            pages.cli(&["check", "--subject", party, "--format", &json, &pages.text("hostile.jsonl")])?;
        }
        let reports = ["kept.json", "broken.json"].map(|name| pages.text(name));
        let mut over_ws = pages.report("kept.json")?;
        over_ws["suite"]["transport"] = "ws".into();
        std::fs::write(pages.path("ws.json"), over_ws.to_string()).map_err(|error| error.to_string())?;
        let more = ["ws.json", "hostile-agent.json", "hostile-client.json"].map(|name| pages.text(name));
        let board = pages.text("board");
        let reports: Vec<&str> = reports.iter().chain(&more).map(String::as_str).collect();
        pages.cli(&[&["board", "--docs", "..", "-o", &board], &reports[..]].concat())?;
        Ok(pages)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn report(&self, name: &str) -> Result<Value, String> {
        let text = std::fs::read_to_string(self.path(name)).map_err(|error| error.to_string())?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn drive(&self, name: &str, selected: &[&str]) -> Result<(), String> {
        let selected: Vec<String> = selected.iter().map(|&word| word.to_owned()).collect();
        self.drive_agent(AGENT, name, &selected)
    }

    fn drive_agent(&self, agent: &str, name: &str, selected: &[String]) -> Result<(), String> {
        let to = |extension: &str| self.text(&format!("{name}.{extension}"));
        let (page, traces) = (to("html"), to("traces"));
        let json = format!("json={}", to("json"));
        let outputs = ["--html", &page, "--format", &json, "--trace-dir", &traces];
        let selected: Vec<&str> = selected.iter().map(String::as_str).collect();
        self.cli(&[&["agent"], &selected[..], &outputs, &["--", agent]].concat())
    }

    /// Runs the program.
    fn cli(&self, words: &[&str]) -> Result<(), String> {
        let output = program::command().args(words).output().map_err(|error| error.to_string())?;
        // Some of the pages show violations, so the program may exit with 1.
        match output.status.code() {
            Some(0 | 1 | 3) => Ok(()),
            code => Err(format!("{words:?} ends with {code:?}: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }
}

/// Builds a recording in which every text of a subject is hostile, and some messages are wrong.
fn hostile_trace() -> String {
    let line =
        |n: usize, from: &str, message: Value| json!({ "n": n, "us": n, "from": from, "line": message.to_string() });
    let header =
        json!({ "format": "acp-conformance-trace/2", "suite": HOSTILE, "edition": V1.name(), "command": [HOSTILE] });
    let about = json!({ "name": HOSTILE, "title": HOSTILE, "version": HOSTILE });
    let events = [
        line(
            0,
            "client",
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": 1, "clientInfo": about } }),
        ),
        line(
            1,
            "agent",
            json!({ "jsonrpc": "2.0", "id": 0, "result": { "protocolVersion": 1, "agentInfo": about, "agentCapabilities": {} } }),
        ),
        json!({ "n": 2, "us": 2, "stderr": HOSTILE }),
        line(3, "agent", json!({ "jsonrpc": "2.0", "method": HOSTILE, "params": { HOSTILE: HOSTILE } })),
        json!({ "n": 4, "us": 4, "from": "agent", "line": HOSTILE }),
        json!({ "n": 5, "us": 5, "mcp": { "server": HOSTILE, "over": "stdio", "what": { "from-agent": HOSTILE } } }),
        json!({ "n": 6, "us": 6, "visit": { "method": HOSTILE, "url": HOSTILE, "headers": [] } }),
        json!({ "n": 7, "us": 7, "process": { "agent-signalled": HOSTILE } }),
        json!({ "n": 8, "us": 8, "step": { "kind": "must", "line": 1, "text": HOSTILE, "outcome": "contradicted",
            "expected": { "message": { "result": { "method": HOSTILE, "pattern": { "a": HOSTILE } } } },
            "observed": { "problem": HOSTILE }, "events": [9] } }),
        line(9, "agent", json!({ "jsonrpc": "2.0", "id": HOSTILE, "result": { HOSTILE: HOSTILE } })),
        line(
            10,
            "client",
            json!({ "jsonrpc": "2.0", "id": HOSTILE, "method": "session/new", "params": { "cwd": HOSTILE, "mcpServers": [] } }),
        ),
        line(11, "agent", json!({ "jsonrpc": "2.0", "id": HOSTILE, "error": { "code": HOSTILE, "message": HOSTILE } })),
    ];
    let lines = [header].into_iter().chain(events).map(|line| format!("{line}\n"));
    lines.collect()
}

/// Counts the requirements or cases of a report that `wanted` accepts.
pub(crate) fn count(report: &Value, list: &str, wanted: impl Fn(&Value) -> bool) -> usize {
    report[list].as_array().into_iter().flatten().filter(|one| wanted(one)).count()
}

pub(crate) fn area(requirement: &Value) -> &str {
    requirement["id"].as_str().and_then(|id| id.split('.').next()).unwrap_or_default()
}
