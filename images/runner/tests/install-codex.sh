#!/bin/sh
# Installs the real Codex for tests/real and prints the path of its program. The platform's own package
# holds one native binary, so nothing of Node is needed to run it.
set -eu
NAME=codex
VERSION="${CODEX_VERSION:-0.171.0}"
case "$(uname -m)" in
    x86_64) ARCH=x64 TRIPLE=x86_64-unknown-linux-musl ;;
    aarch64) ARCH=arm64 TRIPLE=aarch64-unknown-linux-musl ;;
    *) echo "no Codex is published for $(uname -m)" >&2; exit 1 ;;
esac
PACKAGE="@openai/codex@$VERSION-linux-$ARCH"
INSIDE="node_modules/@openai/codex/vendor/$TRIPLE/bin/codex"
. "$(dirname "$0")/npm-program.sh"
