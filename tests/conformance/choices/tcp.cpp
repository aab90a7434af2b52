// SPDX-License-Identifier: BSD-3-Clause
#include "tests/conformance/choices/choices.hpp"
#include "transport/tcp/transport.hpp"

namespace weft::conformance {
namespace {

class Tcp final : public Fabric {
 public:
  explicit Tcp(std::string networks) : networks_(std::move(networks)) {}
  Transport& transport() override { return transport_; }
  std::string options() const override { return networks_; }

 private:
  std::string networks_;
  tcp::TcpTransport transport_;
};

}  // namespace

void add_tcp(std::vector<Choice>& to) {
  for (const auto& [name, networks] : {std::pair{"tcp", ""}, {"tcp_v6", "::1"}})
    to.push_back({.name = name,
                  .make = [n = std::string(networks)] { return std::make_unique<Tcp>(n); },
                  .crosses_processes = true});
}

}  // namespace weft::conformance
