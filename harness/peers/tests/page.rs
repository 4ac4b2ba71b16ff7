//! Tests the pages in a browser without a window: their content, by mouse and by keyboard, in dark mode and on a phone.
//! No text in them becomes markup, and they log no errors and send no requests.
//!
//! `ACP_BROWSER` names the browser; without it, a Chromium on the PATH is used. Without any browser, this test is
//! skipped.

mod board;
mod browser;
mod pages;

use std::path::Path;
use std::sync::{Arc, LazyLock};

use browser::{Browser, Tab};
use libtest_mimic::{Completion, Failed, Trial};
use pages::{HOSTILE, Pages, REASON, area, count};
use serde_json::{Value, json};

type View = fn(&Tab<'_>, &Pages) -> Result<(), String>;

const VIEWS: [(&str, View); 18] = [
    ("every-filter-leaves-what-fits-it", filters),
    ("a-view-can-be-linked", links),
    ("a-chart-is-opened-by-keyboard", keyboard),
    ("a-chart-shows-what-was-expected-and-what-broke-the-rule", broken_chart),
    ("the-wrong-member-is-marked", marked_member),
    ("failures-come-first", failures_first),
    ("cases-of-a-shared-process-have-charts-and-titles", shared_charts),
    ("expected-failures-are-shown", expected),
    ("nothing-hostile-becomes-markup", hostile),
    ("both-themes-can-be-read", themes),
    ("no-page-is-wider-than-a-phone", phone),
    ("everything-that-can-be-operated-has-a-name", names),
    ("the-board-shows-the-newest-run-and-the-history", board::history),
    ("the-board-filters-subjects", board::filters),
    ("the-board-shows-where-subjects-differ", board::differences),
    ("the-board-groups-by-capability", board::capabilities),
    ("a-cell-of-the-board-leads-to-its-chart", board::cells),
    ("without-a-script-the-verdict-is-there", without_script),
];

/// Returns the trials of this file.
pub fn trials() -> Vec<Trial> {
    let browser = browser::find();
    let pages: Arc<LazyLock<Result<Pages, String>>> = Arc::new(LazyLock::new(Pages::make));
    let trials: Vec<Trial> = VIEWS
        .into_iter()
        .map(|(name, view)| {
            let (browser, pages) = (browser.clone(), Arc::clone(&pages));
            Trial::ignorable_test(format!("page/{name}"), move || trial(browser.as_deref(), &pages, view))
        })
        .collect();
    trials
}

fn trial(browser: Option<&Path>, pages: &LazyLock<Result<Pages, String>>, view: View) -> Result<Completion, Failed> {
    let Some(path) = browser else {
        return Ok(Completion::ignored_with("no Chromium on PATH; set ACP_BROWSER"));
    };
    let pages = (**pages).as_ref()?;
    let browser = Browser::start(path)?;
    let tab = browser.tab().map_err(|error| format!("{}: {error}", path.display()))?;
    view(&tab, pages)?;
    match tab.complaints() {
        complaints if complaints.is_empty() => Ok(Completion::Completed),
        complaints => Err(complaints.join("\n").into()),
    }
}

fn wants<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("{what}: wanted {wanted:?}, found {found:?}")) }
}

/// The number of visible rows.
const SEEN: &str =
    "[...document.querySelectorAll('main section:not([hidden]) > .list > tbody')].filter((row) => !row.hidden).length";

fn seen(tab: &Tab<'_>) -> Result<usize, String> {
    Ok(tab.value(SEEN)?.as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX))
}

/// Chooses an entry in a filter, as with a mouse.
fn choose(tab: &Tab<'_>, filter: &str, value: &str) -> Result<(), String> {
    let label = format!(
        "[...document.querySelectorAll('main section:not([hidden]) form label')].find((label) => label.textContent.startsWith('{filter}'))"
    );
    tab.value(&format!(
        "{{ const field = {label}.querySelector('select, input'); field.value = {}; \
         field.dispatchEvent(new Event(field.tagName === 'SELECT' ? 'change' : 'input')); }}",
        json!(value)
    ))
    .map(drop)
}

