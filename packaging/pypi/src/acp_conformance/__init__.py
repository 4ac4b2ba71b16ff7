"""Runs acp-conformance, and makes one pytest test per case.

::

    # test_acp.py
    import sys
    from acp_conformance import Agent

    acp = Agent([sys.executable, "examples/agent.py"])
"""

from .report import CaseTest, tests
from .suite import Agent, Client, ConformanceError, Project, Suite, binary

__all__ = ["Agent", "CaseTest", "Client", "ConformanceError", "Project", "Suite", "binary", "tests"]
