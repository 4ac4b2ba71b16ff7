//! A browser without a window, controlled by its DevTools protocol over two pipes.

use std::cell::{Cell, RefCell};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than any machine needs, so that only a hanging browser times out.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the browser answers to a question about a page that a followed link has just replaced.
const REPLACED: [&str; 3] = ["target navigated", "context was destroyed", "Cannot find context"];

/// The environment variable that names the browser; then it must exist.
const NAMED: &str = "ACP_BROWSER";

const FLAGS: [&str; 11] = [
    "--remote-debugging-pipe",
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-extensions",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/// Returns the path of a browser, if there is one.
pub(crate) fn find() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(NAMED).filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|path| path.is_file())
}

/// A running browser, which exits when this is dropped.
pub(crate) struct Browser {
    process: Child,
    to: RefCell<ChildStdin>,
    messages: Receiver<Value>,
    number: Cell<u64>,
    _home: TempDir,
}

impl Browser {
    pub(crate) fn start(path: &Path) -> Result<Self, String> {
        let home = tempfile::tempdir().map_err(|error| error.to_string())?;
        // The browser reads from descriptor 3 and writes to descriptor 4.
        let mut process = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 >/dev/null"#])
            .arg(path)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", home.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let (to, from) = (process.stdin.take(), process.stdout.take());
        let (Some(to), Some(from)) = (to, from) else { return Err("no pipes".to_owned()) };
        let (sender, messages) = channel();
        thread::spawn(move || {
            let mut from = BufReader::new(from);
            let mut message = Vec::new();
            while from.read_until(0, &mut message).is_ok_and(|n| n > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else { return };
                if sender.send(value).is_err() {
                    return;
                }
                message.clear();
            }
        });
        Ok(Self { process, to: RefCell::new(to), messages, number: Cell::new(0), _home: home })
    }

    /// Opens an empty tab.
    pub(crate) fn tab(&self) -> Result<Tab<'_>, String> {
        let target = self.call(None, "Target.createTarget", &json!({ "url": "about:blank" }), &mut |_| {})?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.call(None, "Target.attachToTarget", &attach, &mut |_| {})?;
        let session = session["sessionId"].as_str().ok_or("no session")?.to_owned();
        let tab = Tab { browser: self, session, target: target["targetId"].clone(), events: RefCell::default() };
        for domain in ["Page", "Runtime", "Log", "Network", "Accessibility"] {
            tab.call(&format!("{domain}.enable"), &json!({}))?;
        }
        Ok(tab)
    }

    fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: &Value,
        event: &mut dyn FnMut(Value),
    ) -> Result<Value, String> {
        let number = self.number.get() + 1;
        self.number.set(number);
        let mut call = json!({ "id": number, "method": method, "params": params });
        if let Some(session) = session {
            call["sessionId"] = session.into();
        }
        let mut bytes = serde_json::to_vec(&call).map_err(|error| error.to_string())?;
        bytes.push(0);
        self.to.borrow_mut().write_all(&bytes).map_err(|error| format!("{method}: {error}"))?;
        loop {
            let message = self.message(method)?;
            match message.get("id") {
                Some(id) if *id == number => {
                    return match message.get("error") {
                        Some(error) => Err(format!("{method}: {error}")),
                        None => Ok(message["result"].clone()),
                    };
                }
                Some(_) => {}
                None => event(message),
            }
        }
    }

    fn message(&self, why: &str) -> Result<Value, String> {
        self.messages.recv_timeout(PATIENCE).map_err(|_| format!("the browser says nothing any more, after {why}"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A tab, with all events about it.
pub(crate) struct Tab<'b> {
    browser: &'b Browser,
    session: String,
    target: Value,
    events: RefCell<Vec<Value>>,
}

impl Tab<'_> {
    pub(crate) fn call(&self, method: &str, params: &Value) -> Result<Value, String> {
        let keep = &mut |event| self.events.borrow_mut().push(event);
        self.browser.call(Some(&self.session), method, params, keep)
    }

    /// Loads a file, and waits until it is loaded.
    pub(crate) fn open(&self, file: &Path, fragment: &str) -> Result<(), String> {
        let url = format!("file://{}#{fragment}", file.display());
        // Without this, the same file with another fragment would not be loaded again.
        self.load("about:blank")?;
        self.load(&url)
    }

    fn load(&self, url: &str) -> Result<(), String> {
        let is_loaded = |event: &Value| event["method"] == "Page.loadEventFired";
        let loaded = || self.events.borrow().iter().filter(|event| is_loaded(event)).count();
        let before = loaded();
        self.call("Page.navigate", &json!({ "url": url }))?;
        while loaded() == before {
            let event = self.browser.message(url)?;
            self.events.borrow_mut().push(event);
        }
        Ok(())
    }

    pub(crate) fn value(&self, expression: &str) -> Result<Value, String> {
        let evaluate = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", &evaluate)?;
        match answer.get("exceptionDetails") {
            Some(details) => Err(format!("{expression}: {details}")),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// Waits until an expression is true, on this page or on the one that replaces it.
    pub(crate) fn until(&self, expression: &str) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            let left = (PATIENCE / 2).saturating_sub(begun.elapsed()).as_millis();
            let came = self.value(&format!(
                "new Promise((resolve) => {{ const begun = performance.now(); const look = () => ({expression}) ? \
                 resolve(true) : performance.now() - begun > {left} ? resolve(false) : setTimeout(look, 5); look(); }})"
            ));
            match came {
                Ok(Value::Bool(true)) => return Ok(()),
                // A link was followed while the old page was still asked. The new page has to answer.
                Err(error) if left > 0 && REPLACED.iter().any(|replaced| error.contains(replaced)) => {}
                Err(error) => return Err(error),
                Ok(_) => return Err(format!("it never came: {expression}")),
            }
        }
    }

    /// Presses a key, such as `Tab` or `Enter`.
    pub(crate) fn press(&self, key: &str) -> Result<(), String> {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            "Tab" => (9, ""),
            "Escape" => (27, ""),
            _ => (0, key),
        };
        let key =
            |kind: &str| json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text });
        self.call("Input.dispatchKeyEvent", &key(if text.is_empty() { "rawKeyDown" } else { "keyDown" }))?;
        self.call("Input.dispatchKeyEvent", &key("keyUp")).map(drop)
    }

    /// Returns the page's console messages, errors and network requests since the last call.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let events = std::mem::take(&mut *self.events.borrow_mut());
        let complaint = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded") => true,
            Some("Network.requestWillBeSent") => {
                let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
                !(event["params"]["type"] == "Document" && url.starts_with("file:") || url == "about:blank")
            }
            Some("Page.javascriptDialogOpening") => true,
            _ => false,
        };
        events.iter().filter(complaint).map(ToString::to_string).collect()
    }
}

impl Drop for Tab<'_> {
    fn drop(&mut self) {
        let _ = self.browser.call(None, "Target.closeTarget", &json!({ "targetId": self.target }), &mut |_| {});
    }
}
