// SPDX-License-Identifier: BSD-3-Clause
#include "pmi/job/process_mapping.hpp"

#include <cstddef>

namespace weft::pmi {
namespace {

struct Block {
  std::uint32_t first, nodes, ranks_each;
};

std::string text_of(const std::vector<Block>& blocks) {
  std::string text = "(vector";
  for (const auto& [first, nodes, ranks_each] : blocks) {
    text +=
        ",(" + std::to_string(first) + "," + std::to_string(nodes) + "," + std::to_string(ranks_each) + ")";
  }
  return text + ")";
}

/// Runs of ranks on one node, and of such runs those on nodes that follow each other and are equally long.
std::vector<Block> blocks_of(const std::vector<std::uint32_t>& nodes) {
  std::vector<Block> blocks;
  for (std::size_t begin = 0; begin < nodes.size();) {
    std::size_t end = begin;
    while (end < nodes.size() && nodes[end] == nodes[begin]) ++end;
    const auto ranks = static_cast<std::uint32_t>(end - begin);
    const bool goes_on = !blocks.empty() && blocks.back().ranks_each == ranks &&
                         nodes[begin] == blocks.back().first + blocks.back().nodes;
    if (goes_on)
      ++blocks.back().nodes;
    else
      blocks.push_back({nodes[begin], 1, ranks});
    begin = end;
  }
  return blocks;
}

bool same(const Block& a, const Block& b) {
  return a.first == b.first && a.nodes == b.nodes && a.ranks_each == b.ranks_each;
}

}  // namespace

std::string process_mapping(const std::vector<std::uint32_t>& nodes) {
  auto blocks = blocks_of(nodes);
  // Ranks that are dealt out to the nodes in rounds: one round says it.
  bool repeats = !blocks.empty();
  for (const auto& block : blocks) repeats = repeats && same(block, blocks.front());
  if (repeats) blocks.resize(1);
  return text_of(blocks);
}

}  // namespace weft::pmi
