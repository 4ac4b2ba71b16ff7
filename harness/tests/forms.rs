//! The forms of the report for other programs, read by independent readers: XML and JUnit parsers, a Markdown
//! parser, our published schema of the events. All texts of the subject are as hostile as possible.

mod made_up;
mod readers;

use std::collections::BTreeMap;
use std::time::Duration;

use self::made_up::{LONG, NASTY, OWN, begin, expected, hostile, rendered, repeated, strict, subjects};
use self::readers::Command;
use acp_conformance::edition::V1;
use acp_conformance::report::{
    BoardRun, Detail, EventLines, GithubReport, JunitReport, MarkdownReport, PageReport, SuiteEvent, TextReport,
    events, write_board_markdown,
};
use acp_conformance::requirement::Party;
use acp_conformance::results::{Collector, RunReport};
use acp_conformance::verdict::Verdict;
use libtest_mimic::Trial;

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    trials![
        "forms":
        the_terminal_obeys_nobody_but_us,
        junit_tells_failures_errors_and_skipped_cases_apart,
        junit_fails_what_fails_a_strict_run,
        github_commands_cannot_be_forged,
        markdown_shows_texts_as_texts,
        many_subjects_are_a_table_of_verdicts,
        an_expected_failure_is_none_in_any_form,
        the_runs_of_repeat_are_in_each_form,
        events_are_told_line_by_line,
        a_report_without_faults_has_none_in_any_form,
        a_report_with_a_forged_id_is_rejected,
    ]
}

fn text(bytes: Vec<u8>) -> String {
    let text = String::from_utf8(bytes).expect("UTF-8");
    let unfit = |c: &char| c.is_control() && *c != '\n' || matches!(c, '\u{fffe}' | '\u{202e}' | '\u{2028}');
    assert_eq!(text.chars().find(unfit), None, "a character that breaks lines or readers");
    text
}

fn junit(report: &RunReport) -> String {
    text(rendered(JunitReport::new, report))
}

fn github(report: &RunReport) -> Vec<Command> {
    text(rendered(GithubReport, report)).lines().map(Command::read).collect()
}

/// Returns the text without styles.
fn without_styles(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        plain + part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').trim_start_matches('m')
    })
}

fn the_terminal_obeys_nobody_but_us() {
    let report = hostile();
    let shown = String::from_utf8(rendered(|out| TextReport::new(out, Detail::Cases), &report)).expect("UTF-8");
    // Styles are ours, since those of the subject are escaped; the rest must not move the cursor.
    let plain: String = without_styles(&shown);
    assert!(plain.contains(r"\u{1b}[31m") && plain.contains("<script>"), "{plain}");
    text(plain.into_bytes());
}

fn junit_tells_failures_errors_and_skipped_cases_apart() {
    let xml = junit(&hostile());
    readers::fits_jenkins(&xml);
    let found = readers::junit(&xml);
    let kind = |case: &str| found.iter().find(|(name, _)| name == case).map(|(_, kind)| *kind);
    assert_eq!(kind("v1/agent/cancel/while-asking"), Some("failure"));
    assert_eq!(kind("v1/agent/own/case"), Some("failure"));
    assert_eq!(kind("v1/agent/fs/read"), Some("pass"), "a broken SHOULD alone fails no case");
    assert_eq!(kind("v1/agent/fs/write"), Some("skipped"));
    assert_eq!(kind("v1/agent/init/handshake"), Some("error"));
    let rendered = readers::failure(&xml, "v1/agent/cancel/while-asking");
    for part in [
        "cancel.stop-reason",
        r"\u{fffe}",
        "<script>",
        "]]>",
        "at cases/v1/agent/cancel/while-asking.yaml:12",
        "reproduce: ",
    ] {
        assert!(rendered.contains(part), "{part}: {rendered}");
    }
    assert!(rendered.len() < LONG / 2, "a long message is cut");
}

fn junit_fails_what_fails_a_strict_run() {
    let found = readers::junit(&junit(&strict()));
    let kind = found.iter().find(|(name, _)| name == "v1/agent/fs/read").map(|(_, kind)| *kind);
    assert_eq!(kind, Some("failure"));
}

