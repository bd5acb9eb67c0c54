#!/bin/sh
# Sets up and runs anything here. `./do` alone lists what there is; CONTRIBUTING.md says more.
set -eu

usage() {
    cat <<'END'
usage: ./do COMMAND [ARGUMENTS]

  demo [--once] [--data DIR] [--bundle FILE]
                                  start the service and judge the shipped evaluation; --bundle saves what
                                  shows the verdict to be right, and checks it
  serve [--data DIR] [--host H] [--port P]
                                  run the service
  forelock ARGUMENTS              the `forelock` command
  migrate [--data DIR]            bring the database's schema up to this version
  test [--all] [--seed N] [--python 3.x] [PYTEST ARGUMENTS]
                                  run the tests in a fixed random order; --all adds simulations and the image
                                  build, and searches in a new order with a new seed, or with N; --python: on
                                  that version, in its own environment
  test --alone [FILE ...]         run every test file, or those named, in a process of its own
  quick [--all]                   format, lint, types, and the nearest tests of what was changed: seconds;
                                  --all: every test that is known to run it
  map [PYTEST ARGUMENTS]          run the tests and note which functions each of them runs: `quick` chooses by it
  mutants [--count N] [--seed N] [--seconds S] [--only PATH ...]
                                  plant faults one at a time in a copy, and say which of them no test notices
  coverage [--python 3.x] [--floor PERCENT FILES] [PYTEST ARGUMENTS]
                                  how much of the service the tests run that need no other process
  check                           format, lint, types, layers, OpenAPI, Dockerfile
  openapi                         write openapi/openapi.json from the code
  pages                           write every generated page and the API's description from the code
  docs [DIR]                      build the pages of docs/ as a site with a search, in .do/site or DIR
  picture                         draw the README's picture of a verdict page, from the demo, with Chromium
  new-test NAME                   begin a statistical test: its module, tests, page and words
  bench [--json FILE] [--only GROUP ...] [--write | --beside [REF]]
                                  measure against other packages, or beside an earlier checkout: what rose
  release [--out DIR] [--python 3.x]
                                  build both distributions into dist/, twice to the same bytes, with bills of materials
                                  and sums; install and try them on every Python served
  simulate [PYTEST ARGUMENTS]     the simulations alone: coverage and type I error
  chaos [--kills N] [--world W]   the kill campaign: SIGKILL at random moments under a stream of jobs
  uv ARGUMENTS                    the uv this checkout uses
END
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)

# uv reads uv.lock and makes the environment. One on PATH serves from this version on; otherwise the
# wheel below is fetched, and used only if its SHA-256 is the one written here.
uv_version=0.13.8
uv_wheel() {
    libc=manylinux
    if ls /lib/ld-musl-* >/dev/null 2>&1; then libc=musllinux; fi
    case "$(uname -s) $(uname -m) $libc" in
        "Linux x86_64 manylinux")
            tag=manylinux_2_17_x86_64.manylinux2014_x86_64
            sha256=e18a57b8b352eb7c8feb317b9f6f533c8f0ad9673fd6cf34bbe3cf1a9f6a8984 ;;
        "Linux x86_64 musllinux")
            tag=musllinux_1_1_x86_64
            sha256=29451c60f5e8b07403e0a175d5229efc36b0289b34143ff4aaa499a5dd52553a ;;
        "Linux aarch64 "*)
            tag=manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64
            sha256=0b3e8b1a4f5e405e31e2ff33de8af4744831e9f7338539671efbd8c3c94e791d ;;
        *) return 1 ;;
    esac
    wheel=uv-$uv_version-py3-none-$tag.whl
}

