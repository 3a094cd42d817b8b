#!/usr/bin/env python3
"""One repository, `/app.git`, over HTTPS and for one user, by git's own `http-backend`. Tests only.

User and password are in the variables GIT_USER and GIT_PASSWORD; all that it writes lies below the folder in STATE. The
certificate is its own, so who asks must be told not to check it.
"""
import base64
import os
import ssl
import subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

STATE = os.environ.get("STATE", "/tmp/git")
PORT = 8443
ALLOWED = "Basic " + base64.b64encode(
    ("%s:%s" % (os.environ["GIT_USER"], os.environ["GIT_PASSWORD"])).encode()
).decode()


def git(*arguments, cwd=STATE):
    """Runs git with a home of its own."""
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *who, *arguments], cwd=cwd, env=dict(os.environ, HOME=STATE), check=True)


def prepare():
    """The repository with one commit, and the certificate."""
    os.makedirs(STATE + "/work")
    git("init", "--quiet", "--bare", "app.git")
    git("config", "http.receivepack", "true", cwd=STATE + "/app.git")
    with open(STATE + "/work/README", "w", encoding="utf-8") as file:
        file.write("The app.\n")
    git("init", "--quiet", cwd=STATE + "/work")
    git("add", "README", cwd=STATE + "/work")
    git("commit", "--quiet", "--message=Begin", cwd=STATE + "/work")
    git("push", "--quiet", STATE + "/app.git", "main", cwd=STATE + "/work")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=git",
         "-keyout", STATE + "/key.pem", "-out", STATE + "/cert.pem"],
        check=True, stderr=subprocess.DEVNULL,
    )


class Handler(BaseHTTPRequestHandler):
    """One request, handed to git's program."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.serve(b"")

    def do_POST(self):
        self.serve(self.body())

    def body(self):
        """The body, whole or in chunks."""
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = []
        while size := int(self.rfile.readline().strip() or b"0", 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def serve(self, body):
        if self.headers.get("authorization") != ALLOWED:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        url = urlsplit(self.path)
        variables = {
            "PATH": os.environ["PATH"], "HOME": STATE, "GIT_PROJECT_ROOT": STATE, "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command, "PATH_INFO": url.path, "QUERY_STRING": url.query, "REMOTE_USER": "bot",
            "CONTENT_TYPE": self.headers.get("content-type", ""), "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
            "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
        }
        answer = subprocess.run(["git", "http-backend"], env=variables, input=body, capture_output=True, check=False)
        head, _, rest = answer.stdout.partition(b"\r\n\r\n")
        fields = [line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line]
        status = next((value for name, value in fields if name == "Status"), "200 OK")
        self.send_response(int(status.split(" ", 1)[0]))
        for name, value in fields:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)


def main():
    """Serves until it is ended."""
    prepare()
    server = ThreadingHTTPServer(("0.0.0.0", PORT), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(STATE + "/cert.pem", STATE + "/key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
