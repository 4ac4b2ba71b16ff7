import sys

from acp_conformance import Agent

acp = Agent([sys.executable, "agent.py"])
