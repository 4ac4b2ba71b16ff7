"""Checks a built site: every link, and the pages in a browser: the search, a phone, both themes, no error and no foreign request.
Usage: check.py SITE; ACP_BROWSER names the browser."""

import functools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from websocket import create_connection

PATIENCE = 60
PAGES = ["", "requirements/v1/cancel/", "cases/v1/agent/cancel/", "formats/case/", "options/", "glossary/"]
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-port=0",
         "--remote-allow-origins=*", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


class Browser:
    """A browser without a window, by its DevTools protocol."""

    def __init__(self, home):
        self.process = subprocess.Popen([os.environ.get("ACP_BROWSER", "chromium"), *FLAGS, f"--user-data-dir={home}", "about:blank"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        file = Path(home) / "DevToolsActivePort"
        wait(lambda: file.exists() and file.read_text().count("\n"), "the browser starts")
        port = file.read_text().splitlines()[0]
        targets = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list"))
        page = next(target for target in targets if target["type"] == "page")
        self.socket = create_connection(page["webSocketDebuggerUrl"], timeout=PATIENCE)
        self.number, self.events = 0, []
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == self.number:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    def value(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)["result"].get("value")

    def open(self, address):
        self.call("Page.navigate", url=address)
        wait(lambda: self.value("document.readyState") == "complete" and self.value("location.href") != "about:blank", address)

    def complaints(self, site):
        """Returns errors of the pages, and requests to other servers."""
        wrong = [event for event in self.events if event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]
        requests = [event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return wrong + [url for url in requests if not url.startswith((site, "data:", "about:", "blob:"))]


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    def handle_error(self, *_):
        """Says nothing: a browser that leaves a page closes its connections."""


def wait(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"timed out: {what}"
        time.sleep(0.05)


def check_search(browser, site):
    browser.open(f"{site}?q=cancel")
    items = "[...document.querySelectorAll('.md-search-result__item > a, .md-search-result__item a')].map((one) => one.href)"
    wait(lambda: browser.value(f"{items}.length"), "the search for `cancel` finds something")
    found = browser.value(items)
    assert any("/requirements/v1/cancel/" in one for one in found), found
    print(f"search: `cancel` leads to {len(found)} places, first {found[0].removeprefix(site)}")


def check_pages(browser, site, pages):
    for page in pages:
        grounds = []
        for theme in ["light", "dark"]:
            browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
            browser.open("about:blank#")
            browser.open(site + page)
            grounds.append(browser.value("getComputedStyle(document.body).backgroundColor"))
        assert grounds[0] != grounds[1], f"{page}: both themes are {grounds[0]}"
        browser.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True)
        browser.open(site + page)
        width = browser.value("document.documentElement.scrollWidth")
        browser.call("Emulation.clearDeviceMetricsOverride")
        assert width == 390, f"{page}: {width} pixels wide on a phone of 390"
    print(f"pages: {len(pages)} in two themes and on a phone")


def main():
    folder = Path(sys.argv[1])
    handler = functools.partial(Handler, directory=folder)
    server = Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site = f"http://127.0.0.1:{server.server_port}/"
    board = ["board/"] if (folder / "board").exists() else []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        browser = Browser(home)
        try:
            check_search(browser, site)
            check_pages(browser, site, PAGES + board)
            wrong = browser.complaints(site)
            assert not wrong, wrong
        finally:
            browser.process.kill()
            browser.process.wait()
    # Links to other sites are left out: they fail for reasons of their own.
    links = [str(Path(sys.executable).parent / "linkchecker"), "--no-status", "--no-warnings", site]
    print("links:", end=" ", flush=True)
    result = subprocess.run(links, capture_output=True, text=True)
    print(next((line for line in result.stdout.splitlines() if line.startswith("That's it")), result.stdout + result.stderr))
    sys.exit(result.returncode)


if __name__ == "__main__":
    main()
