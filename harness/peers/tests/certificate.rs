//! Certificates of the reference agent: they match, and every change of a file is found and named.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use acp_conformance::certificate::{Integrity, IssueError, Verification, issue, verify};
use acp_conformance::edition::Editions;
use acp_conformance::edition::V1;
use acp_conformance::protocol::sha256;
use acp_conformance::requirement::Level;
use acp_conformance::results::RunReport;
use acp_conformance::trace::{Outcome, Trace, What, file_name};
use acp_conformance::verdict::{Conformance, Verdict};
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::program::said;
use crate::{panicking, program, reference};

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    panicking(
        "certificate",
        &[
            ("a-certificate-matches", matches),
            ("a-case-that-ran-twice-has-both-traces", ran_twice),
            ("what-does-not-conform-has-a-certificate-too", not_conformant),
            ("a-member-that-does-not-follow-is-named", members),
            ("a-changed-report-is-named", made_files),
            ("a-changed-trace-is-named", changed_traces),
            ("a-trace-that-judges-otherwise-is-named", judges_otherwise),
            ("names-missing-unexpected-and-irregular-files", files),
            ("swapped-traces-are-named", swapped),
            ("any-flipped-bit-is-found", flipped),
            ("another-suite-cannot-tell", other_suite),
            ("a-hostile-certificate-leads-nowhere", hostile),
            ("all-cases-or-none", all_cases),
            ("only-its-own-place-is-taken", places),
            ("an-interrupted-run-leaves-nothing", interrupted),
        ],
    )
}

const DIGESTS: &str = "SHA256SUMS";

/// A case whose trace is changed.
const SOME: &str = "v1/agent/cancel/idle";

/// Returns the certificate for all tests.
fn original() -> &'static Path {
    static MADE: OnceLock<TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a folder");
        let out = certify(&dir.path().join("it"), &[], &[reference::AGENT]);
        assert_eq!(out.status.code(), Some(0), "{}", said(&out));
        dir
    });
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| made.path().join("it"))
}

