#!/bin/sh
# Installs the real dsh for tests/more_clis and prints the path of its program. It lies outside the checkout, keyed by version, and
# a finished installation is left as it is. With --where nothing is installed.
set -eu
VERSION="${DSH_VERSION:-0.2.1rc2}"
TARGET="${MOORING_CACHE:-$HOME/.cache/mooring}/clis/dsh-$VERSION"
if [ "${1:-}" != --where ] && [ ! -f "$TARGET/whole" ]; then
    command -v python3 >/dev/null || { echo "python3 is missing: apt-get install python3-venv" >&2; exit 1; }
    # An environment of Python cannot be moved, so a mark says when it is whole.
    rm -rf "$TARGET"
    python3 -m venv "$TARGET" >&2
    "$TARGET/bin/pip" install --quiet --disable-pip-version-check --only-binary=:all: \
        "deepseek-harness-runtime-bin==$VERSION" >&2
    # It wants to be told where its home is: a Runtime says it in a variable, a test's home is nowhere before the test.
    cat >"$TARGET/dsh" <<END
#!/bin/sh
DSH_HOME="\${DSH_HOME:-\$HOME/.dsh}" exec "$TARGET/bin/dsh" "\$@"
END
    chmod 755 "$TARGET/dsh"
    : >"$TARGET/whole"
fi
echo "$TARGET/dsh"
