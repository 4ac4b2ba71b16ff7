//! Certificates of the reference agent: they match, and every change of a file is found and named.
//!
//! This program is also `certify` and `verify`, as on the command line.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::sync::OnceLock;

use acp_conformance::certificate::{Certificate, Integrity, IssueError, Verification, issue, verify};
use acp_conformance::cli::{Args, ProgramExit, report_error, run};
use acp_conformance::edition::Editions;
use acp_conformance::edition::V1;
use acp_conformance::protocol::sha256;
use acp_conformance::trace::{Outcome, Trace, What, file_name};
use acp_conformance::transport::relay;
use acp_conformance::verdict::{Conformance, Verdict};
use clap::Parser;
use libtest_mimic::{Arguments, Failed, Trial};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

mod reference;

fn main() -> ExitCode {
    if let Some(code) = relay::run_if_asked() {
        return code;
    }
    // Alone, these words select tests.
    let command = std::env::args().nth(1);
    if matches!(command.as_deref(), Some("certify" | "verify")) && std::env::args().len() > 2 {
        return run(Args::parse(), Editions::built_in())
            .unwrap_or_else(|error| {
                report_error(&error);
                ProgramExit::Usage
            })
            .into();
    }
    let trials: [(&str, fn()); 16] = [
        ("a-certificate-matches", matches),
        ("the-same-traces-make-the-same-certificate", same_again),
        ("what-does-not-conform-has-a-certificate-too", not_conformant),
        ("a-member-that-does-not-follow-is-named", members),
        ("a-changed-report-and-badge-are-named", made_files),
        ("a-changed-trace-is-named", changed_traces),
        ("a-trace-that-judges-otherwise-is-named", judges_otherwise),
        ("names-missing-unexpected-and-irregular-files", files),
        ("swapped-traces-are-named", swapped),
        ("any-flipped-bit-is-found", flipped),
        ("another-suite-cannot-tell", other_suite),
        ("an-old-report-of-this-suite-is-intact", old_report),
        ("a-hostile-certificate-leads-nowhere", hostile),
        ("all-cases-or-none", all_cases),
        ("only-its-own-place-is-taken", places),
        ("an-interrupted-run-leaves-nothing", interrupted),
    ];
    let trials = trials.map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok::<(), Failed>(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

/// A case whose trace is changed.
const SOME: &str = "v1/agent/cancel/idle";

/// Returns the certificate for all tests.
fn original() -> &'static Path {
    static MADE: OnceLock<TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a folder");
        let out = certify(&dir.path().join("it"), &[], &[]);
        assert_eq!(out.status.code(), Some(0), "{}", said(&out));
        dir
    });
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| made.path().join("it"))
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn certify(to: &Path, options: &[&str], of_agent: &[&str]) -> Output {
    let to = to.to_str().expect("text");
    let words = [&["certify", "agent", "--quiet", "--output", to], options, &["--", reference::AGENT], of_agent];
    command(&words.concat()).output().expect("it runs")
}

/// Returns the exit code of `verify`.
fn exit_of(dir: &Path) -> Option<i32> {
    command(&["verify", dir.to_str().expect("text")]).status().expect("it runs").code()
}

