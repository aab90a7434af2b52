// SPDX-License-Identifier: BSD-3-Clause
#include "transport/faulty/faulty.hpp"
#include "tests/conformance/choices/choices.hpp"

namespace weft::conformance {
namespace {

class Faulty final : public Fabric {
 public:
  Faulty(std::unique_ptr<Fabric> inner, const faulty::Plan& plan)
      : inner_(std::move(inner)), transport_(inner_->transport(), plan) {}
  Transport& transport() override { return transport_; }
  std::string options() const override { return inner_->options(); }

 private:
  std::unique_ptr<Fabric> inner_;
  faulty::FaultyTransport transport_;
};

}  // namespace

void add_faulty(std::vector<Choice>& to) {
  const faulty::Plan plan{.seed = 7, .burst_percent = 5, .delay_percent = 20};
  const auto plain = to;
  for (const auto& choice : plain)
    to.push_back({.name = "faulty_" + choice.name,
                  .make = [choice, plan] { return std::make_unique<Faulty>(choice.make(), plan); },
                  .checks_keys = choice.checks_keys});
}

}  // namespace weft::conformance
