#!/bin/sh
# Installs the real Reasonix for tests/more_clis and prints the path of its program.
set -eu
NAME=reasonix
VERSION="${REASONIX_VERSION:-1.38.11}"
case "$(uname -m)" in
    x86_64) ARCH=x64 ;;
    aarch64) ARCH=arm64 ;;
    *) echo "no Reasonix is published for $(uname -m)" >&2; exit 1 ;;
esac
# The program itself, without the package that chooses one.
PACKAGE="@reasonix/cli-linux-$ARCH@$VERSION"
INSIDE="node_modules/@reasonix/cli-linux-$ARCH/bin/reasonix"

. "$(dirname "$0")/../npm-program.sh"
