#!/bin/sh
# Installs the real OpenClaw for tests/real and prints the path of its program, with the Node that it needs. It is
# large: 800 MB.
set -eu
NAME=openclaw
VERSION="${OPENCLAW_VERSION:-2026.9.6}"
NODE_VERSION=24.21.0
case "$(uname -m)" in
    x86_64) ARCH=x64 ;;
    aarch64) ARCH=arm64 ;;
    *) echo "no Node is published for $(uname -m)" >&2; exit 1 ;;
esac
PACKAGE="openclaw@$VERSION node-linux-$ARCH@$NODE_VERSION"
INSIDE=openclaw

finish() {
    cat >"$1/openclaw" <<END
#!/bin/sh
modules="\$(dirname "\$0")/node_modules"
exec "\$modules/node-linux-$ARCH/bin/node" "\$modules/openclaw/openclaw.mjs" "\$@"
END
    chmod 755 "$1/openclaw"
}

. "$(dirname "$0")/../npm-program.sh"
