// SPDX-License-Identifier: BSD-3-Clause
#include "tools/io/input/push_pipes.hpp"

namespace weft::io {

using job::Rank;

process::Fd PushPipes::connect(Rank rank) {
  auto& pipe = pipes_[rank];
  pipe = std::make_unique<InputPipes>(loop_, std::function<void()>());
  return pipe->connect(rank);
}

void PushPipes::write(const std::vector<Rank>& ranks, const std::string& bytes, bool ends,
                      const std::function<void()>& taken) {
  // The last copy of it ends when each rank has the bytes.
  const std::shared_ptr<void> all_taken(nullptr, [taken](void*) { taken(); });
  for (const auto rank : ranks) {
    const auto pipe = pipes_.find(rank);
    if (pipe == pipes_.end()) continue;
    if (!bytes.empty()) pipe->second->write(bytes, [all_taken] {});
    if (ends) pipe->second->end();
  }
}

void PushPipes::disconnect(Rank rank) {
  if (const auto pipe = pipes_.find(rank); pipe != pipes_.end()) pipe->second->disconnect(rank);
}

void PushPipes::close() {
  for (const auto& [rank, pipe] : pipes_) pipe->close();
}

}  // namespace weft::io
