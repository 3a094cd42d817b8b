#!/bin/sh
# Installs the real opencode for tests/real and prints the path of its program. The platform's own package holds one
# native binary, so nothing of Node is needed to run it.
set -eu
NAME=opencode
VERSION="${OPENCODE_VERSION:-1.18.33}"
case "$(uname -m)" in
    x86_64) ARCH=x64-baseline ;;
    aarch64) ARCH=arm64 ;;
    *) echo "no opencode is published for $(uname -m)" >&2; exit 1 ;;
esac
PACKAGE="opencode-linux-$ARCH@$VERSION"
INSIDE="node_modules/opencode-linux-$ARCH/bin/opencode"
. "$(dirname "$0")/../npm-program.sh"
