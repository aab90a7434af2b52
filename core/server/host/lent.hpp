// SPDX-License-Identifier: BSD-3-Clause
// What a host lends with an answer: an array that is valid until its release function is called, or, without
// such a function, as long as the callback runs.
//
// A host may hold its locks when it calls back, and take them again in its release function. So nothing of
// the host is called in the callback: the loop reads what is lent, and gives it back. Where the server ends
// before that, nothing gives it back.
#pragma once

#include <cstddef>
#include <utility>

#include "core/data/types/value.hpp"
#include "core/server/types.hpp"
#include "pmix_common.h"

namespace weft::server {

/// Of chars, taken as a Blob, or of infos, taken as Infos.
template <class Element, class Taken>
class Lent {
 public:
  Lent() = default;
  /// In the callback. release: null: what is lent is copied here.
  Lent(const Element* first, std::size_t count, pmix_release_cbfunc_t release, void* release_data)
      : first_(first), count_(first != nullptr ? count : 0), release_(release), release_data_(release_data) {
    if (release_ == nullptr) copy();
  }

  /// On the loop, once: a copy, and the host has its own again. Errors: no_memory, not_supported (an info of
  /// an unknown type).
  Result<Taken> take() {
    if (release_ == nullptr) return std::move(copy_);
    copy();
    std::exchange(release_, nullptr)(release_data_);
    return std::move(copy_);
  }

 private:
  void copy() {
    if constexpr (std::is_same_v<Taken, Blob>) {
      const auto* from = reinterpret_cast<const std::byte*>(first_);
      copy_ = Blob(from, from + count_);
    } else {
      copy_ = Taken::copy_of(first_, count_);
    }
  }

  const Element* first_ = nullptr;
  std::size_t count_ = 0;
  pmix_release_cbfunc_t release_ = nullptr;
  void* release_data_ = nullptr;
  Result<Taken> copy_;
};

using LentBytes = Lent<char, Blob>;
using LentInfos = Lent<pmix_info_t, data::Infos>;

}  // namespace weft::server
