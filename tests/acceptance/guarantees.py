"""What the room promises, as data. Each promise is proven by tests that bear its name:
`@pytest.mark.promise("crash")`. A promise without a test fails the build, and so does a test that names
a promise nobody made.
"""

PROMISES: dict[str, str] = {
    # sending
    "crash": "Whatever process is killed, and when: a message whose send returned is stored exactly once.",
    "durability": "A room set to `full` has what it told on the disk before it tells it, except a claim.",
    "atomic": "A change and its event are stored together or not at all, and what is refused leaves nothing.",
    "idempotent": "What is sent again with the same key is one message; other content under it is refused.",
    "lossless-ids": "Two messages never share an id or a handle.",
    "told-after-commit": "What was stored is told as stored, even when nobody could be woken for it.",
    "scheduled": "Scheduled mail is offered from its moment on, and not before.",
    "expiry": "What has expired is never shown to anybody.",
    "withdraw": "What the sender has taken back is not shown to anybody afterwards.",
    "types": "A payload that does not fit its type is refused by its field, and nothing is stored.",
    "own-types": "A type that users register is held like ours, and one that cannot be held is refused.",
    "bad-input": "Input that cannot be stored is refused with a sentence about it, and nothing is stored.",
    "attachments": "What was attached comes out as it was, for as long as a message names it, and no longer.",
    "spill": "A body too large to be put before an agent is in a file, which goes when its message goes.",
    # addresses
    "groups": "A group means whoever belongs to it when the message is sent, and never the sender.",
    "escalation": "An escalation without an address goes to the supervisor, or else to the people.",
    "topics": "Who follows a topic gets what is written to it from then on, and what was written stays.",
    "one-of-many": "What is for one of a group is shown to one at a time, and is lost with none of them.",
    "nobody-is-an-error": "A message that would reach nobody is refused, and near matches are named.",
    "broadcast-guard": "What would reach very many is refused until that is confirmed.",
    # asking
    "request-watch": "Who asks is told when nobody will answer any more, instead of waiting in vain.",
    "request-letter": "An asker that does not wait is told once when who saw it goes, never after an answer.",
    "idle": "Who asked an agent that is idle is told once, and an answer may still come.",
    "only-who-was-asked": "What ends the wait for an answer was written by somebody who was asked.",
    "no-circle": "Two agents do not wait for each other's answers.",
    # threads
    "loop-guard": "Agents answer each other only so often until a person does; what is held back says so.",
    # decisions
    "gate": "A gate is decided once, by somebody who was asked, or denied when its time is over.",
    "unsaid": "The letter that would deny a gate is found and counted nowhere before its moment.",
    # the ladder
    "ladder": "A delivery makes only the legal moves: the code, the schema and the docs say the same ones.",
    "seen-needs-evidence": "Seen means evidence, and the receipt names its kind.",
    "exclusive": "A message is claimed by one process at a time.",
    "order": "Urgent before high before normal before low, re-offers first, then first come, first served.",
    "stale-claim": "A claim that lapsed is refused, and whoever holds the message now keeps it.",
    "no-clock-lapses-a-handed-offer": "What was handed over is not taken back while its process lives.",
    "never-silently-twice": "Nothing is shown again without saying that it may have been shown before.",
    "never-stuck": "What a process held when it died comes back to whoever waits.",
    "dead": "After five attempts nobody proved, a delivery is dead and its sender gets one bounce.",
    "bounce": "Each refusal and each death sends exactly one bounce, and a bounce never bounces.",
    "listen": "One program at a time listens on a mailbox, and a message is seen when it asks for the next.",
    "model": "Under any sequence of acts, deaths and clock jumps the room does what a page of Python says.",
    # what a model reads
    "frame": "Nothing that is written in a message can open, close or imitate the frame a model reads it in.",
    "frame-once": "No message is in a frame twice; those that do not fit are counted, named and not marked.",
    "frame-size": "Ten messages of 400 characters are framed with at most 12 % more and 60 characters each.",
    "policy": "What a route, a rate or a quota forbids is refused by name and not stored; nothing is dropped.",
    "manners": "Who wants to be left alone is, and gets all of it later; what cannot wait comes through.",
    "digest": "Several messages can be one offering, seen as a whole or not at all.",
    "guide": "The guide has at most 1,200 characters, and every command in it can be run.",
    # waking
    "pushed": "Who waits is woken when its mail is stored, and a sender when its message moves.",
    "missed-ring": "A ring that is missed costs time and nothing else.",
    "idle-costs-nothing": "Waiting uses no CPU.",
    "quiet": "While a quiet marker is valid, nothing of its agent is due or offered, whoever dies, or when.",
    "async": "The async face needs no thread for a waiter, and a cancelled call loses no message.",
    "async-level": "Whatever a room can do can be awaited too, with the same arguments.",
    # history
    "events": "A reader that pages through the events skips none, however many write meanwhile.",
    "replay": "The journals alone rebuild a room with the same state.",
    "keep": "Pruned, redacted, backed up and restored, a room still verifies.",
    "views": "Any SQLite client can read `queue` and `agent_messages` while others write.",
    "search": "A search finds what was sent before it began, newest first, however far its index is.",
    "search-forgets": "What is redacted or removed leaves no word in the search index, nor in its files.",
    "stats": "The statistics count each delivery once, and only what was handed over as put into an agent.",
    # the store
    "tenants": "Nothing of one tenant is visible to another.",
    "held-apart": "Mail that is held, however much, makes nobody's next message slower to find.",
    "pages": "No answer is longer than a page, so that no reader holds the others up.",
    "wal": "The write-ahead log does not grow without bound.",
    "migrations": "The schema is what its migrations make.",
    "create-race": "Processes that make the room at once all find it made, once.",
    "newer": "A process too old for the room stops and says so before it writes anything wrong.",
    "private": "What is in a room is for its owner's eyes only.",
    "fork": "A room used before a fork works in parent and children.",
    "threads": "A room may be used from many threads.",
    "clock": "A clock that jumps loses nothing, shows nothing twice and changes no order.",
    # faults
    "full-disk": "On a full disk a send is refused, and nothing that was told is lost.",
    "read-only": "A room that cannot be written can be read, and says why it cannot be written.",
    "foreign": "A room of another user is refused.",
    "network-file-system": "No room is made where locks cannot be trusted.",
    "corrupt": "A damaged file is called damaged, and is not made worse.",
    "locked": "Who cannot get the lock is told so in time, and nothing is lost.",
    "never-busy-without-cause": "Opening, closing and mending a room at once refuses nobody.",
    # who is who, and where
    "project": "All worktrees of a repository are one project, and two repositories are never one.",
    "rename": "An agent that is renamed keeps its mail, and no running process is misled.",
    "platforms": "The core works without fcntl, Unix sockets, /proc and pty.",
    "long-paths": "A home too long for a socket address still rings.",
    # for programs
    "exports": "A dozen exported names are there, and stay.",
    "examples": "The documented examples run as they stand.",
}
