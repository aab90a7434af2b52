// SPDX-License-Identifier: BSD-3-Clause
// One pull: what a process or tool gets of the flows of jobs, in the order in which it was written.
//
// Memory is bounded: up to window_bytes are on their way to the reader; what comes then waits with its
// sender's credit, so that a reader which is slower than the ranks slows them.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tools/io/flow.hpp"
#include "tools/job/standard_io.hpp"

namespace weft::io {

class Pull : public std::enable_shared_from_this<Pull> {
 public:
  using Bytes = std::shared_ptr<const std::string>;  // of all pulls of a flow
  /// delivered: once, perhaps before this returns: the reader has the bytes, or never will.
  using Deliver =
      std::function<void(const Flow& flow, const std::string& bytes, std::function<void()> delivered)>;
  static constexpr std::size_t window_bytes = 1024 * 1024;

  /// drained: nothing of a job is on its way any more.
  Pull(job::PullRequest request, Deliver deliver, std::function<void(const std::string& nspace)> drained);

  const job::PullRequest& request() const noexcept { return request_; }
  const job::PullName& name() const noexcept { return request_.name; }
  bool covers(const Flow& flow) const;
  bool is_of(const std::string& nspace) const;
  bool redirects() const noexcept { return request_.redirects; }

  /// taken: the next bytes may come.
  void write(const Flow& flow, Bytes bytes, std::function<void()> taken);
  /// What waits is dropped, and so is what comes from here on.
  void close();

  bool is_drained(const std::string& nspace) const { return on_the_way_.count(nspace) == 0; }
  bool is_full() const noexcept { return !waiting_.empty(); }
  /// The reader has got something since the last call.
  bool has_moved() noexcept { return std::exchange(has_moved_, false); }

 private:
  struct Chunk {
    Flow flow;
    Bytes bytes;
    std::function<void()> taken;
  };
  void send(const Flow& flow, const Bytes& bytes);
  void on_delivered(const std::string& nspace, std::size_t bytes);
  void send_waiting();
  void count_off(const std::string& nspace);

  const job::PullRequest request_;
  const Deliver deliver_;
  const std::function<void(const std::string&)> drained_;
  std::deque<Chunk> waiting_;
  std::size_t window_ = 0;                         // bytes that the reader has not got yet
  std::map<std::string, std::size_t> on_the_way_;  // chunks of each job, those that wait too
  bool is_open_ = true, has_moved_ = false, is_sending_ = false;
};

}  // namespace weft::io
