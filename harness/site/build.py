"""Builds the site: copies the documentation with its links changed, makes pages of the cases and file formats, makes those of the
requirements and the board, and runs MkDocs. Usage: build.py PROGRAM OUTPUT WORK [REPORT…]; see scripts/site."""

import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from formats import format_page

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent
# The majors of the protocol, the stable one first.
MAJORS = sorted(folder.name for folder in (ROOT / "cases").glob("v[0-9]*"))
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(<?([^)\s>]+)>?\)")

# In the code of a table, GitHub needs `\|` for a bar, and MkDocs shows the backslash.
ROW = re.compile(r"^\|.*$", re.MULTILINE)
CODE = re.compile(r"`[^`]*`")

# Files of the repository that are not in docs/, with their pages.
OTHERS = {
    "README.md": "about.md",
    "docs/home.md": "index.md",
    "docs/README.md": "documentation.md",
    "cases/README.md": "case-format.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
}


# The members of a case that a page shows apart from its script.
HEAD = re.compile(r"^(?:title|requirements):.*\n(?:[ -].*\n)*", re.MULTILINE)


def head(text):
    """Reads these members only: scripts are YAML 1.2, of which this parser rejects some texts."""
    return yaml.load("".join(HEAD.findall(text)), Loader=yaml.BaseLoader)


class CaseFile:
    """A case: its path from the root of the repository, its text, and its place on the site."""

    def __init__(self, path):
        self.path = path
        self.text = (ROOT / path).read_text()
        self.head = head(self.text)
        folder, *below = path.removeprefix("cases/").removesuffix(".yaml").split("/")
        self.folder, self.party, self.area = folder, below[0], below[1]
        self.page = f"cases/{folder}/{self.party}/{self.area}.md"
        self.anchor = "-".join(below[2:])

    @property
    def id(self):
        return self.path.removeprefix("cases/").removesuffix(".yaml")


def case_files():
    """Returns all cases; the parts that cases include have no page of their own."""
    paths = [file.relative_to(ROOT).as_posix() for folder in MAJORS for file in sorted((ROOT / "cases" / folder).rglob("*.yaml"))]
    return [CaseFile(path) for path in paths if "/include/" not in path]


