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

void ReportQueue::add(channel::MessageType type, std::string bytes, Pace pace) {
  waiting_.items.push_back({self_, ++last_report_, type, std::move(bytes)});
  is_urgent_ |= pace == Pace::urgent;
}

void ReportQueue::add(std::vector<Item> items, channel::Reply reply, Pace pace) {
  append(waiting_.items, std::move(items));
  waiting_.replies.push_back(std::move(reply));
  is_urgent_ |= pace == Pace::urgent;
}

std::optional<ReportQueue::Batch> ReportQueue::next() {
  const bool has_room = under_way_.size() < most_under_way || is_urgent_ || hurries_;
  if (waiting_.items.empty() || !has_room) return std::nullopt;
  const auto pace = std::exchange(is_urgent_, false) ? Pace::urgent : Pace::gathered;
  auto& sent = under_way_.emplace_back(std::exchange(waiting_, {}));
  sent.number = ++last_batch_;
  return Batch{sent.number, above_, pace, sent.items};
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
  for (const auto& reply : sent->replies) reply.withhold();
  under_way_.erase(sent);
}

void ReportQueue::report_straight() {
  is_straight_ = true;
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
  is_urgent_ = true;
}

}  // namespace weft::weftd