fn github_commands_cannot_be_forged() {
    let commands = github(&hostile());
    let titles: Vec<_> = commands.iter().map(|c| (c.name.as_str(), c.properties["title"].as_str())).collect();
    assert_eq!(
        titles,
        [
            ("error", "prompt.cancelled-only-on-cancel"),
            ("error", "cancel.stop-reason"),
            ("error", "the harness failed"),
            ("warning", "cancel.idle"),
            ("notice", "not-conformant"),
        ]
    );
    let own = commands.iter().find(|command| command.properties.contains_key("file")).expect("a place");
    assert_eq!((own.properties["file"].as_str(), own.properties["line"].as_str()), (OWN, "7"));
    assert!(!commands[1].properties.contains_key("file"), "a built-in case does not belong to the user");
    assert!(commands[1].message.contains("::error::forged"), "{}", commands[1].message);
    assert!(commands.iter().all(|command| command.message.len() < LONG / 2));
    assert!(github(&strict()).iter().all(|command| command.name != "warning"));
}

fn markdown_shows_texts_as_texts() {
    let markdown = text(rendered(MarkdownReport::new, &hostile()));
    let page = readers::markdown(&markdown);
    assert_eq!(page.html.iter().filter(|tag| !readers::is_ours(tag)).collect::<Vec<_>>(), Vec::<&String>::new());
    assert!(page.links.iter().all(|link| link.starts_with("https://agentclientprotocol.com/")), "{:?}", page.links);
    assert_eq!(page.tables.len(), 2, "{markdown}");
    assert!(page.tables[1].iter().all(|row| row.len() == 4), "{:#?}", page.tables[1]);
    assert_eq!(page.tables[1].len(), 4, "the head and what was broken");
    let seen = &page.tables[1][2][2];
    assert!(seen.contains(r#"]]><script>&|`*_[x](http://e)"#), "{seen}");
    assert!(page.blocks.iter().any(|block| block.contains("\n````\n")), "fences in the evidence end no block");
    assert_eq!(page.blocks.len(), 3, "evidence for each requirement that was broken");
}

fn the_runs_of_repeat_are_in_each_form() {
    let report = repeated();
    let xml = junit(&report);
    assert!(xml.contains(r#"<property name="runs" value="5"/>"#), "of a suite: {xml}");
    assert!(xml.contains(r#"<property name="runs" value="3 pass · 2 fail"/>"#), "of a case: {xml}");
    readers::fits_jenkins(&xml);
    assert!(readers::failure(&xml, "v1/agent/cancel/while-asking").contains("runs: 3 pass · 2 fail"));
    let markdown = text(rendered(MarkdownReport::new, &report));
    for part in ["| runs | 5 |", "- v1/agent/cancel/while-asking: 3 pass · 2 fail", "runs: failed in 2 of 5 runs"] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
    let mut page = PageReport::new(Vec::new());
    page.report(report);
    let page = String::from_utf8(page.finish().expect("a vector takes everything")).expect("UTF-8");
    for part in [" · 5 runs", "<li>v1/agent/cancel/while-asking: 3 pass · 2 fail</li>", "runs: failed in 2 of 5 runs"]
    {
        assert!(page.contains(part), "{part}");
    }
}

fn many_subjects_are_a_table_of_verdicts() {
    let mut page = Vec::new();
    let runs: Vec<_> = subjects().into_iter().map(|report| BoardRun { report, page: String::new() }).collect();
    write_board_markdown(&runs, &[], &mut page).expect("a vector takes everything");
    let page = readers::markdown(&text(page));
    assert_eq!(page.html, [""; 0]);
    let specification = |link: &String| link.starts_with("https://agentclientprotocol.com/");
    assert!(page.links.iter().all(specification), "{:?}", page.links);
    let [table, hostile, known] = page.tables.as_slice() else { panic!("{} tables", page.tables.len()) };
    assert!(table[1][0].contains(r#"]]><script>&|`*_[x](http://e)"#), "agents come first: {}", table[1][0]);
    assert_eq!(table[2].join("|"), "Plain client (plain)|client|1.2.0|1|2026-11-21|not-conformant|5|2|1|1|1");
    // The lines after the table are read into its last cell.
    assert_eq!(table[3][..10].join("|"), "unnamed client|client|unknown|1|unknown|incomplete|0|0|0|0");
    assert!(hostile[2][2].contains(r#"]]><script>&|`*_[x](http://e)"#), "{:?}", hostile[2]);
    assert_eq!(known[1].join("|"), "permission.late-request|MUST||");
}

fn an_expected_failure_is_none_in_any_form() {
    let report = expected();
    let (own, other) = ("v1/agent/own/case", "v1/agent/cancel/while-asking");
    let xml = junit(&report);
    readers::fits_jenkins(&xml);
    let found: BTreeMap<_, _> = readers::junit(&xml).into_iter().collect();
    assert_eq!((found[own], found[other]), ("skipped", "failure"));
    let titles = |report| {
        github(report).into_iter().filter(|command| command.properties["title"].contains("only-on-cancel")).count()
    };
    assert_eq!((titles(&report), titles(&hostile())), (0, 1));
    let page = text(rendered(MarkdownReport::new, &report));
    assert!(
        page.contains("1 requirement failed as expected") && !page.contains("<summary>prompt.cancelled-only-on-cancel")
    );
}

fn events_are_told_line_by_line() {
    let report = hostile();
    let out = readers::Lines::default();
    let mut renderer = EventLines(out.clone());
    let begin = begin(&report);
    readers::feed(&mut renderer, &SuiteEvent::Begin(&begin));
    assert_eq!(out.complete().len(), 1, "the first event waits for nothing");
    readers::feed(&mut renderer, &SuiteEvent::Start(NASTY));
    for case in &report.cases {
        readers::feed(&mut renderer, &SuiteEvent::Case(case, None));
    }
    readers::feed(&mut renderer, &SuiteEvent::Run(&report));
    let lines = out.complete();
    let kinds: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap_or_default()).collect();
    assert_eq!((kinds[0], kinds[1], kinds[2], kinds.last()), ("begin", "start", "case", Some(&"run")));
    assert_eq!(lines[0]["format"], events::FORMAT);
    assert_eq!(lines[1]["case"], NASTY);
    assert_eq!(lines.len(), report.cases.len() + 3);
    lines.iter().for_each(readers::fits_events);
    assert_eq!(serde_json::from_value::<RunReport>(lines[lines.len() - 1]["report"].clone()).ok(), Some(report));
}

fn a_report_without_faults_has_none_in_any_form() {
    let mut clean = hostile();
    clean.requirements.iter_mut().for_each(|requirement| requirement.findings.clear());
    clean.requirements.iter_mut().for_each(|requirement| requirement.verdict = Verdict::Pass);
    clean.cases.iter_mut().for_each(|case| case.verdict = Verdict::Pass);
    assert!(readers::junit(&junit(&clean)).iter().all(|(_, kind)| *kind == "pass"));
    assert_eq!(github(&clean).iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["notice"]);
}

fn a_report_with_a_forged_id_is_rejected() {
    let report = Collector::new(V1.edition(), Party::Agent, Vec::new()).finish(Duration::ZERO, false);
    let read = |report: &RunReport| {
        let text = serde_json::to_string(report).expect("a report is JSON");
        serde_json::from_str::<RunReport>(&text).map_err(|error| error.to_string())
    };
    assert_eq!(read(&report).as_ref(), Ok(&report));
    let mut forged = report.clone();
    forged.requirements[0].id = "\n# x\u{1b}[2J".to_owned();
    let said = read(&forged).expect_err("no id");
    assert!(said.starts_with(r#""\n# x\u{1b}[2J" is neither an id nor a version"#), "{said}");
    let mut forged = report;
    forged.suite.edition = "v1\u{9b}1m".to_owned();
    assert!(read(&forged).is_err());
}