say() { printf '%s\n' "$*" >&2; }
fail() { say "./do: $*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# --- what the system has to offer -----------------------------------------------------------------

# Installs Debian packages. Only root can; the caller tells everybody else what to install.
apt_install() {
    [ "$(id -u)" = 0 ] && have apt-get || return 1
    say "installing $* with apt"
    apt_log=$state/apt.log
    install="apt-get -q -y -o Dpkg::Use-Pty=0 --no-install-recommends install"
    # shellcheck disable=SC2086
    {
        DEBIAN_FRONTEND=noninteractive $install "$@" >"$apt_log" 2>&1 ||
            { apt-get -q update >>"$apt_log" 2>&1 && DEBIAN_FRONTEND=noninteractive $install "$@" >>"$apt_log" 2>&1; }
    } || { tail -n 5 "$apt_log" >&2; return 1; }
}

# Where the environment and the tools live: in the checkout, or in the cache when it is read-only.
choose_places() {
    state=$root/.do venv=$root/.venv work=$root
    cache=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
    if [ -z "$cache" ] || ! mkdir -p "$cache" 2>/dev/null || [ ! -w "$cache" ]; then cache=""; fi
    if [ -z "$cache" ] && [ -z "${UV_CACHE_DIR:-}" ]; then export UV_NO_CACHE=1; fi
    if ! writable "$root" || ! writable "$state" || ! writable "$venv"; then
        state=${cache:-${TMPDIR:-/tmp}}/forelock-$(id -u)-$(printf %s "$root" | cksum | cut -d ' ' -f 1)
        venv=$state/venv work=$state
        export RUFF_CACHE_DIR="$state/ruff" MYPY_CACHE_DIR="$state/mypy"
        export HYPOTHESIS_STORAGE_DIRECTORY="$state/hypothesis"
    fi
    (umask 077 && mkdir -p "$state") || fail "cannot write in $state; set XDG_CACHE_HOME to a place that can be written"
    # A directory of that name in /tmp may be somebody else's trap.
    [ "$work" = "$root" ] || [ -n "$(find "$state" -prune -user "$(id -u)")" ] || fail "$state is not yours; remove it"
    [ -e "$state/.gitignore" ] || echo '*' >"$state/.gitignore"
    export UV_PROJECT_ENVIRONMENT="$venv"
    # Where Python may not keep compiled files beside the source, every process would compile the service anew: more than
    # half of a start. They go beside the environment then.
    if [ -n "${PYTHONDONTWRITEBYTECODE:-}" ] || [ "$work" != "$root" ]; then
        export PYTHONPYCACHEPREFIX="${PYTHONPYCACHEPREFIX:-$state/bytecode}"
        unset PYTHONDONTWRITEBYTECODE
    fi
    trust
    unset VIRTUAL_ENV
}

# uv brings root certificates of its own; the system's also know the network one works in.
trust() {
    for file in "${SSL_CERT_FILE:-}" "${PIP_CERT:-}" "${REQUESTS_CA_BUNDLE:-}" /etc/ssl/certs/ca-certificates.crt; do
        if [ -r "$file" ]; then export SSL_CERT_FILE="$file"; break; fi
    done
}

writable() { [ ! -e "$1" ] || [ -w "$1" ]; }

in_range() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' >/dev/null 2>&1; }

is_python() { # is_python PROGRAM 3.x
    [ "$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$2" ]
}

# The interpreter of the environment: the one it has, python3 if it is 3.11 to 3.13, another on PATH, else uv's choice.
choose_python() {
    for python in "$venv/bin/python" python3 python3.13 python3.12 python3.11; do
        if have "$python" && in_range "$python"; then command -v "$python"; return; fi
    done
    echo '>=3.11,<3.14'
}

# The interpreter of a version: one on PATH, one of pyenv's, else the one uv brings. PATH may hold pyenv's shims, which
# run only what pyenv was told to offer.
find_python() { # find_python 3.x
    for python in "$venv/bin/python" "python$1" python3 "${PYENV_ROOT:-${HOME:-}/.pyenv}/versions/$1".*/bin/python; do
        if have "$python" && is_python "$python" "$1"; then command -v "$python"; return; fi
    done
    run_uv python find --managed-python "$1" 2>/dev/null && return
    say "fetching Python $1"
    run_uv python install --no-bin "$1" >"$state/python.log" 2>&1 || return
    run_uv python find --managed-python "$1"
}

have_python() { have python3 && python3 -c 'import ssl, sqlite3, ctypes, urllib.request, zipfile' 2>/dev/null; }

# --- uv -------------------------------------------------------------------------------------------

acceptable() { # acceptable UV: that version or newer
    found=$("$1" --version 2>/dev/null) || return 1
    found=${found#uv } found=${found%%[!0-9.]*} # the version alone, whatever else a uv has to say
    case $found in [0-9]*.[0-9]*.[0-9]*) ;; *) return 1 ;; esac
    # shellcheck disable=SC2046
    set -- $(echo "$found.$uv_version" | tr -cs '0-9' ' ')
    [ "$1" -gt "$4" ] || { [ "$1" -eq "$4" ] && { [ "$2" -gt "$5" ] || { [ "$2" -eq "$5" ] && [ "$3" -ge "$6" ]; }; }; }
}