fn said(out: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
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

    fn certificate(&self) -> Certificate {
        serde_json::from_slice(&fs::read(self.file("certificate.json")).expect("a file")).expect("a certificate")
    }

    /// Makes the certificate match its files again, like a forger.
    fn forge(&self, edit: impl FnOnce(&mut Certificate)) {
        let mut certificate = self.certificate();
        for (name, digest) in &mut certificate.files {
            *digest = sha256(fs::read(self.file(name)).expect("a file"));
        }
        for (case, trace) in &mut certificate.traces {
            if let Ok(bytes) = fs::read(self.file(&file_of(case))) {
                trace.sha256 = sha256(bytes);
            }
        }
        edit(&mut certificate);
        fs::write(self.file("certificate.json"), certificate.sealed().1).expect("it can be written");
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
    let certificate = found.certificate.expect("it was read");
    assert_eq!((found.judged, certificate.traces.len()), (certificate.traces.len(), found.judged));
    assert_eq!(certificate.verdict, Conformance::Conformant);
    assert_eq!((certificate.coverage.must.fail, certificate.subject.command.len()), (0, 1));
    assert!(certificate.coverage.must.pass > 200);

    let schema = fs::read(reference::root().join("schemas/certificate.schema.json")).expect("the schema");
    let schema: serde_json::Value = serde_json::from_slice(&schema).expect("JSON");
    let document = serde_json::to_value(&certificate).expect("JSON");
    for member in schema["required"].as_array().expect("a list") {
        assert!(document.get(member.as_str().expect("a name")).is_some(), "{member}");
    }

    let signed = Copy::new();
    fs::write(signed.file("certificate.json.minisig"), "of another tool").expect("a file");
    let found = signed.verify();
    assert_eq!((found.outcome(), found.signatures.len()), (Integrity::Matches, 1));
    assert_eq!(exit_of(signed.0.path()), Some(0));
}

fn same_again() {
    let copy = Copy::new();
    let files = ["certificate.json", "report.json", "badge.svg"];
    let before = files.map(|name| fs::read(copy.file(name)).expect("a file"));
    let claims = copy.certificate().claims();
    files.iter().for_each(|name| fs::remove_file(copy.file(name)).expect("it is there"));
    issue(copy.0.path(), claims, &V1).expect("a certificate");
    assert!(files.map(|name| fs::read(copy.file(name)).expect("a file")) == before);
}

fn not_conformant() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path().join("deep/it");
    let out = certify(&dir, &["--redact"], &["--fault", "cancel-as-end-turn"]);
    assert_eq!(out.status.code(), Some(1), "{}", said(&out));
    let found = verify(&dir, &Editions::built_in()).expect("there is a certificate");
    assert_eq!(found.mismatches, []);
    let certificate = found.certificate.expect("it was read");
    assert_eq!((certificate.verdict, certificate.redacted), (Conformance::NotConformant, true));
    assert!(certificate.coverage.must.fail > 0);
    assert_eq!(certificate.subject.command[1], "--fault");
    assert_ne!(certificate.subject.command[2], "cancel-as-end-turn", "words are redacted");
    assert_eq!(exit_of(&dir), Some(0));
}

/// Each member that follows from the traces is named, even if the digest was updated.
fn members() {
    let copy = Copy::new();
    copy.forge(|it| {
        it.subject.name = Some("better-agent".to_owned());
        it.subject.version = None;
        it.verdict = Conformance::Incomplete;
        it.coverage.must.pass += 1;
        it.coverage.should.not_exercised -= 1;
        it.traces.get_mut(SOME).expect("a case").verdict = Verdict::Fail;
    });
    let wrong = copy.wrong();
    let says = "is pass, and the certificate says fail";
    named(&wrong, &[("certificate.json", "`verdict` is"), (&file_of(SOME), says)]);
    for member in ["subject.name", "subject.version", "coverage.must.pass", "coverage.should.notExercised"] {
        assert!(wrong["certificate.json"].contains(&format!("`{member}`")), "{member}: {wrong:#?}");
    }
    copy.forge(|it| it.subject.kind = acp_conformance::requirement::Party::Client);
    assert!(copy.wrong()["certificate.json"].contains("unknown case"));

    // With a wrong digest, every change is found, including claims that do not follow from the traces.
    let copy = Copy::new();
    copy.edit_text("certificate.json", |text| text.replacen("\"began\": \"2", "\"began\": \"1", 1));
    named(&copy.wrong(), &[("certificate.json", "`digest`")]);
}

fn made_files() {
    let copy = Copy::new();
    copy.edit_text("report.json", |text| text.replacen("\"verdict\": \"not-exercised\"", "\"verdict\": \"pass\"", 1));
    copy.edit_text("badge.svg", |text| text.replace("conformant", "incomplete"));
    let changed = "its SHA-256 is not that";
    let wrong = copy.wrong();
    named(&wrong, &[("badge.svg", changed), ("report.json", changed)]);
    let follows = "it does not follow from the traces";
    copy.forge(|_| ());
    named(&copy.wrong(), &[("badge.svg", follows), ("report.json", follows)]);
    fs::remove_file(copy.file("badge.svg")).expect("it is there");
    fs::remove_file(copy.file("report.json")).expect("it is there");
    named(&copy.wrong(), &[("badge.svg", "missing"), ("report.json", "missing")]);
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
    copy.forge(|_| ());
    let wrong = copy.wrong();
    assert!(wrong[&header].contains("in its header `suite`"), "{wrong:#?}");
    assert!(wrong["report.json"].contains("it does not follow from the traces"), "{wrong:#?}");
    copy.edit_text(&cut, |text| text.replace("\"n\":3", "\"n\":4"));
    assert!(copy.wrong()[&cut].contains("stands at position 3"));
}

