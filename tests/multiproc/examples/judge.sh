#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs one example and judges what came out:   judge.sh STATUS EXPECTED COMMAND...
#   The command must end with the status, and print the lines of the file EXPECTED. Ranks print side by side,
#   each line begins with "rank N:", and a rank's own lines keep their order: so the lines are compared sorted
#   by rank.
set -u
status=$1 expected=$2
shift 2

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$@" >"$out/lines" 2>"$out/errors" </dev/null
ended=$?
sort -s -n -k2,2 "$out/lines" >"$out/sorted"
if [ "$ended" -eq "$status" ] && diff -u "$expected" "$out/sorted" >"$out/differences"; then exit 0; fi
echo "judge.sh: status $ended, should be $status; what differs from $expected:"
cat "$out/differences" 2>/dev/null || diff -u "$expected" "$out/sorted"
echo "--- standard error:"
cat "$out/errors"
exit 1
