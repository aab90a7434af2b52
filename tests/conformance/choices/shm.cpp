// SPDX-License-Identifier: BSD-3-Clause
#include "tests/conformance/choices/choices.hpp"
#include "transport/shm/endpoint/endpoint.hpp"

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
  to.push_back(
      {.name = "shm", .make = [] { return std::make_unique<SharedMemory>(); }, .crosses_processes = true});
}

}  // namespace weft::conformance
