// SPDX-License-Identifier: BSD-3-Clause
#include "transport/registry/registry.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "transport/base/modules.hpp"
#include "transport/sim/network.hpp"

namespace weft::transport {
namespace {

/// Where the build put the modules made for this test.
std::string modules() {
  return std::getenv("WEFT_TEST_MODULES");
}

class RegistryTest : public ::testing::Test {
 protected:
  RegistryTest() {
    registry_.add("sim", [this] { return std::make_unique<sim::SimTransport>(network_); });
  }
  sim::Network network_;
  Registry registry_{{"/nonexistent", modules()}};
};

TEST_F(RegistryTest, names_what_is_linked_in_and_what_lies_in_the_folders) {
  EXPECT_EQ(registry_.names(), (std::vector<std::string>{"sim", "broken", "loopback", "old", "text"}));
}

TEST_F(RegistryTest, one_that_is_linked_in) {
  const auto opened = registry_.open("sim", {});
  ASSERT_TRUE(opened.endpoint) << opened.why_not;
  EXPECT_EQ(opened.name, "sim");
  EXPECT_TRUE(opened.why_not.empty());
}

TEST_F(RegistryTest, a_module_from_outside_of_the_tree) {
  const auto opened = registry_.open("loopback:any;thing:else", {});
  ASSERT_TRUE(opened.endpoint) << opened.why_not;
  EXPECT_EQ(opened.options, "any;thing:else");
  struct Seen {
    int messages = 0, ends = 0;
  } seen;
  struct Counting : Completion {
    Seen* seen;
  } completion;
  completion.seen = &seen;
  completion.done = [](Completion& self, Result<void>) noexcept {
    ++static_cast<Counting&>(self).seen->ends;
  };
  opened.endpoint->on_message(
      [](void* self, std::uint16_t id, const Message& message) noexcept {
        if (id == 3 && as_text(message.payload) == "hello") ++static_cast<Seen*>(self)->messages;
      },
      &seen);
  const auto peer = opened.endpoint->reach(opened.endpoint->address());
  ASSERT_TRUE(peer);
  ASSERT_TRUE(opened.endpoint->send(**peer, 3, {{}, as_bytes("hello")}, completion));
  EXPECT_EQ(opened.endpoint->progress(), 1u);
  EXPECT_EQ(seen.messages, 1);
  EXPECT_EQ(seen.ends, 1);
}

TEST_F(RegistryTest, one_that_is_not_there_is_one_line_that_names_what_is) {
  const auto opened = registry_.open("infiniband:x", {});
  EXPECT_FALSE(opened.endpoint);
  EXPECT_EQ(opened.why_not,
            "there is no transport 'infiniband:x'; there are sim, broken, loopback, old, text (modules are "
            "looked for in "
            "/nonexistent:" +
                modules() + ")");
  EXPECT_EQ(Registry({}).open("ofi", {}).why_not,
            "there is no transport 'ofi'; none is (modules are looked for in no folder)");
}

TEST_F(RegistryTest, names_cannot_lead_out_of_the_folders) {
  for (const char* name : {"../loopback", "a/b", ":x", "Ofi", " ofi", "o.fi"})
    EXPECT_NE(registry_.open(name, {}).why_not.find("is no name of a transport"), std::string::npos) << name;
}

TEST_F(RegistryTest, modules_that_do_not_fit) {
  EXPECT_NE(registry_.open("old", {}).why_not.find("was built for version 999 of the contract, not " +
                                                   std::to_string(TransportModule::current_version)),
            std::string::npos);
  EXPECT_NE(registry_.open("broken", {}).why_not.find("defines no weft_transport_module"), std::string::npos);
  EXPECT_NE(registry_.open("text", {}).why_not.find("does not load: "), std::string::npos);
  EXPECT_EQ(registry_.open("loopback:nowhere", {}).why_not,
            "transport loopback:nowhere does not open here: no provider of that name");
}

TEST_F(RegistryTest, unset_takes_the_first_that_opens) {
  const auto opened = registry_.open("", {"ofi", "old", "loopback", "sim"});
  ASSERT_TRUE(opened.endpoint) << opened.why_not;
  EXPECT_EQ(opened.name, "loopback");
  EXPECT_EQ(opened.passed_over.find("there is no transport 'ofi'"), 0u) << opened.passed_over;
  EXPECT_NE(opened.passed_over.find("transport old does not load"), std::string::npos) << opened.passed_over;
  EXPECT_EQ(registry_.open("", {"loopback", "ofi"}).passed_over, "");
  const auto none = registry_.open("", {"ofi", "ucx"});
  EXPECT_FALSE(none.endpoint);
  EXPECT_EQ(none.why_not.find("no transport works here: there is no transport 'ofi'"), 0u) << none.why_not;
  EXPECT_NE(none.why_not.find("'ucx'"), std::string::npos);
}

TEST(ModuleFolders, the_variable_comes_first) {
  ::setenv("WEFT_MODULE_PATH", "/one::/two", 1);
  const auto folders = module_folders();
  ::unsetenv("WEFT_MODULE_PATH");
  ASSERT_GE(folders.size(), 3u);
  EXPECT_EQ(folders[0], "/one");
  EXPECT_EQ(folders[1], "/two");
  const auto own = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "weft";
  EXPECT_EQ(folders.back(), own.string());
  EXPECT_EQ(module_folders().size(), folders.size() - 2);
}

}  // namespace
}  // namespace weft::transport
