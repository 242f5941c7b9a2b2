"""Space out attempts by connections: a client that only receives does not lose its mail.

A connection that ended without an acknowledgement proves nothing about the message. So its attempt does not
count towards `max_unproven`, and the delivery is pushed again after a pause, which grows. An agent that asks
for mail gets it before that, in the usual order.
"""

from typing import TYPE_CHECKING

from postroom.model.ladder import Outcome

if TYPE_CHECKING:
    from postroom.config import Settings
    from postroom.model.message import Mail
    from postroom.store.contract import ReadTx, WriteTx

# The routes whose reader may go away at any time, and says nothing when it does. A program that takes mail by
# HTTP is not among them: one that ends over the same message each time would never come to the next one.
CONNECTIONS = frozenset(("websocket", "listen", "mcp"))
# Seconds before the next attempt, by the number of those that nothing proved. The first break costs nothing.
PAUSES = (0, 1, 5, 15, 60, 300, 900, 3600)


def next_attempt(tx: "WriteTx", mail: "Mail") -> int | None:
    """Return when an unproven delivery is pushed again, or None if its route does not wait."""
    delivery, end = mail.delivery, mail.message.expires_at
    if delivery.route not in CONNECTIONS:
        return None
    again = tx.now + 1000 * PAUSES[min(delivery.unproven, len(PAUSES) - 1)]
    return again if end is None else min(again, end)


def is_over(tx: "ReadTx", mail: "Mail", settings: "Settings") -> bool:
    """Return True if the attempt that ends now is the last: enough that count were unproven."""
    if mail.delivery.route in CONNECTIONS:
        return False
    counted, route = 1, ""
    for event in tx.history(mail.delivery.seq, mail.delivery.recipient_id):
        if event.type == "delivery.offered":
            route = str(event.payload["route"])
        elif event.type == "delivery.retried":
            counted = 1
        elif event.payload.get("outcome") == Outcome.UNPROVEN.value and route not in CONNECTIONS:
            counted += 1
    return counted >= settings.max_unproven
