// SPDX-License-Identifier: BSD-3-Clause
// Servers of one cluster, each a process of its own with two clients; the test carries their contacts.
#pragma once

#include "tests/multiproc/host.hpp"

namespace weft::test {

inline constexpr const char* cluster_job = "wide";

struct Cluster {
  std::vector<Child> nodes;

  Cluster(std::uint32_t count, Segment segment, const std::string& program, const Variables& variables,
          bool catch_errors = false, const Words& words = {}) {
    for (std::uint32_t id = 0; id < count; ++id) {
      Child::Options options;
      options.variables = variables;
      options.catch_errors = catch_errors;
      Words all{std::to_string(id), std::to_string(count), std::to_string(static_cast<int>(segment)),
                program};
      all.insert(all.end(), words.begin(), words.end());
      nodes.emplace_back("cluster_node", all, options);
    }
    std::string contacts;
    for (auto& node : nodes) contacts += (contacts.empty() ? "" : " ") + node.hear();
    for (auto& node : nodes) node.tell(contacts);
    for (auto& node : nodes) node.expect("started");
  }
  void finish() {
    for (auto& node : nodes) node.tell("wait");
    for (auto& node : nodes) node.expect("good");
    for (auto& node : nodes) node.tell("end");
    for (auto& node : nodes) node.expect_success();
  }
};

}  // namespace weft::test
