// SPDX-License-Identifier: BSD-3-Clause
// What a node costs that is reached and idle.
#include <malloc.h>

#include "tests/unit/transport/mesh/nodes.hpp"

namespace weft::mesh {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool counts_memory = false;  // the sanitizer has its own allocator
#else
constexpr bool counts_memory = true;
#endif

struct IgnoringWatcher final : Watcher {
  void node_lost(NodeNumber, const char*) noexcept override {}
  void message_refused(NodeNumber, Refusal, std::uint16_t) noexcept override {}
};

/// Ten thousand nodes, each spoken to once: at most 512 bytes each, with the transport's peer and all blocks
/// of the heap.
TEST(MeshMemory, of_a_node_that_is_reached_and_idle) {
  if (!counts_memory) GTEST_SKIP() << "a sanitizer's allocator does not say what is in use";
  constexpr NodeNumber count = 10'000;
  sim::Network network;
  sim::SimTransport transport(network);
  IgnoringWatcher watcher;
  const auto key = JobKey::random();
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  std::vector<Contact> contacts;
  for (NodeNumber n = 0; n < count; ++n) {
    endpoints.push_back(std::move(*transport.open({})));
    contacts.push_back({.incarnation = 1, .address = endpoints.back()->address(), .keys = {pattern(4, n)}});
    endpoints.back()->on_message([](void*, std::uint16_t, const Message&) noexcept {}, nullptr);
  }
  Mesh mesh(*endpoints[0], key, {0, 1}, count, watcher);
  TimePoint now{std::chrono::hours(1)};
  // The memory that the simulated network itself keeps of each pair is not ours: it is there before we look.
  std::vector<std::unique_ptr<Peer>> before;
  Completion completion;
  completion.done = [](Completion&, Result<void>) noexcept {};
  for (NodeNumber n = 1; n < count; ++n) {
    before.push_back(std::move(*endpoints[0]->reach(contacts[n].address)));
    ASSERT_TRUE(endpoints[0]->send(*before.back(), 0, {}, completion));
    while (network.step()) {
    }
  }
  before.clear();
  const auto in_use = ::mallinfo2().uordblks;
  for (NodeNumber n = 1; n < count; ++n) {
    ASSERT_TRUE(mesh.add_peer(n, contacts[n]));
    ASSERT_TRUE(mesh.connect(n));
    mesh.progress(now);
    while (network.step()) {
    }
  }
  for (int i = 0; i < 100; ++i) mesh.progress(now);
  for (NodeNumber n = 1; n < count; ++n) ASSERT_EQ(mesh.state(n), NodeState::reached);
  const auto each = (::mallinfo2().uordblks - in_use) / (count - 1);
  RecordProperty("bytes_each", static_cast<int>(each));
  std::printf("%zu bytes a node that is reached and idle\n", each);
  EXPECT_LE(each, 512u);
}

}  // namespace
}  // namespace weft::mesh
