"""``python -m acp_conformance`` becomes the program."""

import os
import sys

from .suite import binary

os.execv(binary(), ["acp-conformance", *sys.argv[1:]])
