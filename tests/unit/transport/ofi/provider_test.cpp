// SPDX-License-Identifier: BSD-3-Clause
// Which provider and which card, with a mock in place of cards (tests/mock_card).
#include "transport/ofi/providers/provider.hpp"

#include <gtest/gtest.h>
#include <rdma/fi_domain.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace weft::ofi {
namespace {

/// The domain that is chosen, or what stands in the way.
std::string chosen(std::string_view options, std::string_view networks,
                   const std::string& sysfs = "/nowhere") {
  std::string why_not;
  const auto provider = choose({options, networks, transport::Locality(sysfs)}, why_not);
  if (provider) return provider->info->domain_attr->name;
  EXPECT_STREQ(provider.error().what, why_not.c_str());
  return why_not;
}

TEST(ProviderTest, by_domain_and_by_device) {
  EXPECT_EQ(chosen("mock", ""), "verbs_like");
  EXPECT_EQ(chosen("mock/raw", ""), "raw");
  EXPECT_EQ(chosen("mock", "cxi_like"), "cxi_like");
  EXPECT_EQ(chosen("mock", "card_every"), "every");  // as its device is called
  EXPECT_EQ(chosen("mock", "card_r*"), "raw");
  EXPECT_EQ(chosen("mock", "^card_verbs*,^cxi_like"), "every");
}

TEST(ProviderTest, nothing_matches) {
  EXPECT_EQ(chosen("mock/raw", "mlx5_0"), "WEFT_NET=mlx5_0 matches none of raw=card_raw");
  const auto all = chosen("mock", "10.0.0.0/8");
  EXPECT_EQ(
      all.rfind("WEFT_NET=10.0.0.0/8 matches none of verbs_like=card_verbs_like, cxi_like=card_cxi_like, ",
                0),
      0u)
      << all;
  EXPECT_EQ(chosen("mock", "10.0.0.0/99"),
            "WEFT_NET=10.0.0.0/99: '10.0.0.0/99' needs a number from 0 to 32 after the /");
}

/// Cards of the mock stand at 3b:00.0 (the first of the list) and at af:00.0 (the others).
TEST(ProviderTest, of_equals_the_nearest) {
  const int here = transport::own_numa_node();
  if (here == transport::Locality::unknown) GTEST_SKIP() << "getcpu() does not work here";
  char name[] = "/tmp/provider_test_XXXXXX";
  ASSERT_NE(::mkdtemp(name), nullptr);
  const std::filesystem::path root(name);
  const auto put = [&](const char* card, int node) {
    const auto folder = root / "bus/pci/devices" / card;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "numa_node") << node << "\n";
  };
  put("0000:3b:00.0", here);
  put("0000:af:00.0", here + 1);
  EXPECT_EQ(chosen("mock", "", root), "verbs_like");
  put("0000:3b:00.0", here + 1);
  put("0000:af:00.0", here);
  EXPECT_EQ(chosen("mock", "", root), "cxi_like");
  EXPECT_EQ(chosen("mock", "verbs_like,raw", root), "raw");
  EXPECT_EQ(chosen("mock", "verbs_like", root), "verbs_like");
  put("0000:af:00.0", here + 1);
  EXPECT_EQ(chosen("mock", "", root), "verbs_like");
  std::filesystem::remove_all(root);
}

TEST(ProviderTest, subnets_of_this_node) {
  for (const std::string provider : {"tcp;ofi_rxm", "net"}) {
    std::string why_not;
    const auto chosen = choose({provider, "127.0.0.0/8", {}}, why_not);
    if (!chosen && why_not.empty()) GTEST_SKIP() << "this libfabric has no " << provider;
    ASSERT_TRUE(chosen) << why_not;
    const auto network = network_of(*chosen->info, transport::interfaces());
    ASSERT_EQ(network.addresses.size(), 1u);
    EXPECT_EQ(transport::to_text(network.addresses[0]), "127.0.0.1");
    // The name of the interface is found by the address.
    ASSERT_FALSE(network.names.empty());
    EXPECT_TRUE(choose({provider, "127.0.0.0/8," + network.names.back(), {}}, why_not));
    EXPECT_FALSE(choose({provider, "127.0.0.0/8,^" + network.names.back(), {}}, why_not));
  }
}

}  // namespace
}  // namespace weft::ofi
