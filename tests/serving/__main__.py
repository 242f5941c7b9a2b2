"""Runs one of them."""

import sys

from tests.bridged import Record
from tests.serving.codex import serve_stdio
from tests.serving.opencode import serve_http

if __name__ == "__main__":
    {"codex": serve_stdio, "opencode": serve_http}[sys.argv[1]](Record(sys.argv[2]))
