#!/usr/bin/env python3
"""An MCP server with one tool, `word`, which says the word that it was given: by TOKEN over stdio, by a header over HTTP.

`mcp_server.py` speaks over stdin and stdout, `mcp_server.py --http PORT` over streamable HTTP on the loopback address.
"""
import http.server
import json
import os
import sys


def answer(request, word):
    """The result of a request; none of one that it does not know."""
    method = request.get("method")
    if method == "initialize":
        version = request["params"]["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "words", "version": "1"}}
    if method == "tools/list":
        schema = {"type": "object", "properties": {}}
        return {"tools": [{"name": "word", "description": "Says the word.", "inputSchema": schema}]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": "word-%s" % word}]}
    if method == "ping":
        return {}
    return None


def reply(request, word):
    result = answer(request, word)
    if result is None:
        error = {"code": -32601, "message": "Method not found: %s" % request.get("method")}
        return {"jsonrpc": "2.0", "id": request["id"], "error": error}
    return {"jsonrpc": "2.0", "id": request["id"], "result": result}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        word = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if not word:
            self.send_response(401)
            self.end_headers()
        elif "id" not in request:
            self.send_response(202)
            self.end_headers()
        else:
            body = json.dumps(reply(request, word)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def do_GET(self):
        self.send_response(405)
        self.end_headers()

    def log_message(self, *_):
        pass


def main():
    if sys.argv[1:2] == ["--http"]:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
        print("listening", flush=True)
        server.serve_forever()
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request and "method" in request:
            print(json.dumps(reply(request, os.environ.get("TOKEN", ""))), flush=True)


if __name__ == "__main__":
    main()
