"""An agent of the OpenAI Agents SDK with a mailbox: mail is in its next request, and its tools answer it."""

import asyncio
import sys

import postroom
from postroom.sdk.openai import Mailbox

from agents import Agent


async def main(task: str, patience: float) -> None:
    room = postroom.open(agent="builder")
    room.join("builder", role="builder", description="Write to me when something must be built.")
    async with Mailbox(room) as mailbox:
        agent = Agent(name="builder", instructions="Do what your mail asks for.", tools=mailbox.tools)
        result = await mailbox.run(agent, task)
        print(result.final_output)
        while await mailbox.wait(timeout=patience):
            result = await mailbox.run(agent, mailbox.history)
            print(result.final_output)


asyncio.run(main(sys.argv[1], float(sys.argv[2])))
