#!/bin/sh
# Installs the real Claude Code for tests/real_claude.rs and prints the path of its program.
#
# The platform's own package holds one native binary, so nothing of Node is needed to run it and no install
# script is. It lies outside the checkout, keyed by version, and a finished installation is left as it is.
# With --where it installs nothing.
set -eu

VERSION="${CLAUDE_VERSION:-2.1.332}"
CACHE="${MOORING_CACHE:-$HOME/.cache/mooring}/clis"
case "$(uname -m)" in
    x86_64) ARCH=x64 ;;
    aarch64) ARCH=arm64 ;;
    *) echo "no Claude Code is published for $(uname -m)" >&2; exit 1 ;;
esac
PACKAGE="@anthropic-ai/claude-code-linux-$ARCH"
TARGET="$CACHE/claude-$VERSION"
PROGRAM="$TARGET/node_modules/$PACKAGE/claude"

if [ "${1:-}" != --where ] && [ ! -x "$PROGRAM" ]; then
    command -v npm >/dev/null || { echo "npm is missing: apt-get install npm" >&2; exit 1; }
    mkdir -p "$CACHE"
    # Made beside the target and moved: an installation that was cut off is never taken for a whole one.
    STAGE="$(mktemp -d "$CACHE/.claude-$VERSION.XXXXXX")"
    trap 'rm -rf "$STAGE"' EXIT
    npm install --prefix "$STAGE" --ignore-scripts --no-audit --no-fund --no-package-lock --loglevel=error \
        "$PACKAGE@$VERSION" >&2
    [ -x "$STAGE/node_modules/$PACKAGE/claude" ] || { echo "$PACKAGE@$VERSION holds no program" >&2; exit 1; }
    chmod 755 "$STAGE"
    rm -rf "$TARGET"
    mv "$STAGE" "$TARGET"
fi
echo "$PROGRAM"
