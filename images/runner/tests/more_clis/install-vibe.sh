#!/bin/sh
# Installs the real Mistral Vibe for tests/more_clis and prints the path of the program that speaks ACP, with the Python that it
# needs: that of the machine may be too old for it, so one of a later Debian is unpacked beside it, with the libraries that
# it needs. It lies outside the checkout, keyed by version, and a finished installation is left as it is. With --where nothing
# is installed.
set -eu
VERSION="${VIBE_VERSION:-3.0.2}"
SUITE=trixie
PYTHON=3.13
TARGET="${MOORING_CACHE:-$HOME/.cache/mooring}/clis/vibe-$VERSION"
case "$(uname -m)" in
    x86_64) TRIPLE=x86_64-linux-gnu LOADER=lib64/ld-linux-x86-64.so.2 ;;
    aarch64) TRIPLE=aarch64-linux-gnu LOADER=lib/ld-linux-aarch64.so.1 ;;
    *) echo "nothing is known of $(uname -m)" >&2; exit 1 ;;
esac
ROOT="$TARGET/root"

# apt with lists and packages of its own, and none that are taken for installed.
apt_of_its_own() {
    apt-get -qq -o Dir::State="$TARGET/apt" -o Dir::State::status="$TARGET/apt/status" -o Dir::Cache="$TARGET/apt/cache" \
        -o Dir::Etc::sourcelist="$TARGET/apt/sources.list" -o Dir::Etc::sourceparts=- -o APT::Install-Recommends=false \
        -o Debug::NoLocking=true -o APT::Sandbox::User=root "$@" >&2
}

if [ "${1:-}" != --where ] && [ ! -f "$TARGET/whole" ]; then
    python3 -c 'import pip' || { echo "pip is missing: apt-get install python3-pip" >&2; exit 1; }
    # What is unpacked and written here cannot be moved, so a mark says when it is whole.
    rm -rf "$TARGET"
    mkdir -p "$TARGET/apt/lists/partial" "$TARGET/apt/cache/archives/partial" "$ROOT"
    : >"$TARGET/apt/status"
    # From where the machine has its own packages.
    mirror="$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep '/debian/*$' | head -n 1)"
    [ -n "$mirror" ] || { echo "no mirror of Debian among the machine's sources" >&2; exit 1; }
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $SUITE main" >"$TARGET/apt/sources.list"
    apt_of_its_own update
    apt_of_its_own install --yes --download-only "python$PYTHON"
    for package in "$TARGET"/apt/cache/archives/*.deb; do dpkg-deb -x "$package" "$ROOT"; done
    rm -rf "$TARGET/apt"
    cat >"$TARGET/python" <<END
#!/bin/sh
here="\$(dirname "\$0")"
export PYTHONHOME="\$here/root/usr" PYTHONPATH="\$here/site\${PYTHONPATH:+:\$PYTHONPATH}"
exec "\$here/root/usr/$LOADER" --library-path "\$here/root/usr/lib/$TRIPLE" "\$here/root/usr/bin/python$PYTHON" "\$@"
END
    chmod 755 "$TARGET/python"
    # The machine's pip, run by that Python, so that it chooses for it.
    pip="$(python3 -c 'import os, pip; print(os.path.dirname(os.path.dirname(pip.__file__)))')"
    PYTHONPATH="$pip" "$TARGET/python" -m pip install --quiet --disable-pip-version-check --no-compile --root-user-action ignore \
        --target "$TARGET/site" --only-binary=:all: "mistral-vibe==$VERSION" >&2
    # The variables are for this Python alone, and not for one that a tool starts.
    cat >"$TARGET/start.py" <<END
import os, sys
for name in ("PYTHONHOME", "PYTHONPATH"):
    os.environ.pop(name, None)
from vibe.acp.entrypoint import main
sys.exit(main())
END
    cat >"$TARGET/vibe-acp" <<END
#!/bin/sh
exec "\$(dirname "\$0")/python" "\$(dirname "\$0")/start.py" "\$@"
END
    chmod 755 "$TARGET/vibe-acp"
    "$TARGET/python" -m compileall -q "$TARGET/site" "$ROOT/usr/lib/python$PYTHON" >&2 || true
    : >"$TARGET/whole"
fi
echo "$TARGET/vibe-acp"
