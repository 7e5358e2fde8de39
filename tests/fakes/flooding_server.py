"""A pcm_ws system in a process of its own: echoes, and from its 50th frame on sends a text as fast as it can.

    python flooding_server.py TEXT

It prints its port once it listens.
"""

import asyncio
import sys

from aiohttp import WSMsgType, web


async def talk(request: web.Request) -> web.StreamResponse:
    """One connection."""
    ws = web.WebSocketResponse(timeout=0.5)
    await ws.prepare(request)
    await ws.receive_json()
    await ws.send_json({"type": "ready", "clocking": "input"})
    heard = 0
    try:
        async for message in ws:
            if message.type is WSMsgType.BINARY:
                await ws.send_bytes(message.data)
                heard += 1
            while heard >= 50:
                await ws.send_str(sys.argv[1])
    except ConnectionError:
        pass
    return ws


async def main() -> None:
    """Serve until the process is ended."""
    app = web.Application()
    app.router.add_get("/", talk)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
