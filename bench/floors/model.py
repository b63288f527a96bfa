"""A model behind HTTP that says the same to everybody, at once: Chat Completions, streamed, in a thread of its own."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_WORDS = [{"index": 0, "delta": {"content": word}} for word in ("It ", "is ", "done.")]
_END = [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
_USAGE = [{"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}]
_EVENTS = [json.dumps(event) for event in [*({"choices": [word]} for word in _WORDS), *_END, *_USAGE]]
_BODY = "".join(f"data: {event}\n\n" for event in [*_EVENTS, "[DONE]"]).encode()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(_BODY)))
        self.end_headers()
        self.wfile.write(_BODY)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nobody reads it."""


@contextmanager
def answering() -> Iterator[str]:
    """The URL of it, for an agent file."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
