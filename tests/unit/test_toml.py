"""Adding a string to an array of a TOML file, as its owner wrote it."""

import tomllib

import pytest

from postroom.setup.toml import Unreadable, add, document, line, remove

OURS = {"sandbox_workspace_write": {"writable_roots": ["/room"]}}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", '[sandbox_workspace_write]\nwritable_roots = ["/room"]\n'),
        ("a = 1", 'a = 1\n\n[sandbox_workspace_write]\nwritable_roots = ["/room"]\n'),
        ("a = 1\r\n", 'a = 1\r\n\r\n[sandbox_workspace_write]\r\nwritable_roots = ["/room"]\r\n'),
        (
            "[sandbox_workspace_write] # mine\nnetwork_access = true\n[z]\n",
            '[sandbox_workspace_write] # mine\nwritable_roots = ["/room"]\nnetwork_access = true\n[z]\n',
        ),
        ("[sandbox_workspace_write]", '[sandbox_workspace_write]\nwritable_roots = ["/room"]\n'),
        (
            "[sandbox_workspace_write]\nwritable_roots = ['/a'] # x\n",
            "[sandbox_workspace_write]\nwritable_roots = ['/a', \"/room\"] # x\n",
        ),
        (
            '[sandbox_workspace_write]\nwritable_roots = [\n  "/a]",\n]\n',
            '[sandbox_workspace_write]\nwritable_roots = [\n  "/a]",\n  "/room",\n]\n',
        ),
        (
            "[sandbox_workspace_write]\nwritable_roots = []\n",
            '[sandbox_workspace_write]\nwritable_roots = ["/room"]\n',
        ),
    ],
)
def test_a_root_is_added_and_taken_out_again(text: str, wanted: str):
    added = add(text, OURS)
    assert added == wanted
    assert add(added, OURS) == added
    assert tomllib.loads(remove(added, OURS, document(text))) == document(text)


def test_what_was_ours_alone_goes_without_a_trace():
    text = 'a = 1\n\n[z]\nb = "# [sandbox_workspace_write]"\n'
    assert remove(add(text, OURS), OURS, document(text)) == text


def test_what_came_after_it_stays():
    text = "a = 1\n"
    later = add(text, OURS) + '\n[hooks.state."/x:stop:0:0"]\ntrusted_hash = "sha256:1"\n'
    assert document(remove(later, OURS, document(text))) == {
        "a": 1, "hooks": {"state": {"/x:stop:0:0": {"trusted_hash": "sha256:1"}}}
    }  # fmt: skip


def test_nothing_is_taken_out_where_nothing_is():
    assert remove("a = 1\n", OURS, {}) == "a = 1\n"


@pytest.mark.parametrize(
    "text",
    [
        'sandbox_workspace_write = { writable_roots = ["/a"] }\n',
        'sandbox_workspace_write.writable_roots = ["/a"]\n',
        "sandbox_workspace_write = 1\n",
        '[sandbox_workspace_write]\nwritable_roots = "/a"\n',
        '[sandbox_workspace_write]\nwritable_roots = [\n "/a" # mine\n]\n',
        '[sandbox_workspace_write]\n"writable_roots" = ["/a"]\n',
        'x = """\n[sandbox_workspace_write]\n"""\n',
        "a = ",
    ],
)
def test_what_is_not_understood_is_refused_and_never_damaged(text: str):
    with pytest.raises(Unreadable):
        add(text, OURS)


def test_the_line_to_add_by_hand_is_told():
    assert line(OURS) == '[sandbox_workspace_write] writable_roots = ["/room"]'
