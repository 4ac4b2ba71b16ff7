//! Tests the board of many subjects. Its subjects are the reference agent with two runs, the same over another
//! transport, and the two parties of a recording with hostile names.

use serde_json::{Value, json};

use super::browser::Tab;
use super::pages::{HOSTILE, Pages};
use super::wants;

const BOARD: &str = "board/index.html";
/// The number of visible subjects in the list.
const SUBJECTS: &str = "[...document.querySelectorAll('.subjects tbody tr')].filter((row) => !row.hidden).length";
/// The number of columns in all tables.
const COLUMNS: &str = "document.querySelectorAll('.matrix thead tr:last-child th').length";
/// The visible rows of requirements.
const ROWS: &str =
    "[...document.querySelectorAll('.matrix tbody:not([hidden]) tr:not(.area)')].filter((row) => !row.hidden)";

fn choose(tab: &Tab<'_>, field: &str, value: &str) -> Result<(), String> {
    tab.value(&format!(
        "{{ const field = document.querySelector('select[aria-label={field}]'); field.value = {}; \
         field.dispatchEvent(new Event('change')); }}",
        json!(value)
    ))
    .map(drop)
}

/// Returns a text of the first row of the list.
fn first(tab: &Tab<'_>, what: &str) -> Result<Value, String> {
    tab.value(&format!("document.querySelector('.subjects tbody tr').{what}"))
}

pub(crate) fn history(tab: &Tab<'_>, pages: &Pages) -> Result<(), String> {
    tab.open(&pages.path(BOARD), "")?;
    wants("subjects", tab.value(SUBJECTS)?, 4.into())?;
    wants("a column for each of them", tab.value(COLUMNS)?, 4.into())?;
    let reference = "[...document.querySelectorAll('.subjects tbody tr')].find((row) => row.querySelectorAll('.trend a').length === 2)";
    let of_reference = |what: &str| tab.value(&format!("{reference}.{what}"));
    let name = of_reference("querySelector('th').innerText.split(' ')[0]")?;
    wants("the subject with two runs", name, "acp-reference-agent".into())?;
    let trend = of_reference("querySelector('.trend').innerText.split(/\\s+/).join()")?;
    wants("the failed MUSTs of its runs, the oldest first", trend, "0,1".into())?;
    let spoken = of_reference("querySelectorAll('.trend a')[1].getAttribute('aria-label')")?;
    let spoken = spoken.as_str().unwrap_or_default();
    if !spoken.contains("not conformant, 1 MUST failed") {
        return Err(format!("the trend has no words: {spoken}"));
    }
    let text = first(tab, "closest('table').innerText")?;
    wants("a hostile name is a text", text.as_str().is_some_and(|text| text.contains(&HOSTILE[..20])), true)?;
    wants("no image", tab.value("document.images.length")?, 0.into())
}

pub(crate) fn filters(tab: &Tab<'_>, pages: &Pages) -> Result<(), String> {
    tab.open(&pages.path(BOARD), "")?;
    choose(tab, "party", "client")?;
    wants("clients in the list", tab.value(SUBJECTS)?, 1.into())?;
    wants("tables of clients", tab.value("document.querySelectorAll('.matrix').length")?, 1.into())?;
    choose(tab, "transport", "ws")?;
    wants("clients over that transport", tab.value(COLUMNS)?, 0.into())?;
    tab.until("document.querySelector('main').innerText.includes('No subject matches these filters.')")?;
    choose(tab, "party", "")?;
    wants("agents over that transport", tab.value(COLUMNS)?, 1.into())?;
    let fragment = tab.value("location.hash")?;
    wants("the filters are in the address", fragment, "#transport=ws".into())?;
    tab.open(&pages.path(BOARD), "transport=stdio&q=cancel.stop-reason")?;
    wants("a linked view has its subjects", tab.value(SUBJECTS)?, 3.into())?;
    let cells = tab.value(&format!("{ROWS}.map((row) => row.querySelector('th a').textContent).join()"))?;
    wants("and its requirements", cells, "cancel.stop-reason".into())?;
    let docs = tab.value(&format!("{ROWS}[0].querySelector('th a').getAttribute('href')"))?;
    wants("which link to the documentation", docs, "../requirements/v1/cancel/#cancelstop-reason".into())
}

pub(crate) fn differences(tab: &Tab<'_>, pages: &Pages) -> Result<(), String> {
    // The same agent over two transports, each with its newest run.
    tab.open(&pages.path(BOARD), "party=agent")?;
    wants("groups are closed at first", tab.value(&format!("{ROWS}.length"))?, 0.into())?;
    tab.value("document.getElementById('differ').click()")?;
    let differs =
        "[...new Set([...row.querySelectorAll('td')].map((cell) => cell.querySelector('.cell')?.title))].length > 1";
    let all = tab.value(&format!("{ROWS}.length > 0 && {ROWS}.every((row) => {differs})"))?;
    wants("only where they differ", all, true.into())?;
    tab.value("document.getElementById('broken').click()")?;
    let broken = tab.value(&format!("{ROWS}.every((row) => row.querySelector('.cell.fail'))"))?;
    wants("only what is broken", broken, true.into())
}

pub(crate) fn capabilities(tab: &Tab<'_>, pages: &Pages) -> Result<(), String> {
    tab.open(&pages.path(BOARD), "party=agent")?;
    choose(tab, "groups", "condition")?;
    let names = "[...document.querySelectorAll('.matrix .area .open')].map((one) => one.textContent)";
    wants("a capability", tab.value(&format!("{names}.includes('agent has loadSession')"))?, true.into())?;
    wants("no area", tab.value(&format!("{names}.includes('load')"))?, false.into())?;
    wants("the choice is in the address", tab.value("location.hash")?, "#party=agent&group=condition".into())
}

pub(crate) fn cells(tab: &Tab<'_>, pages: &Pages) -> Result<(), String> {
    tab.open(&pages.path(BOARD), "transport=stdio&q=cancel.stop-reason")?;
    tab.value(&format!("{ROWS}[0].querySelector('.cell.fail').focus()"))?;
    let cell = tab.value("document.activeElement.textContent")?;
    wants("the sign of the verdict, and that of the run before", cell, "✕ was ✓".into())?;
    let spoken = tab.value("document.activeElement.getAttribute('aria-label')")?;
    wants("the same in words", spoken, "cancel.stop-reason, acp-reference-agent 0.1.0: fail, before: pass".into())?;
    tab.press("Enter")?;
    tab.until("document.querySelector('.details .finding.fail') !== null")?;
    let open = tab.value("document.querySelector('[aria-expanded=true]').textContent")?;
    wants("the page of the run shows the requirement", open, "cancel.stop-reason".into())?;
    tab.value("document.querySelector('.details .finding a').click()")?;
    tab.until("document.activeElement.matches('.row.broke')")?;
    tab.value("document.querySelector('header a').click()")?;
    tab.until("document.title === 'ACP conformance board'")
}
