// SPDX-License-Identifier: BSD-3-Clause
// The latest jobs that are over at a daemon: the launch message of a job that was canceled, or an order for
// some ranks that comes straight while the order to end the job has come down the tree, begins none of them
// again.
#pragma once

#include <cstddef>
#include <deque>
#include <set>
#include <string>

namespace weft::weftd {

class EndedJobs {
 public:
  /// What was on its way when a job ended is there long before so many others have.
  static constexpr std::size_t most = 1024;

  void add(const std::string& nspace) {
    if (!names_.insert(nspace).second) return;
    oldest_.push_back(nspace);
    if (oldest_.size() <= most) return;
    names_.erase(oldest_.front());
    oldest_.pop_front();
  }
  bool has(const std::string& nspace) const { return names_.count(nspace) != 0; }

 private:
  std::set<std::string> names_;
  std::deque<std::string> oldest_;
};

}  // namespace weft::weftd
