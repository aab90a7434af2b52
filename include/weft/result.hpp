// SPDX-License-Identifier: BSD-3-Clause
// The result of every function of Weft that can fail. The only file that names tl::, so that a later change
// to std::expected is a change of this file alone.
#pragma once

#include <tl/expected.hpp>

namespace weft {

enum class Errc {
  again,          ///< nothing was done; make progress and retry
  invalid,        ///< an argument or received bytes break their contract
  no_space,       ///< a bounded structure is full; it is unchanged
  no_memory,      ///< the system has no memory left
  not_found,      ///< no such key, rank, namespace, file
  not_supported,  ///< this build or peer cannot do it
  outside_scope,  ///< the data exists, but not in the scope that was asked for
  type_mismatch,  ///< the data is of another type than the caller asked for
  corrupt,        ///< shared or received bytes break an invariant
  timeout,        ///< the caller's deadline passed
  peer_lost,      ///< a process that had to take part has ended or is unreachable
  unreachable,    ///< no server
  denied,         ///< identity or token did not match
  canceled,       ///< ended because its owner was destroyed
  os,             ///< a system call failed; Error::sys holds errno
};

/// An error never allocates, so `what` is borrowed text: a literal, unless the function that returns the
/// error documents which object owns it (Transport::open(), GetDirectives::parse()).
struct Error {
  Errc code;
  int sys = 0;
  const char* what = "";
};

template <class T>
using Result = tl::expected<T, Error>;
/// The type that fail() returns; converts to every Result.
using Unexpected = tl::unexpected<Error>;
/// Constructs the value of a Result in place: `Result<Value> value(in_place);`
using tl::in_place;

inline Unexpected fail(Errc code, const char* what = "", int sys = 0) noexcept {
  return Unexpected(Error{code, sys, what});
}

/// Passes an error on: `if (!x) return fail(x.error());`
inline Unexpected fail(const Error& error) noexcept { return Unexpected(error); }

}  // namespace weft
