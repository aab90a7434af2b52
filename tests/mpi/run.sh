#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs one MPI program and judges what came out:   run.sh LAUNCHER N[:L] NAME PROGRAM [ARGUMENT...]
#   The program gets N, and L, the ranks on each node (default: all), as its last arguments, and must print
#   "ok NAME N" exactly once. The line is printed by rank 0 after it has seen N ranks, so N singletons would
#   print it never (size 1) or N times. No process of the run may be left.
#   LAUNCHER is a command; it may have options of its own, for example "mpirun --oversubscribe".
set -u
launcher=$1 ranks=${2%:*} local=${2#*:} name=$3
shift 3

out=$(mktemp) err=$(mktemp)
trap 'rm -f "$out" "$err"' EXIT
mark=WEFT_TEST_MPI=$$.$(date +%s%N)
# shellcheck disable=SC2086  # the launcher's options are words
env "$mark" $launcher -n "$ranks" "$@" "$ranks" "$local" >"$out" 2>"$err"
status=$?

show() {
  echo "run.sh: $1"
  echo "--- status $status, standard output:"
  cat "$out"
  echo "--- standard error:"
  cat "$err"
  exit 1
}

# Prints the pids whose environment has the mark.
of_this_run() { grep -lzx "$mark" /proc/[0-9]*/environ 2>/dev/null | grep -o '[0-9]*'; }
# A daemon may end after its launcher has, but soon: the time-out only says that it stays.
i=0
while [ -n "$(of_this_run)" ]; do
  i=$((i + 1))
  [ "$i" -lt 100 ] || show "these processes are left: $(of_this_run | tr '\n' ' ')"
  sleep 0.1
done

# The launcher's status is $1, no rank went on, and one line of weftrun says what happened to the last rank.
must_have_ended_with() {
  [ "$status" -eq "$1" ] || show "the exit status must be $1"
  grep -q "went on" "$out" && show "a rank went on after the end of another"
  case $launcher in *weftrun*) ;; *) exit 0 ;; esac
  lines=$(grep -c "^weftrun: " "$err")
  [ "$lines" -eq 1 ] || show "weftrun must say so in one line, not $lines"
  grep -Eq "^weftrun: .*rank $((ranks - 1))\b.*$2" "$err" || show "weftrun's line must name rank $((ranks - 1)) and '$2'"
  exit 0
}
case $name in
  abort) must_have_ended_with 7 "MPI_Abort" ;;
  killed) must_have_ended_with 137 "SIGKILL" ;;
esac
[ "$status" -eq 0 ] || show "the exit status must be 0"
[ "$(grep -cx "ok $name $ranks" "$out")" -eq 1 ] || show "expected one line: ok $name $ranks"
exit 0
