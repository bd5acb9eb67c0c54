#!/bin/sh
# Builds the image with buildah and runs it, without a registry or a daemon: root only.
#
#   sh tests/image/build.sh DIRECTORY    (kept files go there; storage and base are reused)
#
# The base is plain Debian from debootstrap, since a builder without a registry cannot pull one.
# Leaves with 77 when a tool is missing.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P)
work=${1:?name a directory to work in}
mkdir -p "$work"
work=$(CDPATH='' cd -- "$work" && pwd -P)

[ "$(id -u)" = 0 ] || { echo "the image build needs root"; exit 77; }
for tool in buildah debootstrap; do
    command -v "$tool" >/dev/null || { echo "$tool is not installed"; exit 77; }
done

export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
storage() { buildah --root "$work/storage" --runroot "$work/run" "$@"; }

base=localhost/forelock-base
if ! storage inspect --type image "$base" >/dev/null 2>&1; then
    rm -rf "$work/rootfs"
    debootstrap --variant=minbase --include=python3,ca-certificates bookworm "$work/rootfs" >"$work/debootstrap.log" ||
        { tail -n 5 "$work/debootstrap.log"; exit 1; }
    # A network with certificates of its own is this machine's affair: its bundle goes into the base.
    if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
        cp /etc/ssl/certs/ca-certificates.crt "$work/rootfs/etc/ssl/certs/ca-certificates.crt"
    fi
    container=$(storage from scratch)
    storage add --quiet "$container" "$work/rootfs" / >/dev/null
    storage commit --quiet --rm "$container" "$base" >/dev/null
    rm -rf "$work/rootfs"
fi

storage bud --format docker --build-arg BASE_IMAGE="$base" --tag forelock "$root"

container=$(storage from forelock)
trap 'storage rm "$container" >/dev/null' EXIT
run() { storage run "$container" -- "$@"; }
echo "user:    $(run id -u):$(run id -g)"
echo "version: $(run forelock --version)"
echo "venv:    $(run du -sm /opt/forelock/.venv | cut -f 1) MB"
run python -c '
import importlib.util, sys
found = [name for name in ("pytest", "mypy", "ruff") if importlib.util.find_spec(name)]
sys.exit(f"the image carries tools of development: {found}" if found else 0)
'
# The image starts on an empty volume, answers its health check, and stops on SIGTERM.
run python -c '
import pathlib, re, signal, subprocess, sys, time, urllib.request
server = subprocess.Popen(["forelock", "serve", "--port", "0", "--data", "/data/fresh"], stdout=subprocess.PIPE, text=True)
for line in server.stdout:
    if found := re.search(r"listens on (http://\S+)", line):
        break
else:
    sys.exit("the server ended before it listened")
for _ in range(600):
    try:
        urllib.request.urlopen(found[1] + "/health/live", timeout=5)
        break
    except OSError:
        time.sleep(0.1)
else:
    sys.exit("no answer from /health/live")
mode = pathlib.Path("/data/fresh/admin.key").stat().st_mode & 0o777
server.send_signal(signal.SIGTERM)
print(f"health:  live; admin.key has mode {mode:o}; stopped with {server.wait(60)}")
'
