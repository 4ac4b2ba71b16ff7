"""Makes one pytest test per case of each :class:`~acp_conformance.Suite` that is a global of a test module.

The suite runs once, when pytest collects the tests. The name of a test is that of the global and the id of the case:
``test_acp.py::acp::v1/agent/cancel/while-asking``.
"""

from __future__ import annotations

import pytest

from .suite import ConformanceError, Suite


def pytest_pycollect_makeitem(collector, name, obj):
    if isinstance(obj, Suite) and not name.startswith("_"):
        return _Cases.from_parent(collector, name=name, suite=obj)
    return None


class _Cases(pytest.Collector):
    def __init__(self, *, suite, **others):
        super().__init__(**others)
        self.suite = suite

    def collect(self):
        return [_Case.from_parent(self, name=test.id, test=test) for test in self.suite.tests()]

    def repr_failure(self, excinfo):
        if isinstance(excinfo.value, ConformanceError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


class _CaseFailed(Exception):
    pass


class _Case(pytest.Item):
    def __init__(self, *, test, **others):
        super().__init__(**others)
        self.test = test

    def runtest(self):
        if self.test.result == "skip":
            pytest.skip(self.test.message)
        if self.test.result == "fail":
            raise _CaseFailed(self.test.message)

    def repr_failure(self, excinfo):
        if isinstance(excinfo.value, _CaseFailed):
            return "\n".join(filter(None, [self.test.title, str(excinfo.value)]))
        return super().repr_failure(excinfo)

    def reportinfo(self):
        return self.path, None, self.name
