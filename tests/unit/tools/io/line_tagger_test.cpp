// SPDX-License-Identifier: BSD-3-Clause
// --tag-output, --timestamp-output: whole lines, and bounded memory.
#include "tools/io/line_tagger.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <vector>

namespace weft::io {
namespace {

using job::Rank;

std::string tagged(const std::vector<std::string>& chunks) {
  LineTagger tagger(Rank{7}, {true, false});
  std::string out;
  for (const auto& chunk : chunks) tagger.take(chunk, out);
  tagger.finish(out);
  return out;
}

TEST(Tagging, whole_lines) {
  EXPECT_EQ(tagged({}), "");
  EXPECT_EQ(tagged({"a\nb\n"}), "[7] a\n[7] b\n");
  EXPECT_EQ(tagged({"a", "b", "\n"}), "[7] ab\n");
  EXPECT_EQ(tagged({"\n\n"}), "[7] \n[7] \n");
  EXPECT_EQ(tagged({"a\nrest"}), "[7] a\n[7] rest\n");
}

TEST(Tagging, the_time_stands_first) {
  const auto with = [](OutputTags tags) {
    LineTagger tagger(Rank{7}, tags);
    std::string out;
    std::string line(LineTagger::longest_line, 'x');
    line += "y\n";
    tagger.take(line, out);
    for (std::size_t at; (at = out.find("xx")) != std::string::npos;) out.erase(at, 1);
    for (char& c : out)
      if (std::isdigit(static_cast<unsigned char>(c)) != 0) c = '0';
    return out;
  };
  EXPECT_EQ(with({false, true}), "0000-00-00T00:00:00.000 x\n0000-00-00T00:00:00.000+ y\n");
  EXPECT_EQ(with({true, true}), "0000-00-00T00:00:00.000 [0] x\n0000-00-00T00:00:00.000 [0]+ y\n");
}

TEST(Tagging, a_line_of_any_length_takes_bounded_memory) {
  const std::string longest(LineTagger::longest_line, 'x');
  EXPECT_EQ(tagged({longest + "\n"}), "[7] " + longest + "\n");
  EXPECT_EQ(tagged({longest + "y\nz\n"}), "[7] " + longest + "\n[7]+ y\n[7] z\n");
  EXPECT_EQ(tagged({longest, longest, "y"}), "[7] " + longest + "\n[7]+ " + longest + "\n[7]+ y\n");
}

}  // namespace
}  // namespace weft::io
