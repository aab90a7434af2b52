// SPDX-License-Identifier: BSD-3-Clause
// The way of pulled bytes into the library, at the server of the process or tool that pulls them
// (PMIx_server_IOF_deliver).
#pragma once

#include <functional>
#include <string>

#include "tools/job/standard_io.hpp"

namespace weft::host {

/// How the library names a pull to its host, and the host to the library.
inline constexpr const char* puller_key = "weft.puller";
inline constexpr const char* pull_key = "weft.pull";

struct PulledFrom {
  job::PullName to;
  job::ProcessName source;
  job::Stream stream = job::Stream::out;
};
/// bytes: none: the end of the stream. delivered: the reader has them in its socket, or has ended; on any
/// thread, once.
void deliver_output(const PulledFrom& from, const std::string& bytes, std::function<void()> delivered);

/// The reader hears PMIX_ERR_IOF_FAILURE: it gets nothing more.
void tell_dropped(const job::PullName& pull);

}  // namespace weft::host
