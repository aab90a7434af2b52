#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Compares what a library exports with the checked-in list:   exports.sh LIBRARY [--update]
#   Soname libpmix.so.2, no symbol versions, exactly the names in exports.txt. --update rewrites the list; a
#   name that disappears from it breaks programs, so look at the difference.
set -u
library=$1
list=$(dirname "$0")/exports.txt
have=$(mktemp)
trap 'rm -f "$have"' EXIT
failed=0

nm -D --defined-only "$library" | awk '{print $3}' | LC_ALL=C sort -u >"$have" || exit 1
if [ "${2-}" = --update ]; then
  cp "$have" "$list"
  exit 0
fi

soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
if [ "$soname" != libpmix.so.2 ]; then
  echo "exports.sh: the soname is '$soname', not libpmix.so.2"
  failed=1
fi
# Version names would show as NAME@@VERSION above; a definition without names would not.
if readelf -V "$library" | grep -q 'Version definition section'; then
  echo "exports.sh: the library defines symbol versions"
  failed=1
fi
if ! diff -u "$list" "$have"; then
  echo "exports.sh: $library does not export what exports.txt lists (-: missing, +: too much)"
  failed=1
fi
exit $failed