fn filters(tab: &Tab<'_>, pages: &Pages) -> Result<(), String> {
    let report = pages.report("broken.json")?;
    tab.open(&pages.path("broken.html"), "")?;
    let all = count(&report, "requirements", |_| true);
    wants("all requirements", seen(tab)?, all)?;
    for (filter, value) in [("level", "should"), ("verdict", "fail"), ("verdict", "pass")] {
        choose(tab, filter, value)?;
        let wanted = count(&report, "requirements", |one| one[filter] == value);
        wants(value, seen(tab)?, wanted)?;
        choose(tab, filter, "")?;
    }
    choose(tab, "area", "cancel")?;
    wants("an area", seen(tab)?, count(&report, "requirements", |one| area(one) == "cancel"))?;
    choose(tab, "verdict", "fail")?;
    wants("both filters", seen(tab)?, 1)?;
    tab.value("[...document.querySelectorAll('form button')].find((one) => one.textContent === 'Clear').click()")?;
    tab.until(&format!("{SEEN} === {all}"))?;
    choose(tab, "Search", "STOPREASON cancelled running prompt")?;
    wants("what is searched, by any word in any case", seen(tab)?, 1)?;
    choose(tab, "Search", "no such words")?;
    wants("nothing", seen(tab)?, 0)?;
    wants("and a note reports that", tab.value("document.querySelector('main section .note').hidden")?, false.into())?;

    let kept = pages.report("kept.json")?;
    tab.open(&pages.path("kept.html"), "view=cases")?;
    wants("all cases", seen(tab)?, count(&kept, "cases", |_| true))?;
    choose(tab, "area", "fs")?;
    let fs = count(&kept, "cases", |one| one["id"].as_str().is_some_and(|id| id.starts_with("v1/agent/fs/")));
    wants("the cases of an area", seen(tab)?, fs)?;

    tab.open(&pages.path("hostile.html"), "")?;
    let both = seen(tab)?;
    choose(tab, "party", "client")?;
    let clients = seen(tab)?;
    choose(tab, "party", "agent")?;
    wants("both parties together", clients + seen(tab)?, both)?;
    if clients == 0 { Err("no requirement is the client's".to_owned()) } else { Ok(()) }
}

fn links(tab: &Tab<'_>, pages: &Pages) -> Result<(), String> {
    let report = pages.report("broken.json")?;
    let wanted = count(&report, "requirements", |one| {
        one["level"] == "must" && one["verdict"] == "pass" && area(one) == "jsonrpc"
    });
    tab.open(&pages.path("broken.html"), "")?;
    choose(tab, "level", "must")?;
    choose(tab, "verdict", "pass")?;
    choose(tab, "area", "jsonrpc")?;
    let fragment = tab.value("location.hash")?;
    let fragment = fragment.as_str().and_then(|hash| hash.strip_prefix('#')).ok_or("no fragment")?.to_owned();
    tab.open(&pages.path("broken.html"), &fragment)?;
    wants("a linked view", seen(tab)?, wanted)?;
    // A number in the coverage opens the list that it counts.
    tab.value("document.querySelector('.coverage td.fail a').click()")?;
    tab.until(&format!("{SEEN} === 1"))?;
    tab.value("document.querySelector('ul.broken a').click()")?;
    tab.until("document.querySelector('[aria-expanded=true]')?.textContent === 'cancel.stop-reason'")?;
    tab.until("document.querySelector('.details .hints').textContent.includes('TypeScript')")?;
    tab.until("document.querySelector('.details .exchange pre').textContent.includes('session/cancel')")?;
    tab.value("document.querySelector('.details .finding a').click()")?;
    tab.until("document.activeElement.matches('.row.broke')")
}

fn keyboard(tab: &Tab<'_>, pages: &Pages) -> Result<(), String> {
    tab.open(&pages.path("broken.html"), "view=cases")?;
    let reach = |what: &str| {
        for _ in 0..200 {
            tab.press("Tab")?;
            if tab.value(&format!("document.activeElement.matches('{what}')"))? == true {
                return Ok(());
            }
        }
        Err(format!("the Tab key never comes to {what}"))
    };
    reach("section:not([hidden]) .open")?;
    wants("no chart is made before it is opened", tab.value("document.querySelectorAll('.chart').length")?, 0.into())?;
    tab.press("Enter")?;
    tab.until("document.activeElement.getAttribute('aria-expanded') === 'true' && document.querySelectorAll('.chart').length === 1")?;
    reach(".message > summary")?;
    wants("a message is closed", tab.value("document.activeElement.parentElement.open")?, false.into())?;
    tab.press("Enter")?;
    tab.until("document.activeElement.parentElement.querySelector('pre').textContent.startsWith('{\\n  \"jsonrpc\": \"2.0\"')")?;
    tab.value("document.querySelector('.row.broke').focus()")?;
    wants(
        "the row that broke the rule takes focus",
        tab.value("document.activeElement.matches('.broke')")?,
        true.into(),
    )
}

