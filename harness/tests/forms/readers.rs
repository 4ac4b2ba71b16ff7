//! Readers of the forms, most of them by other projects.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Cursor, Write};
use std::path::Path;
use std::rc::Rc;

use acp_conformance::report::{Renderer, SuiteEvent};
use junit_parser::TestStatus;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde_json::Value;

/// A stream that records how much was flushed.
#[derive(Clone, Default)]
pub struct Lines(Rc<RefCell<(Vec<u8>, usize)>>);

impl Lines {
    /// Returns the flushed bytes.
    pub fn flushed(&self) -> Vec<u8> {
        let (bytes, flushed) = &*self.0.borrow();
        assert_eq!(bytes.len(), *flushed, "something was not flushed");
        bytes.clone()
    }

    /// Returns the flushed lines of JSON.
    pub fn complete(&self) -> Vec<Value> {
        let text = String::from_utf8(self.flushed()).expect("UTF-8");
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        let (bytes, flushed) = &mut *self.0.borrow_mut();
        *flushed = bytes.len();
        Ok(())
    }
}

/// Passes an event to a renderer.
pub fn feed(renderer: &mut impl Renderer, event: &SuiteEvent<'_>) {
    renderer.event(event).expect("a vector takes everything");
}

/// Returns the text of the failure of a test case, as a strict XML parser reads it.
pub fn failure(xml: &str, case: &str) -> String {
    let document = roxmltree::Document::parse(xml).expect("well-formed XML");
    let case = document.descendants().find(|node| node.attribute("name") == Some(case)).expect("the test case");
    let failure = case.children().find(|node| node.has_tag_name("failure")).expect("a failure");
    failure.text().unwrap_or_default().to_owned()
}

/// The attributes that the schema of Jenkins (`junit-10.xsd` of its xUnit plugin) allows, as far as they are used.
const ATTRIBUTES: [(&str, &[&str]); 10] = [
    ("testsuites", &["name", "tests", "failures", "errors", "time"]),
    ("testsuite", &["name", "tests", "failures", "errors", "skipped", "time"]),
    ("properties", &[]),
    ("property", &["name", "value"]),
    ("testcase", &["name", "classname", "time"]),
    ("failure", &["message", "type"]),
    ("error", &["message", "type"]),
    ("skipped", &["message", "type"]),
    ("system-out", &[]),
    ("system-err", &[]),
];

/// Panics if there are elements or attributes that strict readers refuse.
pub fn fits_jenkins(xml: &str) {
    let document = roxmltree::Document::parse(xml).expect("well-formed XML");
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        let name = node.tag_name().name();
        let (_, allowed) = ATTRIBUTES.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("<{name}>"));
        let foreign = node.attributes().find(|attribute| !allowed.contains(&attribute.name()));
        assert_eq!(foreign.map(|attribute| attribute.name()), None, "an attribute of <{name}>");
    }
}

/// Returns the name of each test case with its result.
pub fn junit(xml: &str) -> Vec<(String, &'static str)> {
    let suites = junit_parser::from_reader(Cursor::new(xml)).expect("JUnit XML");
    let mut found = Vec::new();
    let mut sums = (0, 0, 0);
    for suite in suites.suites {
        sums = (sums.0 + suite.tests, sums.1 + suite.failures, sums.2 + suite.errors);
        let mut counts = (suite.tests, suite.failures, suite.errors, suite.skipped);
        for case in suite.cases {
            counts.0 -= 1;
            let kind = match case.status {
                TestStatus::Success => "pass",
                TestStatus::Failure(_) => {
                    counts.1 -= 1;
                    "failure"
                }
                TestStatus::Error(_) => {
                    counts.2 -= 1;
                    "error"
                }
                TestStatus::Skipped(skipped) => {
                    counts.3 -= 1;
                    assert!(!skipped.message.is_empty(), "a reason");
                    "skipped"
                }
            };
            found.push((case.original_name, kind));
        }
        assert_eq!(counts, (0, 0, 0, 0), "the counts of {}", suite.name);
    }
    assert_eq!(sums, (suites.tests, suites.failures, suites.errors), "the counts of all");
    found
}

/// Panics if a line does not fit the published schema of the events.
pub fn fits_events(line: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/events.schema.json");
    fits(&std::fs::read(path).expect("the schema is published"), line);
}

fn fits(schema: &[u8], value: &Value) {
    let schema = serde_json::from_slice(schema).expect("a schema is JSON");
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).expect("a sound schema");
    let wrong: Vec<_> = validator.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A workflow command, split like in the runner of GitHub Actions.
pub struct Command {
    pub name: String,
    pub properties: BTreeMap<String, String>,
    pub message: String,
}

impl Command {
    pub fn read(line: &str) -> Self {
        let (head, message) = line
            .strip_prefix("::")
            .and_then(|rest| rest.split_once("::"))
            .unwrap_or_else(|| panic!("no command: {line}"));
        let (name, properties) = head.split_once(' ').unwrap_or((head, ""));
        let pairs = properties.split(',').map(|pair| pair.split_once('=').expect("a property has a value"));
        Self {
            name: name.to_owned(),
            properties: pairs.map(|(name, value)| (name.to_owned(), unescaped(value))).collect(),
            message: unescaped(message),
        }
    }
}

fn unescaped(text: &str) -> String {
    let codes = [("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")];
    codes.iter().fold(text.to_owned(), |text, (code, mark)| text.replace(code, mark))
}

/// The content of a page of Markdown.
#[derive(Default)]
pub struct Page {
    pub html: Vec<String>,
    pub links: Vec<String>,
    /// Tables of rows of cells.
    pub tables: Vec<Vec<Vec<String>>>,
    /// The code blocks.
    pub blocks: Vec<String>,
}

/// Reads Markdown like GitHub.
pub fn markdown(text: &str) -> Page {
    let mut page = Page::default();
    let mut in_block = false;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => page.html.push(html.trim().to_owned()),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                page.links.push(dest_url.to_string())
            }
            Event::Start(Tag::Table(_)) => page.tables.push(Vec::new()),
            Event::Start(Tag::TableHead | Tag::TableRow) => page.tables.last_mut().expect("a table").push(Vec::new()),
            Event::Start(Tag::TableCell) => {
                page.tables.last_mut().and_then(|table| table.last_mut()).expect("a row").push(String::new());
            }
            Event::Start(Tag::CodeBlock(_)) => {
                in_block = true;
                page.blocks.push(String::new());
            }
            Event::End(TagEnd::CodeBlock) => in_block = false,
            Event::Text(text) if in_block => page.blocks.last_mut().expect("a block").push_str(&text),
            Event::Text(text) => {
                let row = page.tables.last_mut().and_then(|table| table.last_mut());
                if let Some(cell) = row.and_then(|row| row.last_mut()) {
                    cell.push_str(&text);
                }
            }
            _ => {}
        }
    }
    page
}

/// Whether a piece of HTML is one that the form writes itself.
pub fn is_ours(tag: &str) -> bool {
    let inside = tag.strip_prefix("<details><summary>").and_then(|rest| rest.strip_suffix("</summary>"));
    tag == "</details>" || inside.is_some_and(|inside| !inside.contains(['<', '>']))
}
