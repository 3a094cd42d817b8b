#!/bin/sh
# Installs the real claude-agent-acp for tests/real and prints the path of its program, which runs on Node. It
# is told by a variable to use the Claude Code of install-claude.sh, so that no second one comes with it.
set -eu
NAME=claude-agent-acp
VERSION="${CLAUDE_AGENT_ACP_VERSION:-0.101.0}"
PACKAGE="@agentclientprotocol/claude-agent-acp@$VERSION"
INSIDE="node_modules/.bin/claude-agent-acp"
. "$(dirname "$0")/npm-program.sh"
