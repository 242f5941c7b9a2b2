"""Every command: its module under `commands/`, the group it is listed in, and what it does in one line."""

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import argparse
    from typing import Protocol

    from postroom.cli.context import Context
    from postroom.cli.parser import Parser

    class Command(Protocol):
        """What each module under `commands/` offers."""

        HELP: str
        EXAMPLES: str

        def add_arguments(self, parser: Parser) -> None: ...
        def run(self, args: argparse.Namespace, context: Context) -> int: ...


Entry = tuple[str, str, str]  # module, group, help; a NamedTuple would cost every start a class

WRITE, READ, FOLLOW, PEOPLE, RUN, ROOM, TRY = (
    "Write",
    "Read and answer",
    "See what became of it",
    "Who is here",
    "Run agents",
    "Look after the room",
    "Try it, fit it in",
)

COMMANDS: dict[str, Entry] = {
    "send": ("send", WRITE, "send a message, and learn who will get it"),
    "ask": ("ask", WRITE, "send a request and wait for its answer"),
    "reply": ("reply", WRITE, "answer a message, which also acknowledges it"),
    "forward": ("forward", WRITE, "pass a message on to somebody else"),
    "withdraw": ("withdraw", WRITE, "take back what nobody has seen yet"),
    "types": ("types", WRITE, "the types of messages, and what each must hold"),
    "inbox": ("inbox", READ, "list what waits, without marking anything"),
    "read": ("read", READ, "take the next message (or that one): it is seen"),
    "attachments": ("attachments", READ, "what came with a message: list, print, save"),
    "wait": ("wait", READ, "sleep until mail comes, then list it"),
    "ack": ("ack", READ, "acknowledge a message"),
    "nack": ("nack", READ, "refuse a message, with a reason"),
    "gates": ("gates", READ, "what waits for a decision"),
    "decide": ("decide", READ, "decide what a gate asks, once"),
    "receipts": ("receipts", FOLLOW, "how far a message got, and the evidence"),
    "sent": ("sent", FOLLOW, "what became of what you sent"),
    "thread": ("thread", FOLLOW, "a whole conversation"),
    "threads": ("threads", FOLLOW, "your conversations, and what is unread in them"),
    "search": ("search", FOLLOW, "find messages by what they say"),
    "stats": ("stats", FOLLOW, "who writes to whom, how soon it is answered, and how much it is"),
    "log": ("log", FOLLOW, "every change in the room, as it happens if you like"),
    "dead": ("dead", FOLLOW, "what could not be delivered: list, show, retry, purge"),
    "agents": ("agents", PEOPLE, "who is here, what waits for each, and who listens"),
    "whoami": ("whoami", PEOPLE, "who you are here, and how that is known"),
    "join": ("join", PEOPLE, "give an agent or a person an address"),
    "leave": ("leave", PEOPLE, "mark an agent as gone; its mail stays"),
    "idle": ("idle", PEOPLE, "say that you are: who waits for your answer is told"),
    "rename": ("rename", PEOPLE, "give an agent another name; its mail stays"),
    "groups": ("groups", PEOPLE, "the groups you can write to, and who is in them"),
    "topics": ("topics", PEOPLE, "the topics you can write to: list, show, subscribe, unsubscribe"),
    "mute": ("mute", PEOPLE, "be left alone for a while, in quiet hours, or by digest"),
    "routes": ("routes", PEOPLE, "who may write to whom"),
    "tokens": ("tokens", PEOPLE, "secrets that prove who calls: list, issue, revoke"),
    "projects": ("projects", PEOPLE, "the projects of this room: list, delete"),
    "spawn": ("spawn", RUN, "start an agent under a bridge, and give it a prompt"),
    "adopt": ("adopt", RUN, "have agents in panes of tmux reached by mail"),
    "mailbox": ("mailbox", RUN, "reach agents by files: add a tree, list, remove, check a letter"),
    "teams": ("teams", RUN, "teams of Claude Code, and having a member reached by mail"),
    "tasks": ("tasks", RUN, "the tasks of a team of Claude Code"),
    "attach": ("attach", RUN, "go to an agent's terminal"),
    "stop": ("stop", RUN, "end an agent that was started, or let go of an adopted one"),
    "screen": ("screen", RUN, "what an agent's terminal shows, or any pane"),
    "watch": ("watch", RUN, "mail what a pane prints and matches"),
    "command": ("command", RUN, "type an operator's command into an agent's terminal"),
    "interrupt": ("interrupt", RUN, "stop, pause or cancel what an agent does"),
    "resume": ("resume", RUN, "let a paused agent have its mail again"),
    "up": ("up", RUN, "start the daemon, and the agents that the config declares"),
    "down": ("down", RUN, "end the daemon"),
    "top": ("top", ROOM, "every agent and the mail at a glance, in your terminal"),
    "dashboard": ("dashboard", ROOM, "the page on which you see and steer every agent"),
    "status": ("status", ROOM, "where the room is and how it does"),
    "verify": ("verify", ROOM, "check the store against its own rules"),
    "journal": ("journal", ROOM, "the events as JSONL files: sync, status, path"),
    "replay": ("replay", ROOM, "rebuild a room from its journals alone"),
    "backup": ("backup", ROOM, "copy the room while it is in use"),
    "restore": ("restore", ROOM, "put a backup in the room's place"),
    "prune": ("prune", ROOM, "remove what ended long ago"),
    "redact": ("redact", ROOM, "take the content out of one message"),
    "setup": ("setup", TRY, "wire an agent CLI to this room, or take that back"),
    "import": ("import_", TRY, "bring in the agents or the mail that another tool has"),
    "doctor": ("doctor", TRY, "whether mail reaches the agents here, and what to do if not"),
    "mcp": ("mcp", TRY, "the mailbox as an agent's own tools (MCP)"),
    "hook": ("hook", TRY, "what an agent's hook runs, and mail for any other runtime"),
    "demo": ("demo", TRY, "watch four agents exchange mail, one of them killed on the way"),
    "bench": ("bench", TRY, "measure this installation"),
    "guide": ("guide", TRY, "the few lines an agent needs to know"),
    "completion": ("completion", TRY, "completion for bash, zsh or fish"),
}

ALIASES = {"logs": "log", "daemon": "up"}


def find(name: str) -> Entry | None:
    return COMMANDS.get(ALIASES.get(name, name))


def near_to(name: str) -> list[str]:
    """Commands somebody may have meant."""
    from postroom.near import near

    return near(name, [*COMMANDS, "help"])


def load(entry: Entry) -> "Command":
    """The module of one command; `importlib` would be one import more."""
    return cast("Command", __import__(f"postroom.cli.commands.{entry[0]}", fromlist=["run"]))


def build(name: str, command: "Command") -> "Parser":
    """The parser of one command."""
    from postroom.cli.parser import Parser

    parser = Parser(name, command.HELP, command.EXAMPLES)
    command.add_arguments(parser)
    parser.add_everywhere()
    return parser