fn marked_member(tab: &Tab<'_>, pages: &Pages) -> Result<(), String> {
    tab.open(&pages.path("member.html"), "view=cases&case=v1/agent/init/handshake")?;
    // The missing member is marked at the object that should contain it.
    wants(
        "what is marked in the open message",
        tab.value(
            "[...document.querySelectorAll('details[open] .wrong')].map((line) => line.textContent.trim()).join()",
        )?,
        "\"agentInfo\": {".into(),
    )
}

fn shared_charts(tab: &Tab<'_>, pages: &Pages) -> Result<(), String> {
    tab.open(&pages.path("kept.html"), "view=cases")?;
    let cases = count(&pages.report("kept.json")?, "cases", |_| true);
    wants(
        "case marks in the data",
        tab.value("document.querySelector('[data-chart]').textContent.includes('\"case\":{\"begins\"')")?,
        true.into(),
    )?;
    tab.value("document.querySelectorAll('.open[aria-expanded=false]').forEach((one) => one.click())")?;
    wants("a chart for each case", tab.value("document.querySelectorAll('.chart').length")?, cases.into())?;
    let row = "document.querySelector('[aria-expanded][class=open]').closest('th').textContent";
    tab.until(&format!("{row}.includes('fs/read') || {row}.includes('cancel')"))?;
    let title = pages.report("kept.json")?["cases"][0]["title"].as_str().unwrap_or("a title").to_owned();
    wants(
        "a title in the list",
        tab.value(&format!("document.querySelector('main').innerText.includes({})", json!(title)))?,
        true.into(),
    )
}

fn failures_first(tab: &Tab<'_>, pages: &Pages) -> Result<(), String> {
    tab.open(&pages.path("broken.html"), "")?;
    let words = "[...document.querySelectorAll('.list .verdicts .word')].map((word) => word.textContent)";
    let failed = count(&pages.report("broken.json")?, "requirements", |one| one["verdict"] == "fail");
    tab.until(&format!("{words}.length > {failed}"))?;
    wants("the first rows fail", tab.value(&format!("{words}.lastIndexOf('fail') + 1"))?, failed.into())
}

fn broken_chart(tab: &Tab<'_>, pages: &Pages) -> Result<(), String> {
    let case = "view=cases&case=v1/agent/cancel/while-asking";
    tab.open(&pages.path("broken.html"), case)?;
    let report = pages.report("broken.json")?;
    let failed = report["requirements"].as_array().into_iter().flatten().find(|one| one["verdict"] == "fail");
    let deciding = failed.map(|one| one["findings"][0]["events"][0].to_string()).unwrap_or_default();
    let broke = "[...document.querySelectorAll('.row.broke')].map((row) => row.dataset.n).join()";
    wants("the message that broke the rule", tab.value(broke)?, deciding.into())?;
    let finding = "document.querySelector('.row.broke .finding.fail').textContent";
    tab.until(&format!("{finding}.includes('cancel.stop-reason')"))?;
    wants(
        "the command that reproduces it",
        tab.value("document.querySelector('.command code').textContent.split(' -- ')[0].split(' agent ')[1]")?,
        "--case v1/agent/cancel/while-asking --isolate".into(),
    )?;
    tab.value("[...document.querySelectorAll('.command .copy')][0].click()")?;
    tab.until("document.getElementById('said').textContent.startsWith('The command is')")?;
    tab.value("document.querySelector('.case-file .copy').click()")?;
    tab.until("document.getElementById('said').textContent.startsWith('The case is')")?;
    let file = tab.value("document.querySelector('.case-file pre').textContent")?;
    let file = file.as_str().unwrap_or_default();
    if !(file.contains("\ntranscript:\n") && file.contains("session/cancel")) {
        return Err(format!("this is not the case of the chart: {file}"));
    }
    let asked = "[...document.querySelectorAll('.message')].filter((one) => one.textContent.includes('session/prompt')).map((one) => one.querySelector('.kind').textContent).join()";
    wants("an answer is named by its request", tab.value(asked)?, "request,result".into())?;
    let steps = "[...document.querySelectorAll('.done-step')].filter((step) => step.offsetHeight > 0).length";
    wants("steps that went as expected", tab.value(steps)?, 0.into())?;
    tab.value("document.querySelector('.sequence input[type=checkbox]').click()")?;
    tab.until(&format!("{steps} > 1"))?;
    // In the invented recording, the expected value is next to the actual one.
    open_hostile(tab, pages)?;
    let lines = |sign: &str| tab.value(&format!("document.querySelectorAll('.step .diff .{sign}').length"));
    wants("what was expected and did not come", lines("gone")?, 1.into())?;
    wants("what came instead", lines("came")?, 1.into())
}