find_uv() {
    if have uv && acceptable uv; then uv=uv; return; fi
    uv=$state/uv-$uv_version
    if [ -x "$uv" ]; then return; fi
    uv_wheel || fail "there is no pinned uv for $(uname -s) $(uname -m); install uv $uv_version or newer, then repeat"
    have_python || apt_install python3 || fail "python3 is needed; install it (Debian: apt-get install python3)"
    status=0
    fetch_uv || status=$?
    if [ $status = 3 ] && apt_install ca-certificates; then
        trust
        status=0
        fetch_uv || status=$?
    fi
    case $status in
        0) ;;
        3) fail "no root certificates are installed; install them (Debian: apt-get install ca-certificates)" ;;
        *) exit 1 ;;
    esac
}

# uv leaves its locks where it may: not in /tmp.
run_uv() { TMPDIR=$state "$uv" "$@"; }

# The index is the one pip or uv are told to use, or the one uv.lock was made with.
fetch_uv() {
    python3 - "$(index)" "$wheel" "$sha256" "$uv" <<'END'
import base64, hashlib, html.parser, io, os, ssl, stat, sys, tempfile, zipfile
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, urlunsplit
from urllib.request import Request, urlopen

index, wheel, sha256, target = sys.argv[1:]


def get(url):
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    request = Request(urlunsplit(parts._replace(netloc=host)))
    if at:
        request.add_unredirected_header("Authorization", "Basic " + base64.b64encode(unquote(user).encode()).decode())
    with urlopen(request, timeout=120) as answer:
        return answer.read()


class Links(html.parser.HTMLParser):
    found = None

    def handle_starttag(self, tag, attrs):
        href = dict(attrs).get("href")
        if tag == "a" and href and unquote(urldefrag(href).url).endswith("/" + wheel):
            self.found = href


def roots():
    directory = ssl.get_default_verify_paths().capath
    return ssl.create_default_context().cert_store_stats()["x509_ca"] or (directory and os.listdir(directory))


try:
    page = index.rstrip("/") + "/uv/"
    links = Links()
    links.feed(get(page).decode())
    if links.found is None:
        sys.exit("./do: the package index has no " + wheel)
    url = urljoin(page, urldefrag(links.found).url)
    if "@" in urlsplit(page).netloc and urlsplit(url).netloc == urlsplit(page).netloc.rpartition("@")[2]:
        url = urlunsplit(urlsplit(url)._replace(netloc=urlsplit(page).netloc))
    body = get(url)
except (OSError, ValueError) as error:
    reason = getattr(error, "reason", error)
    if isinstance(reason, ssl.SSLCertVerificationError):
        if not roots():
            sys.exit(3)
        sys.exit(
            "./do: the package index's certificate is not trusted here (%s). If a proxy of your network signs with\n"
            "its own authority, name a file that holds its certificate: SSL_CERT_FILE=FILE ./do ..."
            % reason.verify_message
        )
    sys.exit("./do: cannot fetch uv from the package index: %s" % error)
if hashlib.sha256(body).hexdigest() != sha256:
    sys.exit("./do: %s is not the file this checkout was written with (its SHA-256 differs)" % wheel)
archive = zipfile.ZipFile(io.BytesIO(body))
(member,) = [name for name in archive.namelist() if name.endswith(".data/scripts/uv")]
with tempfile.NamedTemporaryFile(dir=os.path.dirname(target), delete=False) as file:
    file.write(archive.read(member))
os.chmod(file.name, stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
os.replace(file.name, target)
END
}

# A package index the user configured, or nothing.
configured_index() {
    for url in "${UV_DEFAULT_INDEX:-}" "${UV_INDEX_URL:-}" "${PIP_INDEX_URL:-}"; do
        if [ -n "$url" ]; then echo "${url#*=}"; return; fi
    done
    for file in "${PIP_CONFIG_FILE:-}" "${HOME:-}/.config/pip/pip.conf" "${HOME:-}/.pip/pip.conf" /etc/pip.conf; do
        [ -r "$file" ] || continue
        url=$(sed -n 's/^[[:space:]]*index[-_]url[[:space:]]*[=:][[:space:]]*//p' "$file" | head -n 1)
        if [ -n "$url" ]; then echo "$url"; return; fi
    done
}

index() {
    url=$(configured_index)
    [ -n "$url" ] || url=$(sed -n 's/.*source = { registry = "\([^"]*\)".*/\1/p' "$root/uv.lock" | head -n 1)
    echo "$url"
}

# --- the environment ------------------------------------------------------------------------------

# environment run|dev|all|bench [3.x]: install what uv.lock says, unless a stamp shows that this was done already. A version
# other than that of the environment everything else uses gets its own.
environment() {
    choose_places
    version=${2:-}
    if [ -n "$version" ] && ! is_python "$(choose_python)" "$version"; then
        venv=$state/venv-$version
        export UV_PROJECT_ENVIRONMENT="$venv"
    fi
    group=$1 stamp=$venv/.forelock-stamp
    wanted="$root $(cd "$root" && cat uv.lock pyproject.toml client/pyproject.toml | cksum)"
    if [ -r "$stamp" ] && "$venv/bin/python" -c '' 2>/dev/null; then
        read -r had <"$stamp"
        had_group=${had%% *}
        # What was installed for the tests or benchmarks stays: taking it out again would make every other run slow.
        case $had_group-$group in
            bench-dev | bench-run | all-dev | all-run | dev-run) group=$had_group ;;
        esac
        if [ "${had#* }" = "$wanted" ] && [ "$had_group" = "$group" ]; then return; fi
    fi
    say "installing what uv.lock names into $venv (a few minutes the first time; $state/install.log says more)"
    : >"$state/install.log"
    find_uv
    have_python || apt_install python3 || true # an ordinary user gets uv's own Python
    if [ -z "$version" ]; then
        python=$(choose_python)
    elif ! python=$(find_python "$version"); then
        say "skipped: Python $version is not here and could not be fetched ($(tail -n 1 "$state/python.log" | sed 's/^ *//'))"
        exit 77
    fi
    case $group in
        dev) groups="--group dev" ;;
        all) groups="--group dev --group hooks" ;;
        bench) groups="--group dev --group bench" ;;
        *) groups="--no-dev" ;;
    esac
    mirror=$(configured_index)
    # Inexact: what a developer added to the environment stays there.
    # shellcheck disable=SC2086
    if [ -z "$mirror" ]; then
        run_uv sync --project "$root" --frozen --inexact --python "$python" $groups
    else
        from_mirror "$mirror"
    fi >>"$state/install.log" 2>&1 || {
        tail -n 5 "$state/install.log" >&2
        fail "the environment could not be installed; all that was said is in $state/install.log"
    }
    echo "$group $wanted" >"$stamp.$$" && mv "$stamp.$$" "$stamp"
}

