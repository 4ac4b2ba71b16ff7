"""The stored report becomes the same tests as in the npm package. Runs without pytest: ``python -m unittest``."""

import json
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))
sys.dont_write_bytecode = True

from acp_conformance import Agent, Project, tests  # noqa: E402


def read(name):
    return json.loads((HERE.parent.parent / "testdata" / name).read_text(encoding="utf-8"))


def again(case):
    return f"acp-conformance agent --case {case} -- my-agent"


class Report(unittest.TestCase):
    def test_a_report_becomes_one_test_per_case_and_per_wrong_entry(self):
        found = [{key: value for key, value in vars(test).items() if key != "title"} for test in tests(read("report.json"), again)]
        self.assertEqual(found, read("tests.json"))

    def test_undecided_cases_fail_on_request(self):
        results = {(test.verdict, test.result) for test in tests(read("report.json"), inconclusive="fail")}
        self.assertLessEqual({("inconclusive", "fail"), ("not-applicable", "skip")}, results)

    def test_the_command_that_repeats_a_case_selects_only_it(self):
        agent = Agent(["my agent"], profile="mine", options=["--case", "cancel", "--shard=1/2", "--strict"])
        self.assertEqual(agent._again("a@b"), "acp-conformance agent --profile mine --strict --case a@b -- 'my agent'")
        self.assertEqual(Project()._again("a"), "acp-conformance --case a")


if __name__ == "__main__":
    unittest.main()
