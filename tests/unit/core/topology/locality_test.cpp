// SPDX-License-Identifier: BSD-3-Clause
#include "core/topology/locality.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

namespace weft::topology {
namespace {

constexpr unsigned node = PMIX_LOCALITY_SHARE_NODE, numa = PMIX_LOCALITY_SHARE_NUMA,
                   package = PMIX_LOCALITY_SHARE_PACKAGE, l3 = PMIX_LOCALITY_SHARE_L3CACHE,
                   l2 = PMIX_LOCALITY_SHARE_L2CACHE, l1 = PMIX_LOCALITY_SHARE_L1CACHE,
                   core = PMIX_LOCALITY_SHARE_CORE, thread = PMIX_LOCALITY_SHARE_HWTHREAD;

TEST(Locality, tells_what_is_shared) {
  struct Row {
    const char *first, *second;
    unsigned shared;
  };
  const Row rows[] = {
      {"hwloc:NM0:SK0:L30:L20:L10:CR0:HT0", "hwloc:NM0:SK0:L30:L20:L10:CR0:HT0",
       node | numa | package | l3 | l2 | l1 | core | thread},
      {"hwloc:NM0:SK0:L30:L20:L10:CR0:HT0", "hwloc:NM0:SK0:L30:L20:L10:CR0:HT1",
       node | numa | package | l3 | l2 | l1 | core},
      {"hwloc:NM0:SK0:L30:L20:L10:CR0:HT0", "hwloc:NM1:SK0:L31:L24:L14:CR4:HT8", node | package},
      {"hwloc:NM0:SK0:HT0-3", "hwloc:NM1:SK1:HT4-7", node},
      {"NM0-3", "NM2", node | numa},
      {"NM0,4,9-11", "NM1-3,5,10", node | numa},
      {"NM9-11,0,4", "NM10,5", node | numa},
      {"NM0,4,9-11", "NM1-3,5,12", node},
      {"CR0:SK0", "SK0:CR1", node | package},
      {"HWLOC:SK0", "hwloc:SK0", node | package},
      {"hwloc:2.9.0:SK0", "SK0", node | package},
      {"SK0", "NM0", node},
      {"GP0:XY1-2:SK0", "GP0:XY1-2:SK1", node},
      {"", "", node},
      {"hwloc:", "hwloc:SK0", node},
      {"L10", "L101", node},
      {"L10", "L1", 0},  // a kind without a number is malformed
  };
  for (const auto& row : rows) {
    const auto there = relative_locality(row.first, row.second),
               back = relative_locality(row.second, row.first);
    EXPECT_EQ(there.value_or(0), row.shared) << row.first << " " << row.second;
    EXPECT_EQ(back.value_or(0), row.shared) << row.second << " " << row.first;
  }
}

TEST(Locality, refuses_malformed_text) {
  for (const char* text : {"hwloc:NM", "hwloc:NMx", "NM0-", "NM0,", "NM,0", "NM2-1", "NM0--1", "NM0 ", "NM-1",
                           "NM0:SKx0", "NM4294967296", "hwloc:CR"}) {
    EXPECT_EQ(relative_locality(text, "NM0").error().code, Errc::invalid) << text;
    EXPECT_EQ(relative_locality("NM0", text).error().code, Errc::invalid) << text;
  }
  EXPECT_EQ(relative_locality("other:NM0", "NM0").error().code, Errc::not_supported);
}

TEST(Locality, endless_ranges_cost_nothing) {
  EXPECT_EQ(*relative_locality("HT0-4294967295", "HT4294967295"), node | thread);
}

TEST(Locality, agrees_with_sets_of_numbers) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::set<unsigned> numbers[2];
    std::string texts[2];
    for (int side = 0; side < 2; ++side) {
      texts[side] = "hwloc:CR";
      for (unsigned left = 1 + random() % 3; left != 0; --left) {
        const unsigned from = random() % 20, to = from + random() % 4;
        for (unsigned i = from; i <= to; ++i) numbers[side].insert(i);
        texts[side] += std::to_string(from) + "-" + std::to_string(to) + (left > 1 ? "," : "");
      }
    }
    bool shared = false;
    for (const unsigned number : numbers[0]) shared = shared || numbers[1].count(number) != 0;
    EXPECT_EQ(relative_locality(texts[0], texts[1]).value_or(0), node | (shared ? core : 0U))
        << texts[0] << " " << texts[1];
  }
}

}  // namespace
}  // namespace weft::topology
