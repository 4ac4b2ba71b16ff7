"""Puts the program for one platform into the wheel, at the place of the commands."""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Program(BuildHookInterface):
    def initialize(self, version, build_data):
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ['ACP_CONFORMANCE_PLATFORM']}"
        build_data["shared_scripts"] = {os.environ["ACP_CONFORMANCE_PROGRAM"]: "acp-conformance"}
