// SPDX-License-Identifier: BSD-3-Clause
// The process that has brought a job to a service of weftrun's.
#pragma once

#include <cstdint>

namespace weft::job {

struct Attacher {
  std::uint32_t pid = 0, user = 0;  ///< as the kernel tells the service of the connection's other end
  bool is_detached = false;         ///< the job goes on when the attacher has gone
  bool operator==(const Attacher&) const = default;
};
template <class Archive>
void fields(Archive& archive, Attacher& attacher) {
  archive(attacher.pid);
  archive(attacher.user);
  archive(attacher.is_detached);
}

}  // namespace weft::job