# The lock file names files of the index it was made with; a mirror has the same files at other
# addresses, so there the lock goes by name, version and SHA-256.
from_mirror() {
    export UV_DEFAULT_INDEX="$1"
    unset UV_INDEX_URL
    requirements=$state/requirements.txt
    # shellcheck disable=SC2086
    env -u UV_DEFAULT_INDEX TMPDIR="$state" "$uv" export --quiet --project "$root" --frozen --no-emit-workspace $groups \
        --python "$python" --output-file "$requirements" >/dev/null &&
        { in_range "$venv/bin/python" || run_uv venv --quiet --clear --python "$python" "$venv"; } &&
        run_uv pip install --python "$venv/bin/python" --require-hashes --requirement "$requirements" &&
        run_uv pip install --python "$venv/bin/python" --no-deps --editable "$root/client" --editable "$root"
}

# --- commands -------------------------------------------------------------------------------------

# Every file in a process of its own: what it needs it brings, whatever ran before it elsewhere.
run_alone() {
    environment dev
    cd "$root"
    [ $# -gt 0 ] || set -- $(find tests -name 'test_*.py' | sort)
    bad=""
    for file; do
        status=0
        output=$("$venv/bin/python" -m pytest -q -p no:cacheprovider -m "not slow" "$file" 2>&1) || status=$?
        case $status in
            0 | 5) say "ok       $file" ;; # 5: all of its tests are slow
            *) printf '%s\n' "$output"; say "FAILED   $file"; bad="$bad $file" ;;
        esac
    done
    [ -z "$bad" ] || fail "these fail alone:$bad"
}

