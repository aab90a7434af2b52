// SPDX-License-Identifier: BSD-3-Clause
// The tools that are connected, or wait for the host to let them in. The loop's thread only.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "core/link/proc_set.hpp"
#include "core/server/connections/connection.hpp"

namespace weft::server {

class Tools {
 public:
  using Ref = std::shared_ptr<ClientConnection>;

  void add(const Ref& tool) { all_.push_back(tool); }
  void remove(const Ref& tool) { std::erase(all_, tool); }
  bool has(const Ref& tool) const { return std::find(all_.begin(), all_.end(), tool) != all_.end(); }
  /// Null: no tool has that name.
  Ref find(const pmix_proc_t& name) const {
    const auto found = std::find_if(all_.begin(), all_.end(),
                                    [&](const Ref& tool) { return link::is_same(tool->proc, name); });
    return found == all_.end() ? nullptr : *found;
  }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  std::vector<Ref> all_;
};

}  // namespace weft::server
