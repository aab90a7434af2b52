// SPDX-License-Identifier: BSD-3-Clause
#include "pmi/job/process_mapping.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

namespace weft::pmi {
namespace {

using Nodes = std::vector<std::uint32_t>;

/// Reads the text as an MPI library does: the blocks are dealt out from rank 0 on, again and again.
Nodes read_back(const std::string& text, std::size_t ranks) {
  struct Block {
    std::uint32_t first, nodes, each;
  };
  std::vector<Block> blocks;
  EXPECT_EQ(text.substr(0, 7), "(vector");
  for (auto at = text.find('(', 1); at != std::string::npos; at = text.find('(', at + 1)) {
    Block block{};
    EXPECT_EQ(std::sscanf(text.c_str() + at, "(%u,%u,%u)", &block.first, &block.nodes, &block.each), 3);
    blocks.push_back(block);
  }
  Nodes nodes;
  while (nodes.size() < ranks && !blocks.empty()) {
    for (const auto& block : blocks)
      for (std::uint32_t node = 0; node < block.nodes; ++node)
        for (std::uint32_t rank = 0; rank < block.each; ++rank) nodes.push_back(block.first + node);
  }
  nodes.resize(std::min(nodes.size(), ranks));
  return nodes;
}

TEST(ProcessMapping, NamesTheCommonShapesInOneBlock) {
  EXPECT_EQ(process_mapping({0}), "(vector,(0,1,1))");
  EXPECT_EQ(process_mapping({0, 0, 0, 0}), "(vector,(0,1,4))");
  EXPECT_EQ(process_mapping({0, 0, 1, 1, 2, 2}), "(vector,(0,3,2))");
  EXPECT_EQ(process_mapping({0, 1, 2, 0, 1, 2}), "(vector,(0,3,1))");
  EXPECT_EQ(process_mapping({1, 1, 2, 2}), "(vector,(1,2,2))");
  EXPECT_EQ(process_mapping({}), "(vector)");
}

TEST(ProcessMapping, NamesOtherShapesInSeveral) {
  EXPECT_EQ(process_mapping({0, 0, 0, 1, 1}), "(vector,(0,1,3),(1,1,2))");
  EXPECT_EQ(process_mapping({0, 1, 2, 0, 1}), "(vector,(0,3,1),(0,2,1))");
  EXPECT_EQ(process_mapping({1, 0}), "(vector,(1,1,1),(0,1,1))");
}

TEST(ProcessMapping, SaysOfEveryRankWhereItIs) {
  std::mt19937 chance(1);
  for (std::size_t ranks = 1; ranks < 200; ++ranks) {
    Nodes nodes(ranks);
    const auto most = static_cast<std::uint32_t>(1 + ranks % 5);
    for (auto& node : nodes) node = chance() % most;
    EXPECT_EQ(read_back(process_mapping(nodes), ranks), nodes);
  }
}

}  // namespace
}  // namespace weft::pmi