fn judges_otherwise() {
    let copy = Copy::new();
    let case = "v1/agent/cancel/while-asking";
    copy.edit_text(&file_of(case), |text| {
        text.replace(r#"\"stopReason\":\"cancelled\""#, r#"\"stopReason\":\"end_turn\""#)
    });
    copy.forge(|_| ());
    let wrong = copy.wrong();
    assert!(wrong[&file_of(case)].contains("is fail, and the certificate says pass"), "{wrong:#?}");
    assert!(wrong["certificate.json"].contains("`verdict` is \"conformant\", and would be \"not-conformant\""));
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
        ("report.html", "it was changed"),
    ];
    named(&copy.wrong(), &wanted);

    // A certificate without one of the traces does not cover the whole suite.
    let copy = Copy::new();
    fs::remove_file(copy.file(&gone)).expect("it is there");
    copy.forge(|it| {
        it.traces.remove(SOME);
    });
    assert!(copy.wrong()["certificate.json"].contains(&format!("no trace of the case {SOME}")));
}

fn swapped() {
    let copy = Copy::new();
    let [a, b, ..] = four();
    fs::rename(copy.file(&a), copy.file("x")).expect("it is there");
    fs::rename(copy.file(&b), copy.file(&a)).expect("it is there");
    fs::rename(copy.file("x"), copy.file(&b)).expect("it is there");
    let other = "it is a trace of something else: in its header `case` is";
    named(&copy.wrong(), &[(&a, other), (&b, other)]);
    copy.forge(|_| ());
    let wrong = copy.wrong();
    assert!([&a, &b].iter().all(|file| wrong[*file].contains(other)), "{wrong:#?}");
}

