#!/bin/sh
# Installs the real CodeBuddy for tests/real and prints the path of its program, with the Node that it needs. It is
# published inside the SDK of the same version line only.
set -eu
NAME=codebuddy
VERSION="${CODEBUDDY_VERSION:-0.3.201}"
NODE_VERSION=24.21.0
case "$(uname -m)" in
    x86_64) ARCH=x64 ;;
    aarch64) ARCH=arm64 ;;
    *) echo "no Node is published for $(uname -m)" >&2; exit 1 ;;
esac
PACKAGE="@tencent-ai/agent-sdk@$VERSION node-linux-$ARCH@$NODE_VERSION"
INSIDE=codebuddy

finish() {
    cat >"$1/codebuddy" <<END
#!/bin/sh
modules="\$(dirname "\$0")/node_modules"
exec "\$modules/node-linux-$ARCH/bin/node" "\$modules/@tencent-ai/agent-sdk/cli/bin/codebuddy" "\$@"
END
    chmod 755 "$1/codebuddy"
}

. "$(dirname "$0")/../npm-program.sh"
