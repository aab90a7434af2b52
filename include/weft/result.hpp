// SPDX-License-Identifier: BSD-3-Clause
// How every function of Weft that can fail says so. The only file that names tl::.
#pragma once

#include <tl/expected.hpp>

namespace weft {

enum class Errc {
  again,          ///< nothing was done; make progress and retry
  invalid,        ///< an argument or a byte from outside breaks its contract
  no_space,       ///< a bounded structure is full; it is unchanged
  no_memory,      ///< the system has no memory left
  not_found,      ///< no such key, rank, namespace, file
  not_supported,  ///< this build or peer cannot do it
  outside_scope,  ///< the data exists, but not in the scope that was asked for
  type_mismatch,  ///< the data is of another type than the caller asked for
  corrupt,        ///< shared or received bytes break an invariant
  timeout,        ///< the caller's deadline passed
  peer_lost,      ///< a process that had to take part is gone
  unreachable,    ///< no server
  denied,         ///< identity or token did not match
  canceled,       ///< ended because its owner went away
  os,             ///< a system call failed; Error::sys holds errno
};

/// what: a literal, so that an error never allocates.
struct Error {
  Errc code;
  int sys = 0;
  const char* what = "";
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Errc code, const char* what = "", int sys = 0) noexcept {
  return tl::unexpected<Error>(Error{code, sys, what});
}

/// Hands an error on: `if (!x) return fail(x.error());`
inline tl::unexpected<Error> fail(const Error& error) noexcept { return tl::unexpected<Error>(error); }

}  // namespace weft
