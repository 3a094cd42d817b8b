#!/bin/sh
# Installs the real Hermes for tests/more_clis, with what it needs to speak ACP and MCP, and prints the path of its program. It lies
# outside the checkout, keyed by version, and a finished installation is left as it is. With --where nothing is installed.
set -eu
VERSION="${HERMES_VERSION:-0.19.0}"
TARGET="${MOORING_CACHE:-$HOME/.cache/mooring}/clis/hermes-with-mcp-$VERSION"
if [ "${1:-}" != --where ] && [ ! -f "$TARGET/whole" ]; then
    command -v python3 >/dev/null || { echo "python3 is missing: apt-get install python3-venv" >&2; exit 1; }
    # An environment of Python cannot be moved, so a mark says when it is whole.
    rm -rf "$TARGET"
    python3 -m venv "$TARGET" >&2
    "$TARGET/bin/pip" install --quiet --disable-pip-version-check "hermes-agent[acp,mcp]==$VERSION" >&2
    : >"$TARGET/whole"
fi
echo "$TARGET/bin/hermes"
