// SPDX-License-Identifier: BSD-3-Clause
// A job on several nodes whose servers do the exchange themselves, over a real fabric: one process a node
// with a server in it, each with its two clients. The test is the launcher: it carries contacts from one to
// the other.
#pragma once

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {

inline constexpr const char* cluster_job = "wide";
inline constexpr const char* second_cluster_job = "beside";  ///< of fences_of_two_jobs; laid out as the first
inline constexpr std::uint32_t ranks_a_node = 2;

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
  /// Each client has said "ready", and awaits "go": from here on they do alike at one time, however long each
  /// took to start.
  void go() {
    for (const char* which : {"listen to the first", "listen"})
      for (auto& node : nodes) {
        node.tell(which);
        node.expect("ready");
      }
    for (auto& node : nodes) node.tell("go");
  }
  void finish() {
    for (auto& node : nodes) node.tell("wait");
    for (auto& node : nodes) node.expect("good");
    for (auto& node : nodes) node.tell("end");
    for (auto& node : nodes) node.expect_success();
  }
};

/// The fabrics that a suite runs over; the first alone under AddressSanitizer, which sees the other fabrics'
/// own code in tests/conformance and their unit tests, and the server above them in the tests of weftrun.
inline std::vector<std::string> fabrics(std::vector<std::string> all = {"shm", "tcp", "ofi", "ucx"}) {
#if defined(__SANITIZE_ADDRESS__)
  all.resize(1);
#endif
  return all;
}

/// The fabrics of a suite whose programs meet a fabric only through messages between servers, and through the
/// news that a node is lost. tests/conformance holds that messages of all sizes arrive, in order, on each
/// fabric; the suites over all four hold that servers exchange, read and lose nodes over each
/// (ClusterTest.node_dies), and what servers do about a message or a loss does not depend on the fabric.
/// WEFT_TEST_FABRICS=all in the environment: all four (scripts/soak).
inline std::vector<std::string> two_fabrics() {
  const char* wanted = std::getenv("WEFT_TEST_FABRICS");
  return wanted != nullptr && std::string(wanted) == "all" ? fabrics() : fabrics({"shm", "tcp"});
}

class ClusterTest : public Multiproc, public ::testing::WithParamInterface<std::string> {
 protected:
  /// key_wait: WEFT_GET_WAIT; tests about other things do not wait for keys that are missing.
  Variables over(const char* key_wait = "0") const {
    return {{"WEFT_TRANSPORT", GetParam()}, {"WEFT_NET", "lo"}, {"WEFT_GET_WAIT", key_wait}};
  }
  void run(const std::string& program, std::uint32_t nodes = 3, Segment segment = Segment::mapped,
           const Words& words = {}) {
    Cluster cluster(nodes, segment, program, over(), false, words);
    cluster.finish();
  }
  void run_waiting(const char* key_wait, const std::string& program, Segment segment) {
    Cluster cluster(2, segment, program, over(key_wait), false, {key_wait});
    cluster.finish();
  }
};
/// Over two_fabrics().
class ClusterMessageTest : public ClusterTest {};

}  // namespace weft::test
