"""An agent that is nothing but a loop: it answers what it is asked, and can be killed at any moment."""

import postroom

room = postroom.open(agent="builder")
room.join("builder", role="builder", description="Write to me when something must be built.")

for message in room.listen("builder"):
    if message.body == "stop":
        room.ack(message)  # or it comes again at the next start
        break
    again = " (perhaps for the second time)" if message.shown_before else ""
    room.reply(message, f"Built{again}: {message.body}")
