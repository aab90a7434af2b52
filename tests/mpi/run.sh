#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs one MPI program and judges what came out:   run.sh LAUNCHER N NAME PROGRAM [ARGUMENT...]
#   The program gets N as its last argument and must print "ok NAME N" exactly once. The line is printed by rank 0
#   after it has seen N ranks, so N singletons would print it never (size 1) or N times.
#   LAUNCHER is a command; it may have options of its own, for example "mpirun --oversubscribe".
set -u
launcher=$1 ranks=$2 name=$3
shift 3

out=$(mktemp) err=$(mktemp)
trap 'rm -f "$out" "$err"' EXIT
# shellcheck disable=SC2086  # the launcher's options are words
$launcher -n "$ranks" "$@" "$ranks" >"$out" 2>"$err"
status=$?

show() {
  echo "run.sh: $1"
  echo "--- status $status, standard output:"
  cat "$out"
  echo "--- standard error:"
  cat "$err"
  exit 1
}

if [ "$name" = abort ]; then
  # MPI_Abort(comm, 7): the launcher's status is 7, nobody went on, and one line of the launcher says what happened.
  [ "$status" -eq 7 ] || show "the exit status must be 7"
  grep -q "went on" "$out" && show "a rank went on after the abort"
  lines=$(grep -c "^weftrun: " "$err")
  case $launcher in *weftrun*) [ "$lines" -eq 1 ] || show "weftrun must say so in one line, not $lines" ;; esac
  grep -Eq "^weftrun: .*rank $((ranks - 1))\b" "$err" || case $launcher in *weftrun*)
    show "weftrun's line must name rank $((ranks - 1))" ;; esac
  exit 0
fi
[ "$status" -eq 0 ] || show "the exit status must be 0"
[ "$(grep -cx "ok $name $ranks" "$out")" -eq 1 ] || show "expected one line: ok $name $ranks"
exit 0
