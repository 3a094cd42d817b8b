#!/bin/sh
# Installs the real Gemini CLI for tests/real and prints the path of its program, with the Node that it needs: the one
# of the machine may be too old for it.
set -eu
NAME=gemini
VERSION="${GEMINI_VERSION:-0.61.0}"
NODE_VERSION=24.21.0
case "$(uname -m)" in
    x86_64) ARCH=x64 ;;
    aarch64) ARCH=arm64 ;;
    *) echo "no Node is published for $(uname -m)" >&2; exit 1 ;;
esac
PACKAGE="@google/gemini-cli@$VERSION node-linux-$ARCH@$NODE_VERSION"
INSIDE=gemini

finish() {
    cat >"$1/gemini" <<END
#!/bin/sh
modules="\$(dirname "\$0")/node_modules"
exec "\$modules/node-linux-$ARCH/bin/node" "\$modules/.bin/gemini" "\$@"
END
    chmod 755 "$1/gemini"
}

. "$(dirname "$0")/../npm-program.sh"
