#!/bin/sh
# What action.yml runs: posts files, waits for the verdict, writes the job's summary, keeps one comment, and ends as the
# verdict says. Everything comes by the environment, so that no input is ever read as shell.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
work=${RUNNER_TEMP:-$(mktemp -d)}/forelock
mkdir -p "$work"

if ! command -v forelock >/dev/null 2>&1; then
    python3 -m venv "$work/venv"
    "$work/venv/bin/python" -m pip install --quiet "$here"
    PATH=$work/venv/bin:$PATH
fi

# post COMMAND FILES: with the options that both commands have; files are one to a line, patterns are the shell's.
post() {
    command=$1 files=$2
    set --
    if [ -n "${ARM:-}" ]; then set -- "$@" --arm "$ARM"; fi
    if [ "$command" = submit ] && [ -n "${ENDPOINT:-}" ]; then set -- "$@" --endpoint "$ENDPOINT"; fi
    if [ "$command" = import ] && [ "${COMPLETE:-false}" = true ]; then set -- "$@" --complete; fi
    separators=$IFS
    IFS='
'
    # shellcheck disable=SC2086
    set -- "$@" "$RECORD" $files
    IFS=$separators
    forelock "$command" "$@"
}

if [ -n "${RESULTS:-}" ]; then post submit "$RESULTS"; fi
if [ -n "${IMPORTS:-}" ]; then post import "$IMPORTS"; fi
if [ "${WAIT:-true}" != true ]; then exit 0; fi

junit=$work/verdict.xml markdown=$work/verdict.md
rm -f "$junit" "$markdown"
status=0
forelock wait "$RECORD" --timeout "${TIMEOUT:-600}" --junit "$junit" --markdown "$markdown" || status=$?

if [ -n "${GITHUB_OUTPUT:-}" ]; then
    printf '%s\n' "status=$status" "junit=$junit" "markdown=$markdown" >>"$GITHUB_OUTPUT"
fi
if [ ! -s "$markdown" ]; then exit "$status"; fi
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then cat "$markdown" >>"$GITHUB_STEP_SUMMARY"; fi

# The comment is found again by its first line, which names the record.
if [ "${COMMENT:-false}" = true ] && [ -n "${PULL_REQUEST:-}" ]; then
    mark=$(head -n 1 "$markdown")
    export mark
    comments=repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments
    found=$(gh api --paginate "$comments" --jq '.[] | select(.body | startswith(env.mark)) | .id' | head -n 1) || found=""
    if [ -n "$found" ]; then
        gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$found" --field "body=@$markdown"
    else
        gh api --silent --method POST "$comments" --field "body=@$markdown"
    fi || echo "::warning::the verdict could not be written as a comment; it is in the summary"
fi
exit "$status"
