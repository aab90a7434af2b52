#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Each header of the C API compiles alone, twice in a row, without a warning:   headers.sh INCLUDE CC CXX
#   As C11 and C++11, the oldest that are promised, and as newer standards; strict and with GNU extensions.
set -u
include=$1 cc=$2 cxx=$3
failed=0

check() { # compiler, language, standard, header
  printf '#include <%s>\n#include <%s>\nextern int not_empty;\n' "$4" "$4" |
    $1 -x "$2" "-std=$3" -Wall -Wextra -Wshadow -pedantic -Werror -fsyntax-only "-I$include" - && return
  echo "headers.sh: $4 does not compile alone as $3"
  failed=1
}

for path in "$include"/pmix*.h "$include"/pmix/src/include/*.h "$include"/weft/*.h; do
  header=${path#"$include"/}
  for standard in c11 gnu11 c17; do check "$cc" c $standard "$header"; done
  for standard in c++11 gnu++17 c++20; do check "$cxx" c++ $standard "$header"; done
done
exit $failed
