"""Serves an application on a free port, which it writes to standard output."""
import json
import socket

import uvicorn


def serve(app):
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])


class EventLog:
    """Keeps the events of all streams, so that clients can resume them; an event store of the SDKs."""

    def __init__(self):
        self.events = []

    async def store_event(self, stream_id, message):
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id, send):
        last = int(last_event_id)
        stream_id = self.events[last - 1][0]
        for number, (each, message) in enumerate(self.events[last:], last + 1):
            if each == stream_id and message is not None:
                await send(self.message_type(message, str(number)))
        return stream_id