run_tests() {
    if [ "${1:-}" = --alone ]; then shift; run_alone "$@"; return; fi
    slow="not slow" on="" seed=""
    while :; do
        case ${1:-} in
            --all) slow="" && shift ;;
            --python) on=${2:?name a version, such as 3.13} && shift 2 ;;
            --seed) seed=${2:?give a number} && shift 2 ;;
            *) break ;;
        esac
    done
    if [ -z "$slow" ]; then environment all "$on"; else environment dev "$on"; fi
    if [ -z "$slow" ]; then
        { have pdflatex && have xelatex; } || apt_install texlive-latex-recommended texlive-xetex texlive-lang-chinese ||
            say "./do test --all: without LaTeX the compiling of reports is skipped (Debian: apt-get install texlive-latex-recommended texlive-xetex texlive-lang-chinese)"
        { have buildah && have debootstrap; } || apt_install buildah crun debootstrap ||
            say "./do test --all: without buildah and debootstrap the image build is skipped (Debian: apt-get install buildah crun debootstrap)"
    fi
    if wants_browser "$@" && ! browser; then
        apt_install chromium ||
            say "./do test: without Chromium the browser tests are skipped (Debian: apt-get install chromium)"
    fi
    if [ -z "$slow$seed" ]; then seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' '); fi
    if [ -n "$seed" ]; then
        say "./do test: searching, --seed $seed repeats it; what it finds becomes an @example"
        export PYTHONHASHSEED="$seed"
        set -- --hypothesis-profile=search --hypothesis-seed="$seed" --randomly-seed="$seed" "$@"
    fi
    pytest -n auto --maxprocesses 8 --dist loadgroup -m "$slow" "$@"
}

wants_browser() { # true unless the arguments name other tests alone
    others=no
    for argument; do
        case $argument in
            *browser*) return 0 ;;
            tests | tests/ | -*) ;;
            *) if [ -e "$root/${argument%%::*}" ]; then others=yes; fi ;;
        esac
    done
    [ "$others" = no ]
}

browser() { have chromium || have chromium-browser || have google-chrome; }

pytest() {
    cd "$root"
    export PYTHONHASHSEED="${PYTHONHASHSEED:-0}" # sets of strings have an order, and the next run has the same
    export OPENBLAS_NUM_THREADS="${OPENBLAS_NUM_THREADS:-1}" # plugins may load numpy before tests/conftest.py
    if [ "$work" != "$root" ]; then set -- -o cache_dir="$state/pytest" "$@"; fi
    exec "$venv/bin/python" -m pytest "$@"
}

