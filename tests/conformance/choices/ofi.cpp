// SPDX-License-Identifier: BSD-3-Clause
#include <stdlib.h>

#include "tests/conformance/choices/choices.hpp"
#include "transport/ofi/endpoint.hpp"
#include "transport/ofi/transport.hpp"

// The memory that libfabric 1.17 does not give back: what its providers know of devices, and connections of
// net. The sanitizer's library looks for this function by name.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions();
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

/// The stand-in for a card (tests/mock_card/mock_card.cpp), with reads into the caller's memory or without.
class MockCard final : public Fabric, public Transport {
 public:
  MockCard(std::string domain, bool rma) : options_("mock/" + std::move(domain)), rma_(rma) {}
  Transport& transport() override { return *this; }
  std::string options() const override { return options_; }
  Result<std::unique_ptr<Endpoint>> open(const Opening& opening) override {
    auto provider = ofi::choose({.options = opening.options, .networks = {}, .locality = {}}, why_not_);
    if (!provider) return fail(provider.error());
    provider->rma = rma_;
    return ofi::OfiEndpoint::make(std::move(*provider));
  }

 private:
  std::string options_, why_not_;
  bool rma_;
};

}  // namespace

void add_ofi(std::vector<Choice>& to) {
  ::setenv("FI_PROVIDER_PATH", WEFT_MOCK_PROVIDERS, 0);  // before libfabric is first called
  struct Tried {
    const char *name, *provider;
    bool checks_keys = true;
  };
  // shm of 1.17 copies from whatever process has the address, and checks no key.
  for (const auto& [name, provider, checks_keys] : {Tried{"ofi_net", "net"},
                                                    {"ofi_tcp_rxm", "tcp;ofi_rxm"},
                                                    {"ofi_shm", "shm", false},
                                                    {"ofi_verbs_rxm", "verbs;ofi_rxm"}})
    to.push_back({.name = name,
                  .make = [p = std::string(provider)] { return std::make_unique<Libfabric>(p); },
                  .crosses_processes = true,
                  .checks_keys = checks_keys});
  for (const auto& [domain, rma] : {std::pair{"verbs_like", true},
                                    {"cxi_like", true},
                                    {"every", false},
                                    {"raw", true},
                                    {"raw_offset", false},
                                    {"two_byte_keys", false}})
    to.push_back({.name = std::string("ofi_mock_") + domain,
                  .make = [d = std::string(domain), r = rma] { return std::make_unique<MockCard>(d, r); }});
}

}  // namespace weft::conformance
