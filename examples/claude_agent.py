"""An agent of the Claude Agent SDK with a mailbox: hooks show it mail, and its tools answer it."""

import asyncio
import sys

import postroom
from postroom.sdk.claude import options

from claude_agent_sdk import ClaudeSDKClient, ResultMessage


async def main(task: str, patience: float) -> None:
    async with postroom.AsyncRoom(postroom.open(agent="builder")) as room:
        await room.join("builder", role="builder", description="Write to me when something must be built.")
        async with ClaudeSDKClient(options(room.room)) as client:
            while True:
                await client.query(task)
                async for message in client.receive_response():
                    if isinstance(message, ResultMessage):
                        print(message.result)
                if not await room.wait(timeout=patience):
                    break
                task = "You have mail."


asyncio.run(main(sys.argv[1], float(sys.argv[2])))
