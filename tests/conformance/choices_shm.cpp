// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>

#include "tests/conformance/choices.hpp"
#include "transport/shm/endpoint.hpp"

namespace weft::conformance {
namespace {

class SharedMemory final : public Fabric {
 public:
  Transport& transport() override { return transport_; }

 private:
  shm::ShmTransport transport_;
};

}  // namespace

void add_shm(std::vector<Choice>& to) {
  if (const auto endpoint = SharedMemory().transport().open({}); !endpoint) {
    std::fprintf(stderr, "conformance: shm is left out: %s\n", endpoint.error().what);
    return;
  }
  to.push_back(
      {.name = "shm", .make = [] { return std::make_unique<SharedMemory>(); }, .crosses_processes = true});
}

}  // namespace weft::conformance
