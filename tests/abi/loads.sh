#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What a client process does not load, by itself or through another library:   loads.sh LIBRARY ONE_THAT_DOES
#   The libraries that the server's modules use stay out of libpmix: the MPI library in the same process has
#   its own. ONE_THAT_DOES needs one of them: so that this check is seen to find it.
set -u
forbidden='^lib(sodium|fabric|uc[a-z]*|hwloc|numa|zstd)\.so'

libraries_of() { # all of them, one a line
  ldd "$1" | awk '{print $1}' | sed 's|.*/||'
}
if ! libraries_of "$1" | grep -q '^libc\.so'; then
  echo "loads.sh: cannot tell what $1 loads"
  exit 1
fi
if ! libraries_of "$2" | grep -qE "$forbidden"; then
  echo "loads.sh: finds nothing in $2, which needs one of them: it would find nothing in $1 either"
  exit 1
fi
if libraries_of "$1" | grep -E "$forbidden"; then
  echo "loads.sh: $1 is not to load what stands above"
  exit 1
fi
