#!/bin/sh
# Installs the real Codex for tests/real_codex and prints the path of its program.
#
# The platform's own package holds one native binary, so nothing of Node is needed to run it and no install
# script is. It lies outside the checkout, keyed by version, and a finished installation is left as it is.
# With --where it installs nothing.
set -eu

VERSION="${CODEX_VERSION:-0.171.0}"
CACHE="${MOORING_CACHE:-$HOME/.cache/mooring}/clis"
case "$(uname -m)" in
    x86_64) ARCH=x64 TRIPLE=x86_64-unknown-linux-musl ;;
    aarch64) ARCH=arm64 TRIPLE=aarch64-unknown-linux-musl ;;
    *) echo "no Codex is published for $(uname -m)" >&2; exit 1 ;;
esac
PACKAGE="@openai/codex@$VERSION-linux-$ARCH"
TARGET="$CACHE/codex-$VERSION"
INSIDE="node_modules/@openai/codex/vendor/$TRIPLE/bin/codex"

if [ "${1:-}" != --where ] && [ ! -x "$TARGET/$INSIDE" ]; then
    command -v npm >/dev/null || { echo "npm is missing: apt-get install npm" >&2; exit 1; }
    mkdir -p "$CACHE"
    # Made beside the target and moved: an installation that was cut off is never taken for a whole one.
    STAGE="$(mktemp -d "$CACHE/.codex-$VERSION.XXXXXX")"
    trap 'rm -rf "$STAGE"' EXIT
    npm install --prefix "$STAGE" --ignore-scripts --no-audit --no-fund --no-package-lock --loglevel=error \
        "$PACKAGE" >&2
    [ -x "$STAGE/$INSIDE" ] || { echo "$PACKAGE holds no program" >&2; exit 1; }
    chmod 755 "$STAGE"
    rm -rf "$TARGET"
    mv "$STAGE" "$TARGET"
fi
echo "$TARGET/$INSIDE"
