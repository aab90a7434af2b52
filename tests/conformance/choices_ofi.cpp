// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>

#include "tests/conformance/choices.hpp"
#include "transport/ofi/transport.hpp"

// What libfabric 1.17 does not give back: what its providers know of devices, and connections of net.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libfabric.so\n";
}

namespace weft::conformance {
namespace {

class Libfabric final : public Fabric {
 public:
  explicit Libfabric(std::string provider) : provider_(std::move(provider)) {}
  Transport& transport() override { return transport_; }
  std::string options() const override { return provider_; }

 private:
  std::string provider_;
  ofi::OfiTransport transport_;
};

}  // namespace

void add_ofi(std::vector<Choice>& to) {
  for (const auto& [name, provider] : {std::pair<const char*, const char*>{"ofi_net", "net"},
                                       {"ofi_tcp_rxm", "tcp;ofi_rxm"},
                                       {"ofi_shm", "shm"},
                                       {"ofi_verbs_rxm", "verbs;ofi_rxm"}}) {
    if (const auto works = ofi::OfiTransport().open(provider); !works) {
      std::fprintf(stderr, "conformance: without %s: %s (%d)\n", name, works.error().what, works.error().sys);
      continue;
    }
    to.push_back({.name = name,
                  .make = [p = std::string(provider)] { return std::make_unique<Libfabric>(p); },
                  .crosses_processes = true});
  }
}

}  // namespace weft::conformance