check() {
    environment dev
    cd "$root"
    bin=$venv/bin failed=""
    if have shellcheck; then
        step "shell" shellcheck --shell sh "do" .ci/run tests/image/build.sh client/action.sh
    else
        step "shell" sh -n "do"
    fi
    step "format" "$bin/ruff" format --check .
    step "lint" "$bin/ruff" check .
    ( # the longest step, beside the others; what failed before it is not its own
        failed=""
        workers=2 # of sixteen on two cores it gives up
        [ "$(nproc 2>/dev/null || echo 1)" -gt 1 ] || workers=1
        step "types" "$bin/python" -m mypy --num-workers "$workers"
        [ -z "$failed" ]
    ) >"$state/types.$$" 2>&1 &
    types=$!
    if [ "$work" = "$root" ]; then
        step "layers" "$bin/lint-imports"
    else
        step "layers" "$bin/lint-imports" --no-cache
    fi
    step "openapi" drift
    if npm_tool "@redocly/cli@2.77.0"; then
        step "openapi lint" env REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true \
            npx --yes "$npm_tool" lint openapi/openapi.json
    else
        say "skipped: openapi lint ($npm_reason)"
    fi
    step "Dockerfile" "$bin/hadolint" Dockerfile
    step "compose" compose
    if [ -n "$(configured_index)" ]; then
        say "skipped: lock file (it can only be compared at the index it was made with)"
    else
        find_uv
        step "lock file" run_uv lock --quiet --check
    fi
    wait "$types" || failed="$failed types;"
    cat "$state/types.$$" >&2 && rm "$state/types.$$"
    if [ -n "$failed" ]; then fail "check failed:$failed"; fi
    say "check: all good"
}

