"""Makes one pytest test per case of each :class:`~acp_conformance.Suite` that is a global of a test module.

The name of a test is that of the global and the id of the case: ``test_acp.py::acp::v1/agent/cancel/while-asking``.
The cases run once, before the first test, and only those whose tests are selected; with pytest-xdist, one worker runs
them for all. If the options of the suite select cases, pytest cannot know them before, so they run at the collection.
"""

from __future__ import annotations

import fcntl
import hashlib
import json

import pytest

from .suite import ConformanceError, Suite

#: The name of the test that fails for an entry of the known failures that is no longer true.
_EXPECTED = "expected"


def pytest_pycollect_makeitem(collector, name, obj):
    if isinstance(obj, Suite) and not name.startswith("_"):
        return _Cases.from_parent(collector, name=name, suite=obj)
    return None


class _Cases(pytest.Collector):
    def __init__(self, *, suite, **others):
        super().__init__(**others)
        self.suite = suite
        self._tests = None
        self._error = None

    def collect(self):
        cases = self.suite.cases()
        if cases is None:
            self._tests = {test.id: test for test in self.suite.tests_of(self._shared(None))}
            cases = {test.id: test.title for test in self._tests.values()}
        else:
            cases[_EXPECTED] = ""
        return [_Case.from_parent(self, name=id, title=title) for id, title in cases.items()]

    def results(self):
        """Returns the results by case. The first call runs the cases of all selected tests."""
        if self._error is not None:
            pytest.skip("the cases could not run; another test has the reason")
        if self._tests is None:
            items = [item for item in self.session.items if isinstance(item, _Case) and item.parent is self]
            chosen = [item.name for item in items if item.name != _EXPECTED]
            is_all = len(chosen) == len(self.suite.cases())
            try:
                report = self._shared(None if is_all or not chosen else chosen)
            except ConformanceError as error:
                self._error = error
                raise
            self._tests = {test.id: test for test in self.suite.tests_of(report)}
        return self._tests

    def _shared(self, only):
        """Runs the cases, or waits for the worker that does, and returns the report."""
        if not hasattr(self.config, "workerinput"):
            return self.suite.run(only)
        # All workers of a run have folders in the same one, which pytest removes after a few runs.
        folder = self.config._tmp_path_factory.getbasetemp().parent
        name = hashlib.sha256(self.nodeid.encode()).hexdigest()[:16]
        file = folder / f"acp-conformance-{name}.json"
        with open(folder / f"{file.name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not file.exists():
                try:
                    written = json.dumps({"report": self.suite.run(only)})
                except ConformanceError as error:
                    written = json.dumps({"error": str(error)})
                file.write_text(written, encoding="utf-8")
        read = json.loads(file.read_text(encoding="utf-8"))
        if "error" in read:
            raise ConformanceError(read["error"])
        return read["report"]

    def repr_failure(self, excinfo):
        if isinstance(excinfo.value, ConformanceError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


class _CaseFailed(Exception):
    pass


class _Case(pytest.Item):
    def __init__(self, *, title, **others):
        super().__init__(**others)
        self.title = title

    def runtest(self):
        tests = self.parent.results()
        if self.name == _EXPECTED:
            wrong = [test for test in tests.values() if test.id.startswith(f"{_EXPECTED}/")]
            if wrong:
                raise _CaseFailed("\n".join(f"{test.id}: {test.message}" for test in wrong))
            return
        test = tests.get(self.name)
        if test is None:
            pytest.skip("the case did not run")
        if test.result == "skip":
            pytest.skip(test.message)
        if test.result == "fail":
            raise _CaseFailed(test.message)

    def repr_failure(self, excinfo):
        if isinstance(excinfo.value, ConformanceError):
            return str(excinfo.value)
        if isinstance(excinfo.value, _CaseFailed):
            return "\n".join(filter(None, [self.title, str(excinfo.value)]))
        return super().repr_failure(excinfo)

    def reportinfo(self):
        return self.path, None, self.name
