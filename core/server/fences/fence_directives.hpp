// SPDX-License-Identifier: BSD-3-Clause
// What the local members of a set have told about their open fences for the host that carries them. The
// loop's thread only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "core/data/types/value.hpp"
#include "core/store/boards/board.hpp"

namespace weft::server {

class FenceDirectives {
 public:
  void add(std::uint32_t member, store::Generation generation, data::Infos directives);
  bool has(std::uint32_t member, store::Generation generation) const {
    return told_.contains({generation, member});
  }
  /// Hands out those of one generation, of all members or of one, without what the library itself says to the
  /// host: each key once, in the order of the members; of several values a required one counts, else the
  /// first.
  void move_to(data::Infos& out, store::Generation generation, std::optional<std::uint32_t> member = {});
  /// The generations before this one have ended.
  void forget_before(store::Generation generation);
  void forget(std::uint32_t member);

 private:
  std::map<std::pair<store::Generation, std::uint32_t>, data::Infos> told_;
};

}  // namespace weft::server