# How much of the service the tests run: those that need no other process. The events of Python 3.12 and later cost next to
# nothing; on 3.11 every line would.
run_coverage() {
    version=3.13 floor="" of=""
    while :; do
        case ${1:-} in
            --python) version=${2:?name a version, 3.12 or later} && shift 2 ;;
            --floor) floor=${2:?give percent} of=${3:?and the files, such as service/stats/*} && shift 3 ;;
            *) break ;;
        esac
    done
    environment dev "$version"
    cd "$root"
    [ $# -gt 0 ] || set -- $measured
    export COVERAGE_CORE=sysmon COVERAGE_FILE="$state/coverage/data" PYTHONHASHSEED="${PYTHONHASHSEED:-0}"
    rm -rf "$state/coverage" && mkdir -p "$state/coverage"
    "$venv/bin/python" -m coverage run -m pytest -q -n auto --maxprocesses 8 -m "not slow" "$@"
    "$venv/bin/python" -m coverage combine --quiet
    if [ -n "$floor" ]; then
        "$venv/bin/python" -m coverage report --include="$of" --fail-under="$floor" --skip-covered --sort=cover
    else
        "$venv/bin/python" -m coverage report --skip-covered --sort=cover | tail -n 40
    fi
}

measured="tests/actions tests/api tests/domain tests/ingest tests/jobs tests/kernels tests/reports tests/stats tests/store tests/web"

quick() {
    environment dev
    cd "$root"
    export PYTHONHASHSEED="${PYTHONHASHSEED:-0}"
    bin=$venv/bin failed=""
    ( # beside the tests
        step "format" "$bin/ruff" format --check .
        step "lint" "$bin/ruff" check .
        step "types" "$bin/dmypy" --status-file "$state/dmypy.json" run --timeout 3600
        [ -z "$failed" ]
    ) >"$state/static.$$" 2>&1 &
    static=$!
    "$bin/python" -m tools.affected "$@" || failed=" tests;"
    wait "$static" || failed="$failed format, lint or types;"
    cat "$state/static.$$" >&2 && rm "$state/static.$$"
    if [ -n "$failed" ]; then fail "quick failed:$failed"; fi
    say "quick: nothing failed"
}

step() { # step NAME COMMAND...: says how it went; the output is shown when it failed
    name=$1 began=$(date +%s)
    shift
    if output=$("$@" 2>&1); then
        say "ok       $name ($(($(date +%s) - began)) s)"
    else
        printf '%s\n' "$output"
        say "FAILED   $name ($(($(date +%s) - began)) s)"
        failed="$failed $name;"
    fi
}

drift() {
    "$venv/bin/python" -m tools.openapi "$state/openapi.json" || return 1
    cmp -s openapi/openapi.json "$state/openapi.json" && return
    say "openapi/openapi.json is not what the code says; run ./do openapi"
    return 1
}

npm_tool() {
    npm_tool=$1
    if ! have npx; then npm_reason="no npm here"; return 1; fi
    npm_reason="npm cannot run $1 here"
    npx --yes "$1" --version >/dev/null 2>&1
}

# `config` asks podman for its version and nothing else; echo has one to give where podman is not installed.
compose() {
    for program in podman /bin/echo; do
        if have "$program"; then break; fi
    done
    POSTGRES_PASSWORD=check OWNER_PASSWORD=check API_PASSWORD=check RUNNER_PASSWORD=check \
        "$venv/bin/podman-compose" --podman-path "$program" -f docker-compose.yml \
        --profile init --profile pool config
}

# Everything that is made from the code: pages of tests and warnings, reference pages, the API's description.
pages() {
    cd "$root"
    "$venv/bin/python" -m tools.pages.tests
    "$venv/bin/python" -m tools.pages.reference
    "$venv/bin/python" -m tools.pages.registers
    "$venv/bin/python" -m tools.pages.map
    "$venv/bin/python" -m tools.pages.site
    "$venv/bin/python" -m tools.pages.async_client
    "$venv/bin/python" -m tools.pages.pictures
    "$venv/bin/python" -m tools.openapi openapi/openapi.json
}

command=${1:-}
[ $# -eq 0 ] || shift
case $command in
    demo) environment run; exec "$venv/bin/python" "$root/examples/demo.py" "$@" ;;
    serve | migrate) environment run; exec "$venv/bin/forelock" "$command" "$@" ;;
    forelock) environment run; exec "$venv/bin/forelock" "$@" ;;
    test) run_tests "$@" ;;
    simulate) environment dev; pytest -n auto --maxprocesses 8 -m "" tests/simulation "$@" ;;
    chaos) environment dev; cd "$root"; exec "$venv/bin/python" -m tests.chaos "$@" ;;
    quick) quick "$@" ;;
    # A file's tests stay in one process, so that what its fixtures run is noted for all of them.
    map) environment dev; pytest -n auto --maxprocesses 8 --dist loadfile -m "not slow" -p tools.affected.recorder "$@" ;;
    mutants) environment dev; cd "$root"; exec "$venv/bin/python" -m tools.mutants "$@" ;;
    coverage) run_coverage "$@" ;;
    check) check ;;
    openapi) environment run; cd "$root"; exec "$venv/bin/python" -m tools.openapi openapi/openapi.json ;;
    pages) environment run; pages ;;
    docs) environment dev; cd "$root"; exec "$venv/bin/python" -m mkdocs build --strict --site-dir "${1:-$state/site}" ;;
    picture) environment dev; cd "$root"; exec "$venv/bin/python" -m tools.page_picture ;;
    release)
        environment run
        find_uv
        cd "$root"
        exec env TMPDIR="$state" FORELOCK_UV="$uv" "$venv/bin/python" -m tools.release "$@" ;;
    new-test) environment run; cd "$root"; exec "$venv/bin/python" -m tools.new_test "$@" ;;
    bench) environment bench; have wrk || apt_install wrk || say "./do bench: without wrk the rows of HTTP are skipped (Debian: apt-get install wrk)"; cd "$root"; exec "$venv/bin/python" -m benchmarks "$@" ;;
    uv)
        asked=${UV_PROJECT_ENVIRONMENT:-} # whoever names an environment means that one, and not the checkout's
        choose_places
        [ -z "$asked" ] || export UV_PROJECT_ENVIRONMENT="$asked"
        find_uv
        exec env TMPDIR="$state" "$uv" "$@" ;;
    help | -h | --help) usage ;;
    *) usage >&2; exit 2 ;;
esac
