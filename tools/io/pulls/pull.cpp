// SPDX-License-Identifier: BSD-3-Clause
#include "tools/io/pulls/pull.hpp"

#include <algorithm>
#include <utility>

namespace weft::io {

Pull::Pull(job::PullRequest request, Deliver deliver, std::function<void(const std::string&)> drained)
    : request_(std::move(request)), deliver_(std::move(deliver)), drained_(std::move(drained)) {}

bool Pull::covers(const Flow& flow) const {
  if (flow.stream == job::Stream::out ? !request_.out : !request_.error) return false;
  return std::any_of(request_.targets.begin(), request_.targets.end(), [&](const job::ProcessTarget& target) {
    return target.nspace == flow.nspace && job::includes(target, flow.rank);
  });
}

bool Pull::is_of(const std::string& nspace) const {
  return std::any_of(request_.targets.begin(), request_.targets.end(),
                     [&](const job::ProcessTarget& target) { return target.nspace == nspace; });
}

void Pull::write(const Flow& flow, Bytes bytes, std::function<void()> taken) {
  if (!is_open_) return taken();
  ++on_the_way_[flow.nspace];
  waiting_.push_back({flow, std::move(bytes), std::move(taken)});
  send_waiting();
}

/// A delivery may be over before deliver_() returns.
void Pull::send_waiting() {
  if (std::exchange(is_sending_, true)) return;
  const auto self = shared_from_this();
  while (!waiting_.empty() && window_ < window_bytes) {
    const auto chunk = std::move(waiting_.front());
    waiting_.pop_front();
    send(chunk.flow, chunk.bytes);
    chunk.taken();
  }
  is_sending_ = false;
}

void Pull::send(const Flow& flow, const Bytes& bytes) {
  window_ += bytes->size();
  deliver_(flow, *bytes, [weak = weak_from_this(), nspace = flow.nspace, size = bytes->size()] {
    if (const auto self = weak.lock()) self->on_delivered(nspace, size);
  });
}

void Pull::on_delivered(const std::string& nspace, std::size_t bytes) {
  if (!is_open_) return;
  has_moved_ = true;
  window_ -= bytes;
  count_off(nspace);
  send_waiting();
}

void Pull::count_off(const std::string& nspace) {
  const auto count = on_the_way_.find(nspace);
  if (count == on_the_way_.end() || --count->second != 0) return;
  on_the_way_.erase(count);
  drained_(nspace);
}

void Pull::close() {
  is_open_ = false;
  const auto on_the_way = std::exchange(on_the_way_, {});
  for (const auto& chunk : std::exchange(waiting_, {})) chunk.taken();
  for (const auto& [nspace, count] : on_the_way) drained_(nspace);
}

}  // namespace weft::io