fn open_hostile(tab: &Tab<'_>, pages: &Pages) -> Result<(), String> {
    tab.open(&pages.path("hostile.html"), "view=cases")?;
    tab.value("document.querySelector('section:not([hidden]) .open').click()")?;
    tab.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })")?;
    tab.until("[...document.querySelectorAll('.message > pre')].every((one) => one.textContent)")
}

fn hostile(tab: &Tab<'_>, pages: &Pages) -> Result<(), String> {
    let all_open = "document.querySelectorAll('.open[aria-expanded=false]').forEach((one) => one.click())";
    open_hostile(tab, pages)?;
    for view in ["requirements", "probes", "cases"] {
        tab.value(&format!("location.hash = 'view={view}'"))?;
        tab.until(&format!("document.querySelector('nav [aria-current]').textContent.toLowerCase().startsWith('{view}') || '{view}' === 'probes'"))?;
        tab.value(all_open)?;
    }
    let shown = format!("document.body.textContent.includes({})", json!(HOSTILE));
    wants("it is shown as it is", tab.value(&shown)?, true.into())?;
    wants("no image", tab.value("document.images.length")?, 0.into())?;
    wants("nothing ran", tab.value("String(window.hit)")?, "undefined".into())?;
    wants("one script", tab.value("document.querySelectorAll('script:not([type])').length")?, 1.into())?;
    // The policy would also have stopped it.
    tab.value(
        "document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.hit = 2' }))",
    )?;
    wants("the policy holds", tab.value("String(window.hit)")?, "undefined".into())?;
    wants("and reports it", tab.complaints().len(), 1)
}

/// The contrast of colours with their background, by the formula of WCAG: the lowest of some elements.
const CONTRAST: &str = "(() => {
  const channel = (c) => (c /= 255) <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4;
  const light = (text) => { const [r, g, b] = text.match(/[\\d.]+/g).map(Number); return .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b); };
  const background = (one) => { for (; one; one = one.parentElement) { const c = getComputedStyle(one).backgroundColor; if (!/, 0\\)$/.test(c)) return c; } return 'rgb(255, 255, 255)'; };
  const contrast = (one) => { const [a, b] = [light(getComputedStyle(one).color), light(background(one))].sort((a, b) => b - a); return (a + .05) / (b + .05); };
  return Math.min(...[...document.querySelectorAll('h1, p, a, .mark, .facts, .open, .time, .gist, .kind, .lines li, td, code, summary, output')].map(contrast));
})()";

fn themes(tab: &Tab<'_>, pages: &Pages) -> Result<(), String> {
    let mut grounds: Vec<Value> = Vec::new();
    for theme in ["light", "dark"] {
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": theme }] });
        tab.call("Emulation.setEmulatedMedia", &media)?;
        for (page, fragment) in [
            ("broken", "requirement=cancel.stop-reason"),
            ("broken", "view=cases&case=v1/agent/cancel/while-asking"),
            ("board/index", "broken=1"),
        ] {
            tab.open(&pages.path(&format!("{page}.html")), fragment)?;
            let least = tab.value(CONTRAST)?.as_f64().ok_or("no contrast")?;
            if least < 4.5 {
                return Err(format!("{page} {theme}: something has a contrast of {least} only"));
            }
        }
        grounds.push(tab.value("getComputedStyle(document.body).backgroundColor")?);
    }
    if grounds[0] == grounds[1] { Err("both themes are the same".to_owned()) } else { Ok(()) }
}

