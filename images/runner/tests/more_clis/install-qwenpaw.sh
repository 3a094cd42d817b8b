#!/bin/sh
# Installs the real QwenPaw for tests/more_clis and prints the path of its program. It lies outside the checkout, keyed by version, and
# a finished installation is left as it is. With --where nothing is installed.
set -eu
VERSION="${QWENPAW_VERSION:-2.2.2.post1}"
TARGET="${MOORING_CACHE:-$HOME/.cache/mooring}/clis/qwenpaw-$VERSION"
if [ "${1:-}" != --where ] && [ ! -f "$TARGET/whole" ]; then
    command -v python3 >/dev/null || { echo "python3 is missing: apt-get install python3-venv" >&2; exit 1; }
    # An environment of Python cannot be moved, so a mark says when it is whole.
    rm -rf "$TARGET"
    python3 -m venv "$TARGET" >&2
    "$TARGET/bin/pip" install --quiet --disable-pip-version-check "qwenpaw==$VERSION" >&2
    : >"$TARGET/whole"
fi
echo "$TARGET/bin/qwenpaw"
