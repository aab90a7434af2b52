// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftd/report_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weft::weftd {
namespace {

template <class Element>
void append(std::vector<Element>& to, std::vector<Element> from) {
  if (to.empty())
    to = std::move(from);
  else
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

void ReportQueue::add(channel::MessageType type, std::string bytes, Way way) {
  waiting_.items.push_back({self_, ++last_report_, type, std::move(bytes)});
  if (way == Way::straight) report_straight();
}

void ReportQueue::add(std::vector<Item> items, channel::Reply reply) {
  append(waiting_.items, std::move(items));
  waiting_.replies.push_back(std::move(reply));
}

std::optional<ReportQueue::Batch> ReportQueue::next() {
  const bool has_room = under_way_.size() < most_under_way || does_not_wait_ || hurries_;
  if (waiting_.items.empty() || !has_room) return std::nullopt;
  does_not_wait_ = false;
  auto& sent = under_way_.emplace_back(std::exchange(waiting_, {}));
  sent.number = ++last_batch_;
  return Batch{sent.number, above_, sent.items};
}

std::deque<ReportQueue::Sent>::iterator ReportQueue::find(std::uint64_t number) {
  return std::find_if(under_way_.begin(), under_way_.end(),
                      [number](const Sent& sent) { return sent.number == number; });
}

/// Not there: it has been sent again since, to the launcher itself.
void ReportQueue::confirm(std::uint64_t number) {
  const auto sent = find(number);
  if (sent == under_way_.end()) return;
  for (const auto& reply : sent->replies) reply();
  under_way_.erase(sent);
}

void ReportQueue::fail(std::uint64_t number) {
  const auto sent = find(number);
  if (sent == under_way_.end()) return;
  if (above_ != launcher_) return report_straight();
  for (const auto& reply : sent->replies) reply.refuse();
  under_way_.erase(sent);
}

void ReportQueue::report_straight() {
  is_straight_ = does_not_wait_ = true;
  if (std::exchange(above_, launcher_) == launcher_) return;
  Sent again{};
  for (auto& sent : under_way_) {
    append(again.items, std::move(sent.items));
    append(again.replies, std::move(sent.replies));
  }
  under_way_.clear();
  append(again.items, std::move(waiting_.items));
  append(again.replies, std::move(waiting_.replies));
  waiting_ = std::move(again);
}

}  // namespace weft::weftd
