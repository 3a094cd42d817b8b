#!/bin/sh
# Installs the real omp for tests/real and prints the path of its program, with the Bun that it needs.
set -eu
NAME=omp
VERSION="${OMP_VERSION:-18.2.0}"
BUN_VERSION=1.4.5
case "$(uname -m)" in
    x86_64) ARCH=x64-baseline NATIVES=linux-x64 ;;
    aarch64) ARCH=aarch64 NATIVES=linux-arm64 ;;
    *) echo "no Bun is published for $(uname -m)" >&2; exit 1 ;;
esac
PACKAGE="@oh-my-pi/pi-coding-agent@$VERSION @oh-my-pi/pi-natives-$NATIVES@$VERSION @oven/bun-linux-$ARCH@$BUN_VERSION"
INSIDE=omp

finish() {
    cat >"$1/omp" <<END
#!/bin/sh
modules="\$(dirname "\$0")/node_modules"
exec "\$modules/@oven/bun-linux-$ARCH/bin/bun" "\$modules/@oh-my-pi/pi-coding-agent/dist/cli.js" "\$@"
END
    chmod 755 "$1/omp"
}

. "$(dirname "$0")/../npm-program.sh"
