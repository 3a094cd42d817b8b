#!/bin/sh
# Installs the real Qwen Code for tests/real and prints the path of its program, with the Node that it needs: the one
# of the machine may be too old for it.
set -eu
NAME=qwen
VERSION="${QWEN_VERSION:-0.24.4}"
NODE_VERSION=24.21.0
case "$(uname -m)" in
    x86_64) ARCH=x64 ;;
    aarch64) ARCH=arm64 ;;
    *) echo "no Node is published for $(uname -m)" >&2; exit 1 ;;
esac
PACKAGE="@qwen-code/qwen-code@$VERSION node-linux-$ARCH@$NODE_VERSION"
INSIDE=qwen

finish() {
    cat >"$1/qwen" <<END
#!/bin/sh
modules="\$(dirname "\$0")/node_modules"
exec "\$modules/node-linux-$ARCH/bin/node" "\$modules/@qwen-code/qwen-code/cli.js" "\$@"
END
    chmod 755 "$1/qwen"
}

. "$(dirname "$0")/../npm-program.sh"
