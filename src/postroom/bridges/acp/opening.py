"""The first words with an agent: who we are, what we offer it (nothing but questions), and which session."""

from typing import NamedTuple

from acp import PROTOCOL_VERSION, RequestError
from acp.client import ClientSideConnection
from acp.schema import AgentCapabilities, ClientCapabilities, FileSystemCapabilities, Implementation

from postroom.errors import BridgeError
from postroom.protocol.plain import one_line

_LOGIN = -32000  # as the protocol numbers it
_OFFERED = ClientCapabilities(
    fs=FileSystemCapabilities(read_text_file=False, write_text_file=False), terminal=False
)


class Opened(NamedTuple):
    """A session."""

    id: str
    resumed: bool
    words: str  # how it came to that


async def open_session(agent: ClientSideConnection, address: str, cwd: str, known: str) -> Opened:
    """Go on with a known session where the agent can, else begin a new one."""
    us = Implementation(name="postroom", version="1")
    try:
        hello = await agent.initialize(PROTOCOL_VERSION, client_capabilities=_OFFERED, client_info=us)
    except RequestError as exc:
        raise BridgeError(
            f"{address} is no agent that speaks ACP: it does not know how a conversation begins (initialize)",
            hint="Start it as one that does, like: gemini --acp; or choose another bridge: --bridge BRIDGE",
        ) from exc
    if hello.protocol_version != PROTOCOL_VERSION:
        raise BridgeError(
            f"{address} speaks version {hello.protocol_version} of ACP, and not {PROTOCOL_VERSION}",
            hint="Take another version of it, or of Postroom.",
        )
    words = "it has begun a session"
    if known:
        words = await _resume(agent, hello.agent_capabilities or AgentCapabilities(), cwd, known)
        if not words:
            return Opened(known, True, "it goes on with its session")
    try:
        made = await agent.new_session(cwd, mcp_servers=[])
    except RequestError as exc:
        raise _refused(address, exc) from exc
    return Opened(made.session_id, False, words)


async def _resume(agent: ClientSideConnection, can: AgentCapabilities, cwd: str, known: str) -> str:
    """Why a session could not be gone on with; empty: it was. To load one is to hear all of it again."""
    ways = [agent.resume_session] if can.session_capabilities and can.session_capabilities.resume else []
    words = "it cannot go on with an earlier one"
    for way in (*ways, *([agent.load_session] if can.load_session else [])):
        try:
            await way(session_id=known, cwd=cwd, mcp_servers=[])
        except RequestError as exc:
            words = f"the earlier one could not be opened ({told(exc)})"
        else:
            return ""
    return f"it has begun a new session: {words}"


def _refused(address: str, exc: RequestError) -> BridgeError:
    if exc.code == _LOGIN:
        return BridgeError(
            f"{address} wants a login: {told(exc)}", hint="Run it in a terminal once, and log in there."
        )
    return BridgeError(f"{address} opens no session: {told(exc)}", hint="Try it in a terminal.")


def told(exc: RequestError) -> str:
    """An agent's error in its own words, as many of them as a line has room for."""
    return one_line(f"{exc}{f', {exc.data}' if exc.data else ''}", 300)
