#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs a skew program on one library and judges it:   skew.sh LIBRARY NAME N COMMAND...
#   COMMAND (a launcher and the program, or the program itself) runs with LIBRARY's folder first in
#   LD_LIBRARY_PATH. It must end with 0 and print "ok NAME N on LIBRARY" exactly once: N singletons print it
#   never, another library than the one that is meant shows in the path. Ends with 77, and says why, if
#   COMMAND is not installed.
#
#   skew.sh build/lib/libpmix.so.2 skew_client 2 build/bin/weftrun -n 2 ./skew_client_theirs 2
#   skew.sh /usr/lib/x86_64-linux-gnu/libpmix.so.2 skew_client 2 mpirun --oversubscribe -n 2
#   ./skew_client_ours 2
set -u
library=$1 name=$2 ranks=$3
shift 3
if ! command -v "$1" >/dev/null; then
  echo "skew.sh: skipped, there is no $1"
  exit 77
fi
if [ ! -e "$library" ]; then
  echo "skew.sh: skipped, there is no $library"
  exit 77
fi

out=$(mktemp)
trap 'rm -f "$out"' EXIT
LD_LIBRARY_PATH=$(dirname "$library")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@" >"$out"
status=$?
cat "$out"
if [ $status -ne 0 ]; then
  echo "skew.sh: the exit status is $status"
  exit 1
fi
line="ok $name $ranks on $(realpath "$library")"
if [ "$(grep -cxF "$line" "$out")" -ne 1 ]; then
  echo "skew.sh: expected one line: $line"
  exit 1
fi
