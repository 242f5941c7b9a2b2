"""The number of a message that Python's JSON gives up on, so that who asks is answered."""

import pytest

from postroom.mcp_server import rpc

DEEP = '{"a":' + "[" * 3000


def test_a_message_too_deep_to_be_read_keeps_its_number():
    line = DEEP + "]" * 3000 + ',"id":7}'
    assert rpc.read(line.encode()) == (7, "", {})


@pytest.mark.parametrize("number", [r'"\q"', "007", "--5", "\u0663", '"' + r"\"" * 5, ""])
def test_what_is_no_number_behind_it_is_none(number: str):
    line = DEEP + "]" * 3000 + f',"id":{number}'
    assert rpc.read(line.encode()) == (None, "", {})


@pytest.mark.timeout(20)  # else the rest is looked through once for each quote in it: for hours
def test_a_text_that_does_not_end_is_looked_through_once():
    line = DEEP + '"' + r"\"" * 500_000
    assert rpc.read(line.encode()) == (None, "", {})
