// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/types/opaque.hpp"

#include <atomic>

namespace weft::data {
namespace {
std::atomic<const OpaqueOps*> topology_ops{nullptr};
std::atomic<const OpaqueOps*> cpuset_ops{nullptr};

thread_local unsigned ignored = 0;

std::atomic<const OpaqueOps*>& slot(Opaque kind) noexcept {
  return kind == Opaque::topology ? topology_ops : cpuset_ops;
}
}  // namespace

OpaqueIgnored::OpaqueIgnored() noexcept {
  ++ignored;
}
OpaqueIgnored::~OpaqueIgnored() {
  --ignored;
}
bool OpaqueIgnored::is_on() noexcept {
  return ignored != 0;
}

void set_opaque_ops(Opaque kind, const OpaqueOps* ops) noexcept {
  slot(kind).store(ops, std::memory_order_release);
}

const OpaqueOps* opaque_ops(Opaque kind) noexcept {
  return slot(kind).load(std::memory_order_acquire);
}

}  // namespace weft::data
