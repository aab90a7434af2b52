// SPDX-License-Identifier: BSD-3-Clause
// The one list of figures: each has a name of its own, stands at what its room says, and is in the page as it
// is here.
#include "core/server/reports/counters.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "tests/unit/core/server/clients/one_node.hpp"

namespace weft::server {
namespace {

TEST(Counters, each_has_a_name_and_a_text) {
  std::set<std::string> names;
  for (const auto& count : counts_of({})) {
    EXPECT_TRUE(names.insert(count.name).second) << count.name << " is there twice";
    EXPECT_NE(std::string(count.text), "") << count.name;
    EXPECT_EQ(count.value, 0u) << count.name << " of no room";
  }
  EXPECT_EQ(names.size(), count_of_counters());
}

class CountersTest : public OneNode {};

TEST_F(CountersTest, a_figure_stands_under_its_name) {
  auto& line = enter(0);
  link::Fence fence;
  fence.procs = {proc(0)};
  rooms->fences.enter(line.connection, 5, std::move(fence));
  const auto report = rooms->own_report.make({});
  const auto counts = counts_of({});
  ASSERT_EQ(report.counters.size(), counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const bool is_its = counts[i].name == std::string("fences.by_message");
    const bool is_of_boards = std::string(counts[i].name).starts_with("boards.");
    if (is_of_boards) continue;
    EXPECT_EQ(report.counters[i], is_its ? 1u : 0u) << counts[i].name;
  }
}

TEST(Counters, the_page_has_them_all) {
  const char* const path = std::getenv("WEFT_REPORT_PAGE");
  if (path == nullptr) GTEST_SKIP() << "WEFT_REPORT_PAGE does not say where docs/design/report.md is";
  std::ifstream file(path);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  std::string table = "| counter | what it counts |\n|---|---|\n";
  for (const auto& count : counts_of({}))
    table += std::string("| `") + count.name + "` | " + count.text + " |\n";
  const auto begin = page.find("<!-- counters;");
  ASSERT_NE(begin, std::string::npos) << path << " has no line that begins with <!-- counters;";
  const auto first = page.find('\n', begin) + 1;
  EXPECT_EQ(page.substr(first, page.find("<!-- end -->", first) - first), table)
      << path << " must have this between its marks:\n"
      << table;
}

}  // namespace
}  // namespace weft::server
