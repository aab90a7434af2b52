// SPDX-License-Identifier: BSD-3-Clause
#include "tools/io/input/pushed_input.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace weft::io {

using job::Rank;

PushedInput::PushedInput(asio::io_context& loop, const job::InputTarget& target, std::uint32_t size,
                         Others others, const std::optional<job::ProcessName>& first)
    : others_(std::move(others)), pipes_(loop) {
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    if (!target.includes(Rank{rank})) continue;
    auto& pushers = ranks_[Rank{rank}].pushers;
    if (first) pushers.push_back({*first, std::nullopt});
  }
}

/// Fills in the ranks that are meant where none is named.
pmix_status_t PushedInput::check(std::vector<Rank>& ranks) const {
  if (ranks.empty()) {
    for (const auto& [rank, target] : ranks_)
      if (!target.has_ended) ranks.push_back(rank);
    return !ranks.empty() ? PMIX_SUCCESS : ranks_.empty() ? PMIX_ERR_NOT_SUPPORTED : PMIX_ERR_IOF_COMPLETE;
  }
  for (const auto rank : ranks) {
    const auto target = ranks_.find(rank);
    if (target == ranks_.end()) return PMIX_ERR_NOT_SUPPORTED;
    if (target->second.has_ended) return PMIX_ERR_IOF_COMPLETE;
  }
  return PMIX_SUCCESS;
}

bool PushedInput::waits(std::function<void()> work) {
  if (!is_open_) waiting_.push_back(std::move(work));
  return !is_open_;
}

void PushedInput::open() {
  is_open_ = true;
  for (const auto& work : std::exchange(waiting_, {})) work();
}

void PushedInput::push(const Push& push, const Done& done) {
  if (!waits([this, push, done] { push_now(push, done); })) push_now(push, done);
}

void PushedInput::push_now(const Push& push, const Done& done) {
  auto ranks = push.ranks;
  if (const auto status = check(ranks); status != PMIX_SUCCESS) return done(status);
  std::array<std::vector<Rank>, 2> groups;  // those whose input goes on, and those for which it ends here
  for (const auto rank : ranks) {
    auto& target = ranks_.at(rank);
    note(push, target);
    groups[target.has_ended ? 1 : 0].push_back(rank);
  }
  // The last copy of it ends when each rank has the bytes.
  const std::shared_ptr<void> all_taken(nullptr, [done](void*) { done(PMIX_SUCCESS); });
  for (const bool ends : {false, true}) send(groups[ends ? 1 : 0], push.bytes, ends, [all_taken] {});
}

/// The input ends with the last process that pushes.
void PushedInput::note(const Push& push, Target& target) {
  std::erase_if(target.pushers, [&](const Pusher& pusher) { return pusher.name == push.from; });
  if (!push.ends) target.pushers.push_back({push.from, push.node});
  target.has_ended = target.pushers.empty();
}

void PushedInput::send(const std::vector<Rank>& ranks, const std::string& bytes, bool ends,
                       const std::function<void()>& taken) {
  if (bytes.empty() && !ends) return;
  std::map<std::uint32_t, std::vector<Rank>> far;
  std::vector<Rank> here;
  for (const auto rank : ranks) {
    const auto node = others_.node_of(rank);
    (node ? far[*node] : here).push_back(rank);
  }
  for (auto& [node, list] : far) others_.send(node, std::move(list), bytes, ends, taken);
  if (!here.empty()) pipes_.write(here, bytes, ends, taken);
}

template <class Which>
void PushedInput::lose(Which&& which) {
  std::vector<Rank> ended;
  for (auto& [rank, target] : ranks_) {
    if (target.has_ended || std::erase_if(target.pushers, which) == 0 || !target.pushers.empty()) continue;
    target.has_ended = true;
    ended.push_back(rank);
  }
  send(ended, {}, true, [] {});
}

void PushedInput::lose_process(const job::ProcessName& process) {
  if (waits([this, process] { lose_process(process); })) return;
  lose([&](const Pusher& pusher) { return pusher.name == process; });
}

void PushedInput::lose_node(std::uint32_t node) {
  if (waits([this, node] { lose_node(node); })) return;
  lose([&](const Pusher& pusher) { return pusher.node == node; });
}

void PushedInput::disconnect(Rank rank) {
  if (const auto target = ranks_.find(rank); target != ranks_.end()) target->second.has_ended = true;
  pipes_.disconnect(rank);
}

void PushedInput::close() {
  for (auto& [rank, target] : ranks_) target.has_ended = true;
  pipes_.close();
  open();  // what waits is answered
}

}  // namespace weft::io
