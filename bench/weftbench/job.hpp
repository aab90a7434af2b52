// SPDX-License-Identifier: BSD-3-Clause
// The job that weftbench runs in: thin over the public C API, so that what is timed is the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "pmix.h"

namespace weft::bench {

/// A PMIx call that failed, or a job that is not what it should be. what(): one line for the user.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws Failure with the call's name and the status in words unless it is PMIX_SUCCESS.
inline void expect_success(pmix_status_t status, const char* call) {
  if (status == PMIX_SUCCESS) [[likely]]
    return;
  throw Failure(std::string(call) + ": " + PMIx_Error_string(status) + " (" + std::to_string(status) + ")");
}

/// The value that PMIx_Get handed out; freed as the Standard asks.
class Fetched {
 public:
  explicit Fetched(pmix_value_t* value) noexcept : value_(value) {}
  Fetched(Fetched&& other) noexcept : value_(other.release()) {}
  Fetched(const Fetched&) = delete;
  Fetched& operator=(const Fetched&) = delete;
  ~Fetched();
  /// The caller frees it, or keeps it.
  pmix_value_t* release() noexcept { return std::exchange(value_, nullptr); }
  const pmix_value_t& operator*() const noexcept { return *value_; }
  const pmix_value_t* operator->() const noexcept { return value_; }

 private:
  pmix_value_t* value_;
};

class Job {
 public:
  /// PMIx_Init; times it. Throws Failure, also for the singleton status.
  Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  /// Finalizes an open job unless an exception is in flight; errors are ignored, the program is ending.
  ~Job();

  unsigned rank() const noexcept { return me_.rank; }
  unsigned size() const noexcept { return size_; }
  bool is_root() const noexcept { return rank() == 0; }
  const pmix_proc_t& me() const noexcept { return me_; }
  pmix_proc_t proc(unsigned rank) const noexcept;
  double init_ns() const noexcept { return init_ns_; }

  /// All ranks: a fence without data.
  void barrier() const { expect_success(PMIx_Fence(nullptr, 0, nullptr, 0), "PMIx_Fence"); }
  /// All ranks: a fence that exchanges what was committed.
  void full_fence() const {
    expect_success(PMIx_Fence(nullptr, 0, &collect_, 1), "PMIx_Fence with PMIX_COLLECT_DATA");
  }

  /// Global scope, byte object. The bytes stay the caller's.
  void put(const char* key, std::span<const std::byte> bytes) const;
  void commit() const { expect_success(PMIx_Commit(), "PMIx_Commit"); }
  Fetched get(const pmix_proc_t& from, const char* key) const;
  /// The byte object under `key`; Failure if it has another type.
  std::vector<std::byte> get_bytes(const pmix_proc_t& from, const char* key) const;

  /// All ranks: the numbers of all ranks arrive at rank 0, indexed by rank; others get an empty list.
  std::vector<std::vector<double>> gather(const std::vector<double>& mine);
  /// All ranks: rank 0's number.
  std::uint64_t from_root(std::uint64_t value);

  /// PMIx_Finalize; returns its duration in ns. The job is over.
  double leave();

 private:
  std::string fresh_key();

  pmix_proc_t me_{};
  pmix_info_t collect_{};
  unsigned size_ = 1;
  unsigned next_key_ = 0;
  double init_ns_ = 0;
  bool open_ = false;
};

/// A directive that is a boolean, for example PMIX_OPTIONAL. Nothing in it needs freeing.
pmix_info_t flag_info(const char* key) noexcept;

}  // namespace weft::bench
