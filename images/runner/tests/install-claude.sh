#!/bin/sh
# Installs the real Claude Code for tests/real and prints the path of its program. The platform's own
# package holds one native binary, so nothing of Node is needed to run it.
set -eu
NAME=claude
VERSION="${CLAUDE_VERSION:-2.1.332}"
case "$(uname -m)" in
    x86_64) ARCH=x64 ;;
    aarch64) ARCH=arm64 ;;
    *) echo "no Claude Code is published for $(uname -m)" >&2; exit 1 ;;
esac
PACKAGE="@anthropic-ai/claude-code-linux-$ARCH@$VERSION"
INSIDE="node_modules/@anthropic-ai/claude-code-linux-$ARCH/claude"
. "$(dirname "$0")/npm-program.sh"
