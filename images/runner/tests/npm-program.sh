# Sourced by the installers beside it, which set NAME, VERSION, PACKAGE (with its version; several with blanks
# between) and INSIDE, the path of the program in what npm installs, to which a function finish may add. Prints
# the program's path.
#
# It lies outside the checkout, keyed by version, and a finished installation is left as it is. No install script
# is run, and nothing optional comes with it. With --where nothing is installed.

TARGET="${MOORING_CACHE:-$HOME/.cache/mooring}/clis/$NAME-$VERSION"

if [ "${1:-}" != --where ] && [ ! -x "$TARGET/$INSIDE" ]; then
    command -v npm >/dev/null || { echo "npm is missing: apt-get install npm" >&2; exit 1; }
    mkdir -p "$(dirname "$TARGET")"
    # Made beside the target and moved: an installation that was cut off is never taken for a whole one.
    STAGE="$(mktemp -d "$(dirname "$TARGET")/.$NAME-$VERSION.XXXXXX")"
    trap 'rm -rf "$STAGE"' EXIT
    npm install --prefix "$STAGE" --ignore-scripts --omit=optional --no-audit --no-fund --no-package-lock \
        --loglevel=error $PACKAGE >&2
    if command -v finish >/dev/null; then finish "$STAGE"; fi
    [ -x "$STAGE/$INSIDE" ] || { echo "$PACKAGE holds no program" >&2; exit 1; }
    chmod 755 "$STAGE"
    rm -rf "$TARGET"
    mv "$STAGE" "$TARGET"
fi
echo "$TARGET/$INSIDE"
