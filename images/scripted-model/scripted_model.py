#!/usr/bin/env python3
"""A model endpoint that plays answers from a script, so that a real agent's CLI can be driven with no account.

It speaks the Anthropic Messages API (`POST …/v1/messages`, `…/count_tokens`, `GET …/v1/models`), the OpenAI Responses API
(`POST …/v1/responses`), Chat Completions (`POST …/v1/chat/completions`) and Gemini's (`POST …/models/M:generateContent`,
`:streamGenerateContent`). `GET /__log` gives back every request so far, credentials masked, so that a test can assert what the
CLI sent; with `--asked FILE` the name of each scenario is added to that file as it is asked for, but not of side requests.
Standard library only.
"""
import argparse
import json
import re
import signal
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import chat
import gemini
import messages
import responses
from scenario import Scenarios

SECRET = {"authorization", "x-api-key", "x-goog-api-key", "cookie", "proxy-authorization"}
# A test asks some dozens of times; whoever asks for ever must not fill the memory.
MOST_ENTRIES = 10_000


class Log:
    """Requests so far."""

    def __init__(self):
        self.entries = []
        self.lock = threading.Lock()

    def add(self, handler, body, scenario=None):
        """Writes a request down and returns its number."""
        headers = {key.lower(): value for key, value in handler.headers.items()}
        entry = {
            "at": time.time(),
            "method": handler.command,
            "path": handler.path,
            "headers": {key: "<masked>" if key in SECRET else value for key, value in headers.items()},
            "scenario": scenario,
            "body": body,
        }
        with self.lock:
            if len(self.entries) < MOST_ENTRIES:
                self.entries.append(entry)
            return len(self.entries)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    scenarios = None
    asked = None
    log = Log()

    def log_message(self, *_):
        """Requests go into the log that tests read, not to stderr."""

    def do_HEAD(self):
        self.answer(200, None)

    def do_GET(self):
        route = urlsplit(self.path).path
        if route == "/__log":
            return self.answer(200, self.log.entries)
        self.log.add(self, None)
        if route.endswith("/models"):
            model = {"type": "model", "id": "scripted", "display_name": "Scripted"}
            return self.answer(200, {"data": [model], "has_more": False})
        return self.answer(404, messages.error("404"))

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        route = urlsplit(self.path).path
        try:
            request = json.loads(raw)
        except ValueError:
            self.log.add(self, raw[:2000].decode("utf-8", "replace"))
            return self.answer(400, messages.error("400"))
        if route.endswith("/count_tokens"):
            self.log.add(self, request)
            return self.answer(200, {"input_tokens": max(1, len(raw) // 4)})
        if route.endswith("/messages"):
            return self.play(messages, request)
        if route.endswith("/chat/completions"):
            return self.play(chat, chat.as_messages(request))
        if route.endswith("/responses"):
            return self.play(responses, responses.as_messages(request))
        if route.endswith(":countTokens"):
            self.log.add(self, request)
            return self.answer(200, {"totalTokens": max(1, len(raw) // 4)})
        of_model = re.search(r"/models/([^/:]+):(generate|streamGenerate)Content$", route)
        if of_model:
            return self.play(gemini, gemini.as_messages(request, of_model.group(1), of_model.group(2) != "generate"))
        self.log.add(self, request)
        return self.answer(404, messages.error("404"))

    def play(self, api, request):
        scenario, turn = self.scenarios.turn(request)
        # Written down before the answer, so that a client that is killed leaves its request.
        number = self.log.add(self, request, scenario)
        if self.asked and not turn.get("side"):
            with open(self.asked, "a", encoding="utf-8") as file:
                file.write("%s\n" % scenario)
        time.sleep(turn.get("delay_ms", 0) / 1000)
        if "error" in turn:
            name = turn["error"]
            return self.answer(api.STATUSES.get(name) or int(name), api.error(name))
        if not request.get("stream"):
            if "hangs_after" in turn:
                threading.Event().wait()
            if "breaks_after" in turn:
                return self.break_off()
            return self.answer(200, api.message(turn, request, number))
        return self.stream(turn, api.events(turn, request, number))

    def stream(self, turn, events):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for sent, (name, data) in enumerate(events):
            if sent == turn.get("hangs_after"):
                threading.Event().wait()
            if sent == turn.get("breaks_after"):
                return self.break_off()
            data = data if isinstance(data, str) else json.dumps(data)
            head = "event: %s\n" % name if name else ""
            frame = ("%sdata: %s\n\n" % (head, data)).encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(frame), frame))
            self.wfile.flush()
            time.sleep(turn.get("chunk_delay_ms", 0) / 1000)
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def break_off(self):
        """Closes the connection, whatever was promised."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def answer(self, status, body):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Server(ThreadingHTTPServer):
    """Each connection on a thread of its own."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        # A client that goes away in the middle of an answer is what some tests are about.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def main():
    parser = argparse.ArgumentParser(description="A model endpoint that plays answers from a script")
    parser.add_argument("--scenarios", required=True, help="the JSON file with the script")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--asked", help="a file to which the name of each scenario is added when it is asked for")
    arguments = parser.parse_args()
    Handler.asked = arguments.asked
    Handler.scenarios = Scenarios(arguments.scenarios)
    # As process 1 of a container it would not die of a polite signal otherwise.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server = Server((arguments.host, arguments.port), Handler)
    print("listening on %s:%d" % server.server_address, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
