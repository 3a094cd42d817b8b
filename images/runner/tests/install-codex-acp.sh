#!/bin/sh
# Installs the real codex-acp for tests/real and prints the path of its program, which runs on Node. It is told
# by a variable to use the Codex of install-codex.sh, so that no second one comes with it.
set -eu
NAME=codex-acp
VERSION="${CODEX_ACP_VERSION:-2.6.0}"
PACKAGE="@agentclientprotocol/codex-acp@$VERSION"
INSIDE="node_modules/.bin/codex-acp"
. "$(dirname "$0")/npm-program.sh"
