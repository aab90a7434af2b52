// SPDX-License-Identifier: BSD-3-Clause
// Calls of entry points as events in the trace of a job, where a launcher traces it (docs/scale/trace.md).
#pragma once

#include <atomic>

#include "core/store/segment/trace_log.hpp"

namespace weft::abi {

/// Where the calls of this process's threads are noted; null: no launcher traces the job. One for the
/// process, as its roles are. The log is there for as long as a call that has loaded this is under way:
/// PMIx_Finalize takes it away before it waits for such calls.
extern constinit std::atomic<const store::TraceLog*> call_log;

/// The event of one call, from here to the end of this object.
class TracedCall {
 public:
  explicit TracedCall(store::TraceCall call) noexcept {
    if (call == store::TraceCall::none) return;
    if (const auto* const log = call_log.load(std::memory_order_acquire)) [[unlikely]]
      entry_ = begin(*log, call);
  }
  ~TracedCall() {
    if (entry_) [[unlikely]]
      end(entry_, status_);
  }
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;

  /// What the call returns, and this function with it.
  pmix_status_t returns(pmix_status_t status) noexcept { return status_ = status; }

 private:
  [[gnu::cold]] static store::TraceLog::Entry begin(const store::TraceLog& log,
                                                    store::TraceCall call) noexcept;
  [[gnu::cold]] static void end(store::TraceLog::Entry entry, pmix_status_t status) noexcept;

  store::TraceLog::Entry entry_;
  pmix_status_t status_ = PMIX_ERROR;  ///< of a body that throws
};

/// A call that returns before what it asks for has ended. Empty: it is not traced.
store::TraceLog::Entry begin_traced(store::TraceCall call) noexcept;

}  // namespace weft::abi