fn command(words: &[&str]) -> Command {
    let mut command = program::command();
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn certify(to: &Path, options: &[&str], agent: &[&str]) -> Output {
    let to = to.to_str().expect("text");
    let words = [&["certify", "agent", "--quiet", "--output", to], options, &["--"], agent];
    command(&words.concat()).output().expect("it runs")
}

/// Returns the exit code of `verify`.
fn exit_of(dir: &Path) -> Option<i32> {
    command(&["verify", dir.to_str().expect("text")]).status().expect("it runs").code()
}

/// A copy of the original, for changes.
struct Copy(TempDir);

impl Copy {
    fn new() -> Self {
        let copy = Self(tempfile::tempdir().expect("a folder"));
        fs::create_dir(copy.file("traces")).expect("a folder");
        for folder in ["", "traces"] {
            for entry in fs::read_dir(original().join(folder)).expect("a folder").flatten() {
                if entry.path().is_file() {
                    fs::copy(entry.path(), copy.file(folder).join(entry.file_name())).expect("a copy");
                }
            }
        }
        copy
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn edit(&self, name: &str, edit: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(self.file(name)).expect("a file");
        edit(&mut bytes);
        fs::write(self.file(name), bytes).expect("it can be written");
    }

    fn edit_text(&self, name: &str, edit: impl FnOnce(&str) -> String) {
        self.edit(name, |bytes| *bytes = edit(std::str::from_utf8(bytes).expect("text")).into_bytes());
    }

    fn report(&self) -> RunReport {
        serde_json::from_slice(&fs::read(self.file("report.json")).expect("a file")).expect("a report")
    }

    /// Changes the report.
    fn edit_report(&self, edit: impl FnOnce(&mut Value)) {
        let mut report = serde_json::from_slice(&fs::read(self.file("report.json")).expect("a file")).expect("JSON");
        edit(&mut report);
        fs::write(self.file("report.json"), format!("{report:#}")).expect("it can be written");
    }

    /// Makes the digests match the files again, like a forger.
    fn forge(&self) {
        let mut names = vec!["report.json".to_owned()];
        for entry in fs::read_dir(self.file("traces")).expect("a folder").flatten() {
            names.push(format!("traces/{}", entry.file_name().to_string_lossy()));
        }
        names.sort();
        let line = |name: &String| Some(format!("{}  {name}\n", sha256(fs::read(self.file(name)).ok()?)));
        fs::write(self.file(DIGESTS), names.iter().filter_map(line).collect::<String>()).expect("it can be written");
    }

    fn verify(&self) -> Verification {
        verify(self.0.path(), &Editions::built_in()).expect("there is a certificate")
    }

    /// Returns the mismatches: for each file all that is wrong with it.
    fn wrong(&self) -> BTreeMap<String, String> {
        let found = self.verify();
        assert_eq!(found.outcome() == Integrity::DoesNotMatch, !found.mismatches.is_empty());
        let mut wrong = BTreeMap::<String, String>::new();
        for mismatch in found.mismatches {
            *wrong.entry(mismatch.file).or_default() += &(mismatch.what + "\n");
        }
        wrong
    }
}

fn file_of(case: &str) -> String {
    format!("traces/{}", file_name(case))
}

/// Checks that exactly these files are named, each with these words.
fn named(wrong: &BTreeMap<String, String>, wanted: &[(&str, &str)]) {
    assert_eq!(wrong.len(), wanted.len(), "{wrong:#?}");
    for (file, words) in wanted {
        assert!(wrong.get(*file).is_some_and(|what| what.contains(words)), "{file}: {words}\n{wrong:#?}");
    }
}

fn matches() {
    let found = verify(original(), &Editions::built_in()).expect("there is a certificate");
    assert_eq!((found.outcome(), found.mismatches.as_slice()), (Integrity::Matches, &[][..]));
    let report = found.report.expect("it was read");
    assert_eq!((found.judged, report.verdict), (report.cases.len(), Conformance::Conformant));
    assert!(report.began.is_some() && report.subject.command.len() == 1);
    let passed = report.requirements.iter().filter(|one| one.level == Level::Must && one.verdict == Verdict::Pass);
    assert!(passed.count() > 200);

    let tool = Command::new("sha256sum").args(["--quiet", "--check", DIGESTS]).current_dir(original()).status();
    assert!(tool.expect("sha256sum runs").success());
    let root = reference::root();
    let content = "{ sha256sum cases/requirements/drafts.yaml cases/requirements/v1.yaml cases/requirements/v1@2026-11-20.yaml; find cases/v1 -name '*.yaml' | LC_ALL=C sort | xargs sha256sum; } | sha256sum";
    let content = Command::new("sh").args(["-c", content]).current_dir(root).output().expect("it runs");
    let content = String::from_utf8_lossy(&content.stdout).split(' ').next().map(str::to_owned);
    assert_eq!(report.suite.content_sha256, content);

    let signed = Copy::new();
    fs::write(signed.file("SHA256SUMS.minisig"), "of another tool").expect("a file");
    let found = signed.verify();
    assert_eq!((found.outcome(), found.signatures.len()), (Integrity::Matches, 1));
    assert_eq!(exit_of(signed.0.path()), Some(0));
}

/// An exit counts only if a second process shows it, so a certificate has the traces of both.
fn ran_twice() {
    let dir = tempfile::tempdir().expect("a folder");
    let to = dir.path().join("it");
    let script = r#"
        while read -r line; do
            id=${line#*'"id":'}; id=${id%%[,\}]*}
            case $line in
            *'"method":"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1}}\n' "$id" ;;
            *'"method":"session/new"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s"}}\n' "$id" ;;
            *'"method":"session/prompt"'*) exit 3 ;;
            *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id" ;;
            esac
        done"#;
    let words = ["certify", "agent", "--quiet", "--output", to.to_str().expect("text"), "--", "sh", "-c", script];
    let out = command(&words).output().expect("it runs");
    assert_eq!(out.status.code(), Some(1), "{}", said(&out));
    let found = verify(&to, &Editions::built_in()).expect("there is a certificate");
    assert_eq!(found.mismatches, []);
    assert!(found.judged > found.report.expect("it was read").cases.len());
}

fn not_conformant() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path().join("deep/it");
    let this = std::env::current_exe().expect("this program").display().to_string();
    let out = certify(&dir, &[], &[&this, "acp-mutant", "agent", "--fault", "cancelled-as-end-turn"]);
    assert_eq!(out.status.code(), Some(1), "{}", said(&out));
    let found = verify(&dir, &Editions::built_in()).expect("there is a certificate");
    assert_eq!(found.mismatches, []);
    let report = found.report.expect("it was read");
    assert_eq!(report.verdict, Conformance::NotConformant);
    assert_eq!(report.subject.command[3], "--fault");
    assert_eq!(exit_of(&dir), Some(0));
}

/// Each fact that follows from the traces is named, even if the digest was updated.
fn members() {
    let copy = Copy::new();
    copy.edit_report(|report| {
        report["subject"]["name"] = "better-agent".into();
        report["subject"]["version"] = Value::Null;
        report["verdict"] = "incomplete".into();
        let cases = report["cases"].as_array_mut().expect("a list");
        cases.iter_mut().find(|case| case["id"] == SOME).expect("a case")["verdict"] = "fail".into();
    });
    copy.forge();
    let wrong = copy.wrong();
    let id = format!("{SOME} is fail, and its traces give pass");
    let says = ["subject.name is better-agent", "subject.version is nothing", "verdict is incomplete", &id];
    assert_eq!(wrong.len(), 1);
    assert!(says.iter().all(|says| wrong["report.json"].contains(says)), "{wrong:#?}");
    copy.edit_report(|report| report["subject"]["kind"] = "client".into());
    copy.forge();
    assert!(copy.wrong()[&file_of(SOME)].contains("it is a trace of something else"));
}

fn made_files() {
    let copy = Copy::new();
    copy.edit_text("report.json", |text| text.replacen("\"verdict\": \"not-exercised\"", "\"verdict\": \"pass\"", 1));
    named(&copy.wrong(), &[("report.json", "its SHA-256 is not that")]);
    copy.forge();
    named(&copy.wrong(), &[("report.json", "is pass, and its traces give not-exercised")]);
    fs::remove_file(copy.file("report.json")).expect("it is there");
    named(&copy.wrong(), &[("report.json", "missing")]);
}

/// Returns the traces of four cases, in the order of their names.
fn four() -> [String; 4] {
    ["v1/agent/cancel/idle", "v1/agent/cancel/meta", "v1/agent/init/handshake", "v1/agent/auth/login"].map(file_of)
}

fn changed_traces() {
    let copy = Copy::new();
    let [line, header, cut, longer] = four();
    copy.edit_text(&line, |text| text.replacen("\"us\":", "\"us\":1", 1));
    copy.edit_text(&header, |text| text.replacen("\"suite\":\"", "\"suite\":\"1", 1));
    copy.edit_text(&cut, |text| text.trim_end().rsplit_once('\n').map(|(rest, _)| format!("{rest}\n")).expect("lines"));
    copy.edit_text(&longer, |text| {
        let n = text.lines().count() - 1;
        format!("{text}{{\"n\":{n},\"us\":99999999999,\"stderr\":\"late\"}}\n")
    });
    let changed = "its SHA-256 is not that";
    named(&copy.wrong(), &[&line, &header, &cut, &longer].map(|file| (file.as_str(), changed)));
    assert_eq!(exit_of(copy.0.path()), Some(1));
    // A forged trace is not a trace of this suite, or does not lead to the report.
    copy.forge();
    let wrong = copy.wrong();
    assert!(wrong[&header].contains("`suite` in its header"), "{wrong:#?}");
    copy.edit_text(&cut, |text| text.replace("\"n\":3", "\"n\":4"));
    assert!(copy.wrong()[&cut].contains("stands at position 3"));
}

fn judges_otherwise() {
    let copy = Copy::new();
    let case = "v1/agent/cancel/while-asking";
    copy.edit_text(&file_of(case), |text| {
        text.replace(r#"\"stopReason\":\"cancelled\""#, r#"\"stopReason\":\"end_turn\""#)
    });
    copy.forge();
    let wrong = copy.wrong();
    assert!(wrong["report.json"].contains(&format!("{case} is pass, and its traces give fail")), "{wrong:#?}");
    assert!(wrong["report.json"].contains("verdict is conformant, and its traces give not-conformant"), "{wrong:#?}");
}

fn files() {
    let copy = Copy::new();
    let [gone, linked, ..] = four();
    fs::remove_file(copy.file(&gone)).expect("it is there");
    fs::rename(copy.file(&linked), copy.file("elsewhere")).expect("it is there");
    symlink(copy.file("elsewhere"), copy.file(&linked)).expect("a link");
    fs::write(copy.file("traces/v1-agent-more.jsonl"), "{}").expect("a file");
    fs::create_dir(copy.file("traces/deeper")).expect("a folder");
    fs::write(copy.file("report.html"), "<p>All is well.").expect("a file");
    rustix::fs::mkfifoat(rustix::fs::CWD, copy.file("traces/pipe"), rustix::fs::Mode::RWXU).expect("a pipe");
    let unexpected = "unexpected: ";
    let wanted = [
        (gone.as_str(), "it is missing"),
        (linked.as_str(), "it is a link"),
        ("elsewhere", unexpected),
        ("traces/v1-agent-more.jsonl", unexpected),
        ("traces/deeper", "a folder has no place here"),
        ("traces/pipe", "not a regular file"),
        ("report.html", unexpected),
    ];
    named(&copy.wrong(), &wanted);

    // A certificate without one of the traces does not cover the whole suite.
    let copy = Copy::new();
    fs::remove_file(copy.file(&gone)).expect("it is there");
    copy.forge();
    assert!(copy.wrong()["report.json"].contains(&format!("the case {SOME} has no trace")));
}

fn swapped() {
    let copy = Copy::new();
    let [a, b, ..] = four();
    fs::rename(copy.file(&a), copy.file("x")).expect("it is there");
    fs::rename(copy.file(&b), copy.file(&a)).expect("it is there");
    fs::rename(copy.file("x"), copy.file(&b)).expect("it is there");
    let other = "it is a trace of something else";
    named(&copy.wrong(), &[(&a, other), (&b, other)]);
    copy.forge();
    let wrong = copy.wrong();
    assert!([&a, &b].iter().all(|file| wrong[*file].contains(other)), "{wrong:#?}");
}

/// Flips one bit of every file at once, repeatedly at other places, and of the digests alone.
fn flipped() {
    let flip = |bytes: &mut Vec<u8>, seed: usize| {
        let bit = seed.wrapping_mul(2_654_435_761) % (bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
    };
    for round in 1..=3 {
        let copy = Copy::new();
        let mut files: Vec<String> = copy.report().cases.iter().map(|case| file_of(&case.id)).collect();
        files.push("report.json".to_owned());
        for (at, file) in files.iter().enumerate() {
            copy.edit(file, |bytes| flip(bytes, round * 1009 + at));
        }
        let wrong = copy.wrong();
        assert!(files.iter().all(|file| wrong.contains_key(file)), "round {round}: {:?}", wrong.keys());
        assert!(!wrong.contains_key(DIGESTS));
    }
    // A test of the library flips every bit of a list of digests.
    let copy = Copy::new();
    copy.edit(DIGESTS, |bytes| flip(bytes, 7));
    assert_ne!(copy.verify().outcome(), Integrity::Matches);
}

fn other_suite() {
    let copy = Copy::new();
    copy.edit_report(|report| {
        report["suite"]["version"] = "99.0.0".into();
        report["suite"]["contentSha256"] = "0".repeat(64).into();
    });
    copy.forge();
    let found = copy.verify();
    assert_eq!((found.outcome(), found.changed.as_slice()), (Integrity::Undecidable, &[][..]));
    let members: Vec<&str> = found.other_suite.iter().map(|other| other.member).collect();
    assert_eq!(members, ["version", "contentSha256"]);
    assert_eq!(exit_of(copy.0.path()), Some(3));

    // The traces are judged by the requirements of this program.
    copy.edit_report(|report| report["requirements"][0]["verdict"] = "fail".into());
    copy.forge();
    let changed: Vec<_> = copy.verify().changed.into_iter().map(|changed| (changed.was, changed.is)).collect();
    assert_eq!(changed, [(Some("fail".to_owned()), Some("pass".to_owned()))]);

    // Changed files can be detected in any case.
    copy.edit("report.json", |bytes| bytes.push(b' '));
    named(&copy.wrong(), &[("report.json", "its SHA-256")]);

    let copy = Copy::new();
    copy.edit_report(|report| report["format"] = "acp-conformance-report/99".into());
    copy.forge();
    let found = copy.verify();
    assert_eq!((found.outcome(), found.other_suite[0].member), (Integrity::Undecidable, "format"));
}

fn hostile() {
    let outside = tempfile::NamedTempFile::new().expect("a file");
    let copy = Copy::new();
    let absolute = outside.path().display().to_string();
    let relative = format!("traces/../../{}", outside.path().file_name().expect("a name").to_string_lossy());
    copy.edit_report(|report| report["subject"]["name"] = "\u{1b}[2J".repeat(100_000).into());
    copy.forge();
    copy.edit_text(DIGESTS, |text| {
        let more = [&absolute, &relative].map(|path| format!("{}  {path}", sha256("")));
        let mut lines: Vec<&str> = text.lines().chain(more.iter().map(String::as_str)).collect();
        lines.sort_by_key(|line| line.split("  ").nth(1));
        lines.join("\n") + "\n"
    });
    let wrong = copy.wrong();
    assert!([&absolute, &relative].iter().all(|path| wrong[*path].contains("missing")), "{wrong:#?}");
    assert!(!wrong.values().any(|what| what.contains('\u{1b}')));
    let out = command(&["verify", copy.0.path().to_str().expect("text")]).output().expect("it runs");
    assert!(!said(&out).contains('\u{1b}') && out.stdout.len() < 20_000);

    let deep = "[".repeat(1 << 20);
    for text in ["", "null", "[]", "{}", "{\"format\":1}", &deep, "\u{feff}{}", "1e999"] {
        fs::write(copy.file("report.json"), text).expect("a file");
        assert!(copy.wrong().contains_key("report.json"), "{text:.20}");
        fs::write(copy.file(DIGESTS), text).expect("a file");
        assert_eq!(copy.verify().outcome(), Integrity::DoesNotMatch, "{text:.20}");
    }
    fs::remove_file(copy.file(DIGESTS)).expect("it is there");
    assert_eq!(exit_of(copy.0.path()), Some(2));
    symlink("/dev/zero", copy.file(DIGESTS)).expect("a link");
    assert!(copy.wrong()[DIGESTS].contains("it is a link"));
}

fn all_cases() {
    let copy = Copy::new();
    fs::remove_file(copy.file(&file_of(SOME))).expect("it is there");
    let run = copy.report();
    let refused = issue(copy.0.path(), &run, &V1).expect_err("one is missing");
    assert!(matches!(refused, IssueError::Missing { count: 1, ref first } if first == SOME), "{refused}");

    // A failed harness has not decided about the subject.
    let copy = Copy::new();
    let mut trace = Trace::read(&fs::read(copy.file(&file_of(SOME))).expect("a file")[..]).expect("a trace");
    let step = trace.events.iter_mut().find_map(|event| match &mut event.what {
        What::Step(step) => Some(step),
        _ => None,
    });
    step.expect("a case has steps").outcome = Outcome::HarnessError;
    let mut file = fs::File::create(copy.file(&file_of(SOME))).expect("a file");
    trace.write(&mut file).and_then(|()| file.flush()).expect("it can be written");
    let refused = issue(copy.0.path(), &run, &V1).expect_err("it did not end");
    assert!(matches!(refused, IssueError::Harness(ref case) if case == SOME), "{refused}");
}

fn places() {
    let copy = Copy::new();
    let before = fs::read(copy.file(DIGESTS)).expect("a file");
    let refused = |options: &[&str], words: &str| {
        let out = certify(copy.0.path(), options, &[reference::AGENT]);
        assert_eq!(out.status.code(), Some(2), "{}", said(&out));
        assert!(said(&out).contains(words), "{}", said(&out));
        assert_eq!(fs::read(copy.file(DIGESTS)).expect("a file"), before);
    };
    refused(&[], "the folder is not empty");
    fs::write(copy.file("notes.txt"), "mine").expect("a file");
    refused(&["--replace"], "notes.txt does not belong to the existing certificate");
    fs::remove_file(copy.file("notes.txt")).expect("it is there");

    let agent = |script: &str| {
        let to = copy.0.path().to_str().expect("text");
        command(&["certify", "agent", "--quiet", "--replace", "--output", to, "--", "sh", "-c", script]).output()
    };
    let other = r#"read hello; printf '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{},
        "authMethods":[],"agentInfo":{"name":"other","version":"1"}}}\n' | tr -d '\n'; echo; cat >/dev/null"#;
    let out = agent(other).expect("it runs");
    assert!(
        said(&out).contains("it holds the certificate of acp-reference-agent, but this one is for other"),
        "{}",
        said(&out)
    );
    // A silent program gets no certificate.
    let out = agent("exit 3").expect("it runs");
    assert!(said(&out).contains("no certificate was written"), "{}", said(&out));
    assert_eq!(fs::read(copy.file(DIGESTS)).expect("a file"), before);

    fs::write(copy.file("SHA256SUMS.sig"), "old").expect("a file");
    let out = certify(copy.0.path(), &["--replace", "--allow-incomplete"], &[reference::AGENT]);
    assert_eq!(out.status.code(), Some(0), "{}", said(&out));
    assert!(!copy.file("SHA256SUMS.sig").exists(), "it was of the old one");
    assert_ne!(fs::read(copy.file(DIGESTS)).expect("a file"), before);
    assert_eq!(copy.verify().outcome(), Integrity::Matches);
}

fn interrupted() {
    let dir = tempfile::tempdir().expect("a folder");
    let [pipe, to] = ["pipe", "it"].map(|name| dir.path().join(name));
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("a pipe");
    let script = r#"echo ready > "$0"; exec cat > /dev/null"#;
    let words = ["certify", "agent", "--output", to.to_str().expect("text"), "--", "sh", "-c", script];
    let child = command(&[&words[..], &[pipe.to_str().expect("text")]].concat()).spawn().expect("it runs");
    assert_eq!(fs::read_to_string(&pipe).expect("it is ready"), "ready\n");
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    let out = child.wait_with_output().expect("it ends");
    assert_eq!(out.status.code(), Some(130), "{}", said(&out));
    let left: Vec<_> = fs::read_dir(dir.path()).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["pipe"]);
}