fn phone(tab: &Tab<'_>, pages: &Pages) -> Result<(), String> {
    let phone = json!({ "width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true });
    tab.call("Emulation.setDeviceMetricsOverride", &phone)?;
    let views = [
        ("broken", ""),
        ("broken", "requirement=cancel.stop-reason"),
        ("broken", "view=cases&case=v1/agent/cancel/while-asking"),
        ("kept", "view=cases"),
        ("board/index", "broken=1"),
    ];
    let width = "document.documentElement.scrollWidth";
    for (page, fragment) in views {
        tab.open(&pages.path(&format!("{page}.html")), fragment)?;
        tab.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })")?;
        wants(&format!("the width of {page} {fragment}"), tab.value(width)?, 390.into())?;
    }
    open_hostile(tab, pages)?;
    wants("the width of what is hostile", tab.value(width)?, 390.into())
}

fn names(tab: &Tab<'_>, pages: &Pages) -> Result<(), String> {
    for (page, fragment) in [
        ("broken", "requirement=cancel.stop-reason"),
        ("broken", "view=cases&case=v1/agent/cancel/while-asking"),
        ("board/index", ""),
    ] {
        tab.open(&pages.path(&format!("{page}.html")), fragment)?;
        let tree = tab.call("Accessibility.getFullAXTree", &json!({}))?;
        let nodes: Vec<&Value> =
            tree["nodes"].as_array().into_iter().flatten().filter(|node| node["ignored"] != true).collect();
        let operated =
            ["button", "link", "combobox", "searchbox", "checkbox", "DisclosureTriangle", "dialog", "table", "group"];
        let role = |node: &Value| node["role"]["value"].as_str().unwrap_or_default().to_owned();
        let nameless: Vec<String> = nodes
            .iter()
            .filter(|node| {
                operated.contains(&role(node).as_str()) && node["name"]["value"].as_str().is_none_or(str::is_empty)
            })
            .filter(|node| !["group", "table"].contains(&role(node).as_str()))
            .map(|node| node.to_string())
            .collect();
        wants(&format!("what has no name in {page} {fragment}"), nameless, Vec::new())?;
        for wanted in ["table", "rowheader", "button", "searchbox"] {
            if !nodes.iter().any(|node| role(node) == wanted) {
                return Err(format!("{page} {fragment}: {wanted} is missing"));
            }
        }
    }
    Ok(())
}

fn expected(tab: &Tab<'_>, pages: &Pages) -> Result<(), String> {
    let note = format!("expected to fail: {REASON}");
    let seen = |what: &str| -> Result<(), String> {
        let text = tab.value(&format!("document.querySelector('{what}').innerText"))?;
        let text = text.as_str().unwrap_or_default();
        if text.contains(&note) { Ok(()) } else { Err(format!("{what} does not contain `{note}`: {text}")) }
    };
    tab.open(&pages.path("expected.html"), "requirement=cancel.stop-reason")?;
    seen("section.subject .broken")?;
    seen("main .details .finding.fail")?;
    let head = tab.value("document.querySelector('section.subject').innerText")?;
    let head = head.as_str().unwrap_or_default();
    if !head.contains("expected failures: all failures that count are listed as expected") {
        return Err(format!("the head lacks the summary: {head}"));
    }
    tab.open(&pages.path("broken.html"), "requirement=cancel.stop-reason")?;
    wants("where nothing is expected", tab.value("document.body.innerText.includes('expected to fail')")?, false.into())
}

fn without_script(tab: &Tab<'_>, pages: &Pages) -> Result<(), String> {
    tab.call("Emulation.setScriptExecutionDisabled", &json!({ "value": true }))?;
    tab.open(&pages.path("broken.html"), "")?;
    tab.call("Emulation.setScriptExecutionDisabled", &json!({ "value": false }))?;
    let has = |wanted: &[&str]| -> Result<(), String> {
        let text = tab.value("document.body.innerText")?;
        let text = text.as_str().unwrap_or_default();
        match wanted.iter().find(|wanted| !text.contains(**wanted)) {
            Some(missing) => Err(format!("`{missing}` is missing: {text}")),
            None => Ok(()),
        }
    };
    has(&["acp-reference-agent", "not conformant", "cancel.stop-reason", "MUST", "made by a script"])?;
    tab.call("Emulation.setScriptExecutionDisabled", &json!({ "value": true }))?;
    tab.open(&pages.path("board/index.html"), "")?;
    tab.call("Emulation.setScriptExecutionDisabled", &json!({ "value": false }))?;
    has(&["acp-reference-agent", "not conformant", "History", "made by a script"])
}
