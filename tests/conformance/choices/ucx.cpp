// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>

#include "tests/conformance/choices/choices.hpp"
#include "transport/ucx/endpoint.hpp"

namespace weft::conformance {
namespace {

class OverUcx final : public Fabric {
 public:
  OverUcx(std::string transports, ucx::UcxTransport::Gets gets)
      : transports_(std::move(transports)), transport_(gets) {}
  Transport& transport() override { return transport_; }
  std::string options() const override { return transports_; }

 private:
  std::string transports_;
  ucx::UcxTransport transport_;
};

void add(std::vector<Choice>& to, std::string name, std::string transports, ucx::UcxTransport::Gets gets) {
  to.push_back({.name = std::move(name),
                .make = [transports, gets] { return std::make_unique<OverUcx>(transports, gets); },
                .crosses_processes = true});
}

}  // namespace

// `self` alone reaches only its own process, so it is tried together with the node's memory.
void add_ucx(std::vector<Choice>& to) {
  using Gets = ucx::UcxTransport::Gets;
  add(to, "ucx_tcp", "tcp", Gets::best);
  add(to, "ucx_posix", "posix,self", Gets::best);
  add(to, "ucx_all", "", Gets::best);
  add(to, "ucx_rc", "rc", Gets::best);  // where there is a card
  to.back().bytes_a_peer = 1536;        // UCX 1.13 keeps 1,071 of each over rc
  // Gets as a network card reads them; UCP's emulation of those does not notice that a region is gone, and
  // cannot pass that test. For machines with such a card.
  if (const char* direct = std::getenv("WEFT_TEST_UCX_DIRECT"); direct != nullptr)
    add(to, "ucx_direct", direct, Gets::direct);
}

}  // namespace weft::conformance
