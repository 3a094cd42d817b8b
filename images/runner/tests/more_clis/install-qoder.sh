#!/bin/sh
# Installs the real Qoder for tests/more_clis and prints the path of its program.
set -eu
NAME=qoder
VERSION="${QODER_VERSION:-1.1.52}"
PACKAGE="@qoder-ai/qodercli@$VERSION"
INSIDE="node_modules/.bin/qodercli"
. "$(dirname "$0")/../npm-program.sh"
