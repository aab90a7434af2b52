// SPDX-License-Identifier: BSD-3-Clause
#include "core/abi/calls/traced.hpp"

namespace weft::abi {

using store::TraceLog;

constinit std::atomic<const TraceLog*> call_log{nullptr};

TraceLog::Entry TracedCall::begin(const TraceLog& log, store::TraceCall call) noexcept {
  return log.begin(call);
}

void TracedCall::end(TraceLog::Entry entry, pmix_status_t status) noexcept {
  entry.end(status);
}

TraceLog::Entry begin_traced(store::TraceCall call) noexcept {
  const auto* const log = call_log.load(std::memory_order_acquire);
  return log == nullptr ? TraceLog::Entry()
                        : log->begin(call, TraceLog::no_subject, TraceLog::Thread::leaves);
}

}  // namespace weft::abi