class Site:
    def __init__(self, folder, requirements):
        """`requirements` is the folder with the pages of the requirements of each major."""
        self.folder = folder
        self.requirements = requirements
        self.cases = case_files()
        self.formats = sorted(file.name.removesuffix(".schema.json") for file in (ROOT / "schemas").glob("*.schema.json"))
        # The requirements come first, since other pages link to those that are known.
        self.pages = {f"docs/requirements/{file.relative_to(requirements).as_posix()}": self.requirement_page(file) for file in requirements.rglob("*.md")}
        self.pages |= {file.relative_to(ROOT).as_posix(): file.relative_to(ROOT / "docs").as_posix() for file in (ROOT / "docs").rglob("*.*")}
        self.pages.update(OTHERS)
        self.pages.update({f"schemas/{name}.schema.json": f"formats/{name}.md" for name in self.formats})
        self.anchors = {case.path: case.anchor for case in self.cases}
        self.pages.update({case.path: case.page for case in self.cases})
        self.written = {}

    def requirement_page(self, file):
        return f"requirements/{file.relative_to(self.requirements).as_posix()}".replace("README", "index")

    def read(self, source):
        below = source.removeprefix("docs/requirements/")
        return (ROOT / source if below == source else self.requirements / below).read_text()

    def write(self, page, text):
        file = self.folder / page
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(ROW.sub(lambda row: CODE.sub(lambda code: code[0].replace("\\|", "|"), row[0]), text))

    def address(self, source, target):
        """Returns the address on the site of a link in a file of the repository; None for a file without a page."""
        if "://" in target or target.startswith("#"):
            return target
        path, _, fragment = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if path not in self.pages:
            return None
        fragment = fragment or self.anchors.get(path, "")
        address = posixpath.relpath(self.pages[path], posixpath.dirname(self.pages.get(source, source)) or ".")
        return address + (f"#{fragment}" if fragment else "")

    def change_links(self, source, text):
        """Changes the links outside code to addresses on the site. Other links keep only their text."""

        def change(link):
            mark, words, target = link.groups()
            address = self.address(source, target)
            return f"{mark}[{words}]({address})" if address else words

        parts = text.split("\n```")
        parts[::2] = [LINK.sub(change, part) for part in parts[::2]]
        return "\n```".join(parts)

    def copy_documentation(self):
        for source, page in self.pages.items():
            if source.endswith(".md"):
                if page == "index.md":
                    # The first page is for people who do not know their way yet, so it has no menu of its own.
                    self.write(page, "---\nhide: [toc]\n---\n" + self.change_links(source, self.read(source)))
                    continue
                # A reader looks up requirements by name; without this, pages of cases come first in the results.
                boost = "---\nsearch: { boost: 3 }\n---\n" if page.startswith("requirements/") else ""
                self.write(page, boost + self.change_links(source, self.link_requirements(page, self.read(source))))
            elif source.endswith(".png"):
                (self.folder / page).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, self.folder / page)

    def link_requirements(self, page, text):
        """Links the requirements in the cells of tables."""
        major = next((major for major in MAJORS if page.endswith(f"-{major}.md")), MAJORS[0])
        return re.sub(r"(?<=\| )`([a-z0-9.-]+)`(?= \|)", lambda cell: self.requirement_link(page, major, cell[1]), text)

    def requirement_link(self, page, major, id):
        """Returns a link to a requirement, or its id if it has no page."""
        area = id.split(".")[0]
        anchor = re.sub(r"[^\w-]", "", id)
        target = f"requirements/{major}/{area}.md"
        known = (self.folder / target).exists() and f"\n### {id}\n" in (self.folder / target).read_text()
        return f"[{id}]({posixpath.relpath(target, posixpath.dirname(page))}#{anchor})" if known else f"`{id}`"

    def write_cases(self):
        """Writes a page for each party and area, and returns their navigation."""
        pages = {}
        for case in self.cases:
            pages.setdefault(case.page, []).append(case)
        titles = {"v1": "Cases", "v2": "Cases of version 2 (preview)"}
        navigation = {}
        for page, cases in pages.items():
            first = cases[0]
            heading = titles[first.folder].lower().replace("cases", f"cases of {first.party}s")
            text = [f"# {first.area}: {heading}\n\n| case | title |\n|---|---|\n"]
            text += [f"| [{case.id}](#{case.anchor}) | {escape(case.head['title'])} |\n" for case in cases]
            text += [self.case_section(page, case) for case in cases]
            self.write(page, "".join(text))
            party = navigation.setdefault(titles[first.folder], {}).setdefault(f"{first.party}s".capitalize(), [])
            party.append({first.area: page})
        return [{title: [{party: pages} for party, pages in parties.items()]} for title, parties in navigation.items()]

    def case_section(self, page, case):
        head = case.head
        script = "".join(line for line in case.text.splitlines(keepends=True) if not line.startswith("# yaml-language-server"))
        links = ", ".join(self.requirement_link(page, case.folder, id) for id in head.get("requirements", []))
        facts = f"- **case** `{case.id}`\n- **requirements** {links}\n"
        command = f"acp-conformance {case.party} --case {case.id} -- COMMAND"
        if case.folder == "v2":
            command = command.replace("acp-conformance", "acp-conformance --protocol v2")
        return f"\n## {escape(head['title'])} {{ #{case.anchor} }}\n\n{facts}\n```yaml\n{script}```\n\n```sh\n{command}\n```\n"

    def write_formats(self):
        navigation = []
        for name in self.formats:
            schema = json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text())
            self.write(f"formats/{name}.md", format_page(name, schema))
            navigation.append({name: f"formats/{name}.md"})
        return navigation

    def navigation(self):
        """Reads the navigation from docs/README.md: a section for each heading, an entry for the first link of each line."""
        sections = [{"Home": "index.md"}]
        for line in (ROOT / "docs/README.md").read_text().splitlines():
            if line.startswith("## "):
                sections.append({line[3:]: []})
            for _, words, target in LINK.findall(line):
                address = self.address("docs/README.md", target)
                if address:
                    next(iter(sections[-1].values())).append({words: address})
        return sections


def escape(text):
    return re.sub(r"([<|*_`\[\]])", r"\\\1", str(text))


def main():
    program, output, work, *reports = sys.argv[1:]
    docs = Path(work).resolve() / "docs"
    shutil.rmtree(docs, ignore_errors=True)
    requirements = Path(work).resolve() / "requirements"
    shutil.rmtree(requirements, ignore_errors=True)
    for major in MAJORS:
        subprocess.run([program, "explain", "--protocol", major, "--pages", str(requirements / major)], check=True)
    site = Site(docs, requirements)
    site.copy_documentation()
    shutil.copy(HERE / "extra.css", docs)
    navigation = site.navigation()
    sections = []
    for major in MAJORS:
        index = (requirements / major / "README.md").read_text()
        areas = re.findall(r"^\| \[([a-z-]+)\]\(", index, re.MULTILINE)
        title = re.match(r"# (.*)", index)[1]
        sections.append({title: [f"requirements/{major}/index.md", *({area: f"requirements/{major}/{area}.md"} for area in areas)]})
    navigation += [*sections, *site.write_cases(), {"File formats": site.write_formats()}]
    project = [{"About": "about.md"}, {"Security": "security.md"}, {"Contributing": "contributing.md"}, {"Architecture": "architecture.md"}, {"Changelog": "changelog.md"}]
    navigation.append({"Project": project})
    if reports:
        subprocess.run([program, "board", *reports, "--docs", "..", "-o", str(docs / "board")], check=True)
        navigation.insert(1, {"Board": "board/index.html"})
    config = Path(work).resolve() / "mkdocs.yml"
    text = (HERE / "mkdocs.yml").read_text()
    config.write_text(f"{text}docs_dir: {docs}\nsite_dir: {Path(output).resolve()}\n{yaml.safe_dump({'nav': navigation}, sort_keys=False)}")
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", str(config)], check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    print(f"{output}/index.html")


if __name__ == "__main__":
    main()