/// Flips one bit of every file at once, repeatedly at other places, and of the certificate alone.
fn flipped() {
    let flip = |bytes: &mut Vec<u8>, seed: usize| {
        let bit = seed.wrapping_mul(2_654_435_761) % (bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
    };
    for round in 1..=3 {
        let copy = Copy::new();
        let certificate = copy.certificate();
        let mut files: Vec<String> = certificate.traces.keys().map(|case| file_of(case)).collect();
        files.extend(certificate.files.into_keys());
        for (at, file) in files.iter().enumerate() {
            copy.edit(file, |bytes| flip(bytes, round * 1009 + at));
        }
        let wrong = copy.wrong();
        assert!(files.iter().all(|file| wrong.contains_key(file)), "round {round}: {:?}", wrong.keys());
        assert!(!wrong.contains_key("certificate.json"));
    }
    // A test of the library flips every bit of a certificate.
    let copy = Copy::new();
    copy.edit("certificate.json", |bytes| flip(bytes, 7));
    assert!(copy.wrong().contains_key("certificate.json"));
}

fn other_suite() {
    let copy = Copy::new();
    let of_newer = |it: &mut Certificate| {
        it.suite.version = "99.0.0".to_owned();
        it.suite.cases_sha256 = "0".repeat(64);
    };
    copy.forge(of_newer);
    let found = copy.verify();
    assert_eq!((found.outcome(), found.changed.as_slice()), (Integrity::CannotBeTold, &[][..]));
    let members: Vec<&str> = found.other_suite.iter().map(|other| other.member).collect();
    assert_eq!(members, ["version", "casesSha256"]);
    assert_eq!(exit_of(copy.0.path()), Some(3));

    // The traces are checked by the requirements of this program.
    copy.edit_text("report.json", |text| text.replacen("\"verdict\": \"pass\"", "\"verdict\": \"fail\"", 1));
    copy.forge(|it| it.traces.get_mut(SOME).expect("a case").verdict = Verdict::Fail);
    let changed: Vec<_> = copy.verify().changed.into_iter().map(|changed| (changed.was, changed.is)).collect();
    let change = (Some("fail".to_owned()), Some("pass".to_owned()));
    assert_eq!(changed, [change.clone(), change]);

    // Changed files can be detected in any case.
    copy.edit("badge.svg", |bytes| bytes.push(b' '));
    named(&copy.wrong(), &[("badge.svg", "its SHA-256")]);

    let copy = Copy::new();
    copy.forge(|it| it.format = "acp-conformance-certificate/2".to_owned());
    let found = copy.verify();
    assert_eq!((found.outcome(), found.other_suite[0].member), (Integrity::CannotBeTold, "format"));
}

fn old_report() {
    let copy = Copy::new();
    copy.edit_text("report.json", |text| text.replacen("acp-conformance-report/2", "acp-conformance-report/1", 1));
    copy.forge(|_| ());
    let verified = || command(&["verify", copy.0.path().to_str().expect("text")]).output().expect("it runs");
    let out = verified();
    assert!(out.status.code() == Some(0) && said(&out).contains("not compared"), "{}", said(&out));
    assert_eq!(copy.verify().outcome(), Integrity::Intact);

    // A missing case is detected if the suite is this one.
    fs::remove_file(copy.file(&file_of(SOME))).expect("it is there");
    copy.forge(|it| {
        it.traces.remove(SOME);
    });
    assert!(copy.wrong()["certificate.json"].contains(&format!("no trace of the case {SOME}")));
    assert_eq!(exit_of(copy.0.path()), Some(1));
    let forged: [fn(&mut Certificate); 2] =
        [|it| it.suite.cases_sha256 = "0".repeat(64), |it| it.suite.version.push('0')];
    for forged in forged {
        copy.forge(forged);
        let out = verified();
        assert_eq!(out.status.code(), Some(3), "{}", said(&out));
        assert!(said(&out).contains("cases may be missing"), "{}", said(&out));
    }

    let copy = Copy::new();
    let [file, ..] = four();
    copy.edit_text("report.json", |text| text.replacen("acp-conformance-report/2", "acp-conformance-report/1", 1));
    copy.edit_text(&file, |text| text.replacen("\"suite\":\"", "\"suite\":\"1", 1));
    copy.forge(|_| ());
    assert!(copy.wrong()[&file].contains("in its header `suite`"));
}

fn hostile() {
    let outside = tempfile::NamedTempFile::new().expect("a file");
    let copy = Copy::new();
    let absolute = outside.path().display().to_string();
    let relative = format!("traces/../../{}", outside.path().file_name().expect("a name").to_string_lossy());
    copy.forge(|it| {
        for path in [&absolute, &relative] {
            it.files.insert(path.clone(), sha256(""));
            let mark = it.traces[SOME].clone();
            it.traces.insert(path.clone(), mark);
        }
        it.subject.name = Some("\u{1b}[2J".repeat(100_000));
    });
    let wrong = copy.wrong();
    assert!([&absolute, &relative].iter().all(|path| wrong[*path].contains("missing")), "{wrong:#?}");
    assert!(!wrong.values().any(|what| what.contains('\u{1b}')));
    let out = command(&["verify", copy.0.path().to_str().expect("text")]).output().expect("it runs");
    assert!(!said(&out).contains('\u{1b}') && out.stdout.len() < 20_000);

    let deep = "[".repeat(1 << 20);
    for text in ["", "null", "[]", "{}", "{\"format\":1}", "{\"digest\":\"\"}", &deep, "\u{feff}{}", "1e999"] {
        fs::write(copy.file("certificate.json"), text).expect("a file");
        assert!(copy.wrong().contains_key("certificate.json"), "{text:.20}");
    }
    fs::remove_file(copy.file("certificate.json")).expect("it is there");
    assert_eq!(exit_of(copy.0.path()), Some(2));
    symlink("/dev/zero", copy.file("certificate.json")).expect("a link");
    assert!(copy.wrong()["certificate.json"].contains("it is a link"));
}

fn all_cases() {
    let copy = Copy::new();
    fs::remove_file(copy.file(&file_of(SOME))).expect("it is there");
    let claims = copy.certificate().claims();
    let refused = issue(copy.0.path(), claims.clone(), &V1).expect_err("one is missing");
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
    let refused = issue(copy.0.path(), claims, &V1).expect_err("it did not end");
    assert!(matches!(refused, IssueError::Harness(ref case) if case == SOME), "{refused}");
}

fn places() {
    let copy = Copy::new();
    let before = fs::read(copy.file("certificate.json")).expect("a file");
    let refused = |options: &[&str], words: &str| {
        let out = certify(copy.0.path(), options, &[]);
        assert_eq!(out.status.code(), Some(2), "{}", said(&out));
        assert!(said(&out).contains(words), "{}", said(&out));
        assert_eq!(fs::read(copy.file("certificate.json")).expect("a file"), before);
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
    assert_eq!(fs::read(copy.file("certificate.json")).expect("a file"), before);

    fs::write(copy.file("certificate.json.sig"), "old").expect("a file");
    let out = certify(copy.0.path(), &["--replace", "--allow-incomplete"], &[]);
    assert_eq!(out.status.code(), Some(0), "{}", said(&out));
    assert!(!copy.file("certificate.json.sig").exists(), "it was of the old one");
    assert_ne!(fs::read(copy.file("certificate.json")).expect("a file"), before);
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
