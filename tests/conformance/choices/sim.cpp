// SPDX-License-Identifier: BSD-3-Clause
#include "tests/conformance/choices/choices.hpp"
#include "transport/sim/network.hpp"

namespace weft::conformance {
namespace {

class Simulated final : public Fabric {
 public:
  explicit Simulated(const sim::Parameters& parameters) : network_(parameters), transport_(network_) {}
  Transport& transport() override { return transport_; }

 private:
  sim::Network network_;
  sim::SimTransport transport_;
};

Choice simulated(std::string name, const sim::Parameters& parameters) {
  return {.name = std::move(name), .make = [parameters] { return std::make_unique<Simulated>(parameters); }};
}

}  // namespace

void add_sim(std::vector<Choice>& to) {
  sim::Parameters rough;
  rough.message = {.latency = 1500, .overhead = 200, .gap = 100, .gap_per_byte = 0.1};
  rough.get = {.latency = 1000, .overhead = 200, .gap = 100, .gap_per_byte = 0.1};
  rough.serial_nics = true;
  rough.jitter = 700;
  rough.max_open = 32;
  to.push_back(simulated("sim", {}));
  to.push_back(simulated("sim_rough", rough));
}

}  // namespace weft::conformance
