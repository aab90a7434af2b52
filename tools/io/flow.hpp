// SPDX-License-Identifier: BSD-3-Clause
// Flows: what ranks write, from the pipe of a rank to the sink in which it ends.
#pragma once

#include <compare>
#include <functional>
#include <string>

#include "tools/job/rank.hpp"
#include "tools/job/stream.hpp"

namespace weft::io {

/// The name of a flow: a job, a rank of it, and one of the rank's streams.
struct Flow {
  std::string nspace;
  job::Rank rank{0};
  job::Stream stream = job::Stream::out;

  friend auto operator<=>(const Flow&, const Flow&) = default;
};

/// What has become of a chunk. true: it is written, and the next one may come; false: the sink takes nothing
/// more from this stream, of any rank of the job.
using Written = std::function<void(bool takes_more)>;

/// Where flows end: a stream of this process, files, or another node.
class Sink {
 public:
  /// The next bytes of a flow; no bytes: its end. written: once, perhaps before this returns. The caller
  /// bounds how many chunks wait for it, so that a sink that is not read stops the ranks that write to it.
  virtual void write(const Flow& flow, std::string bytes, Written written) = 0;

 protected:
  ~Sink() = default;
};

}  // namespace weft::io
