#!/bin/sh
# Installs the real Copilot CLI for tests/real and prints the path of its program. The platform's own package holds
# one native binary, so nothing of Node is needed to run it.
set -eu
NAME=copilot
VERSION="${COPILOT_VERSION:-1.0.102}"
case "$(uname -m)" in
    x86_64) ARCH=x64 ;;
    aarch64) ARCH=arm64 ;;
    *) echo "no Copilot CLI is published for $(uname -m)" >&2; exit 1 ;;
esac
PACKAGE="@github/copilot-linux-$ARCH@$VERSION"
INSIDE="node_modules/@github/copilot-linux-$ARCH/copilot"
. "$(dirname "$0")/../npm-program.sh"
