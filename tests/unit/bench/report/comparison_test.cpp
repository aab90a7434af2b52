// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/comparison.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <stdexcept>

#include "bench/report/record.hpp"

namespace weft::bench {
namespace {

/// Makes `count` runs of about this value, each off by up to two hundredths.
std::vector<double> runs_of(double about, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> noise(0.98, 1.02);
  std::vector<double> out(count);
  for (auto& one : out) one = about * noise(random);
  return out;
}

TEST(RatioOf, a_difference_larger_than_the_noise_is_seen) {
  const auto ratio = ratio_of(runs_of(100, 9, 1), runs_of(120, 9, 2));
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(ratio->middle, 1.2, 0.03);
  EXPECT_GT(ratio->low, 1.1);
  EXPECT_LT(ratio->high, 1.3);
  EXPECT_FALSE(ratio->may_be_noise());
}

TEST(RatioOf, two_series_of_the_same_are_noise) {
  int differences = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    const auto ratio = ratio_of(runs_of(100, 8, 2 * seed), runs_of(100, 8, 2 * seed + 1));
    ASSERT_TRUE(ratio);
    differences += ratio->may_be_noise() ? 0 : 1;
  }
  EXPECT_LE(differences, 10) << "an interval of 95 % is left one time in twenty, and more often by few runs";
}

TEST(RatioOf, what_slows_both_runs_of_a_pair_does_not_count) {
  const std::vector<double> first{100, 300, 110, 500, 105, 200}, slower{110, 330, 121, 550, 115.5, 220};
  const auto pairs = ratio_of(first, slower);
  ASSERT_TRUE(pairs);
  EXPECT_DOUBLE_EQ(pairs->middle, 1.1);
  EXPECT_GT(pairs->low, 1.09);
  const std::vector<double> one_more{110, 330, 121, 550, 115.5, 220, 110};
  const auto unpaired = ratio_of(first, one_more);
  ASSERT_TRUE(unpaired);
  EXPECT_TRUE(unpaired->may_be_noise()) << "without pairs the difference is hidden by the noise";
}

TEST(RatioOf, the_same_runs_give_the_same_interval) {
  const auto first = runs_of(1, 7, 3), second = runs_of(2, 7, 4);
  const auto once = ratio_of(first, second), again = ratio_of(first, second);
  EXPECT_EQ(once->low, again->low);
  EXPECT_EQ(once->high, again->high);
}

TEST(RatioOf, too_few_runs_or_nothing_to_divide_by) {
  const auto few = ratio_of(runs_of(1, 5, 1), runs_of(2, 5, 2));
  ASSERT_TRUE(few);
  EXPECT_FALSE(few->has_interval);
  EXPECT_NEAR(few->middle, 2, 0.1);
  EXPECT_FALSE(ratio_of(runs_of(1, 6, 1), runs_of(2, 5, 2))->has_interval);
  EXPECT_TRUE(ratio_of(runs_of(1, 6, 1), runs_of(2, 7, 2))->has_interval);
  EXPECT_FALSE(ratio_of({}, {}));
  EXPECT_FALSE(ratio_of({0, 1, 1}, {1, 1, 1}));
  EXPECT_TRUE(ratio_of({1, 1, 1}, {0, 0, 0}));
}

class JsonLines : public ::testing::Test {
 protected:
  JsonLines() {
    const int fd = ::mkstemp(path_);
    EXPECT_GE(fd, 0);
    ::close(fd);
  }
  ~JsonLines() override { ::unlink(path_); }
  Measurements read(const std::string& text) {
    std::ofstream(path_) << text;
    return read_json_lines(path_);
  }
  /// The complaint about the text; empty: none.
  std::string error(const std::string& text) {
    try {
      read(text);
    } catch (const std::runtime_error& why) {
      return std::string(why.what()).substr(std::string(path_).size());
    }
    return "";
  }
  char path_[32] = "/tmp/weft-json-lines-XXXXXX";
};

TEST_F(JsonLines, what_a_reporter_prints_is_read_again) {
  std::FILE* const out = std::fopen(path_, "w");
  ASSERT_NE(out, nullptr);
  Reporter reporter(out, true, {"a \"library\"", "abc", 3});
  for (const double median : {10.0, 12.0}) {
    reporter.print(make_record("barrier", 4, 0, {.means = {median}, .singles = {}}));
    reporter.print(make_record("memory", 4, "kib", {100 * median}));
  }
  std::fclose(out);
  const auto all = read_json_lines(path_);
  ASSERT_EQ(all.all.size(), 2U);
  EXPECT_EQ(all.all[0].bench, "barrier");
  EXPECT_EQ(all.all[0].ranks, 4U);
  EXPECT_EQ(all.all[0].hosts, 3U);
  EXPECT_EQ(all.all[0].unit, "ns");
  EXPECT_EQ(all.all[0].medians, (std::vector<double>{10, 12}));
  EXPECT_EQ(all.all[1].unit, "kib");
  EXPECT_EQ(all.libraries, std::set<std::string>{"a \"library\""});
  EXPECT_EQ(all.commits, std::set<std::string>{"abc"});
  EXPECT_EQ(all.machines, std::set<std::string>{machine_name()});
  EXPECT_EQ(all.launchers, std::set<std::string>{launcher_name()});
}

TEST_F(JsonLines, other_sizes_and_ranks_are_other_operations) {
  const auto all = read(
      "{\"bench\":\"get\",\"ranks\":2,\"bytes\":64,\"median_ns\":1.5}\n\n"
      "{\"bench\":\"get\",\"ranks\":2,\"bytes\":256,\"median_ns\":2}\n"
      "{\"bench\":\"get\",\"ranks\":4,\"bytes\":64,\"median_ns\":3}\n"
      "{\"bench\":\"get\",\"ranks\":4,\"bytes\":64,\"hosts\":2,\"median_ns\":3}\n");
  EXPECT_EQ(all.all.size(), 4U);
  EXPECT_EQ(all.all[3].hosts, 2U);
}

TEST_F(JsonLines, whatever_else_is_in_a_file_is_said_with_its_line) {
  const std::string good = "{\"bench\":\"get\",\"ranks\":2,\"bytes\":64,\"median_ns\":1.5}\n";
  EXPECT_EQ(error(""), ": no line of weftbench --json");
  EXPECT_EQ(error(good + "# a table\n"), ":2: no line of weftbench --json: no JSON");
  EXPECT_EQ(error("[1]\n"), ":1: no line of weftbench --json: no JSON object");
  EXPECT_EQ(error("{}\n"), ":1: no line of weftbench --json: no field median_ns, median_kib or median_count");
  EXPECT_EQ(error("{\"median_ns\":\"x\"}\n"),
            ":1: no line of weftbench --json: no field median_ns, median_kib or median_count");
  EXPECT_EQ(error("{\"median_ns\":1,\"bench\":\"x\",\"ranks\":1}\n"),
            ":1: no line of weftbench --json: no number of bytes");
  EXPECT_EQ(error("{\"median_ns\":1,\"bench\":\"x\",\"ranks\":-1,\"bytes\":0}\n"),
            ":1: no line of weftbench --json: no number of ranks");
  EXPECT_EQ(error("{\"median_ns\":1,\"bench\":\"x\",\"ranks\":0,\"bytes\":0}\n"),
            ":1: no line of weftbench --json: no name, no ranks, or more than there can be");
  EXPECT_EQ(error("{\"median_ns\":1,\"bench\":\"x\",\"ranks\":1,\"bytes\":0,\"hosts\":\"two\"}\n"),
            ":1: no line of weftbench --json: no number of hosts");
  EXPECT_EQ(error("{\"median_ns\":1e999,\"bench\":\"x\",\"ranks\":1,\"bytes\":0}\n"),
            ":1: no line of weftbench --json: no JSON");
  EXPECT_THROW(read_json_lines("/tmp/weft-no-such-file"), std::runtime_error);
  EXPECT_THROW(read_json_lines("/tmp"), std::runtime_error);
}

TEST_F(JsonLines, the_table_says_what_is_noise_and_what_only_one_side_has) {
  Measurements first, second;
  first.all = {{.bench = "barrier", .ranks = 2, .bytes = 0, .unit = "ns", .medians = runs_of(1000, 6, 1)},
               {.bench = "get", .ranks = 2, .bytes = 64, .unit = "ns", .medians = {10, 12, 11, 10, 12, 11}},
               {.bench = "memory", .ranks = 2, .bytes = 0, .unit = "kib", .medians = runs_of(100, 6, 2)},
               {.bench = "put", .ranks = 2, .bytes = 0, .unit = "ns", .medians = {5, 6}},
               {.bench = "init", .ranks = 2, .bytes = 0, .unit = "ns", .medians = {5}}};
  second.all = {{.bench = "get", .ranks = 2, .bytes = 64, .unit = "ns", .medians = {11, 11, 11, 11, 11, 11}},
                {.bench = "barrier", .ranks = 2, .bytes = 0, .unit = "ns", .medians = runs_of(500, 6, 3)},
                {.bench = "memory", .ranks = 2, .bytes = 0, .unit = "kib", .medians = runs_of(150, 6, 4)},
                {.bench = "put", .ranks = 2, .bytes = 0, .unit = "ns", .medians = {7, 5}},
                {.bench = "fence", .ranks = 2, .bytes = 0, .unit = "ns", .medians = {5}}};
  first.machines = {"one"};
  second.machines = {"another"};
  char* text = nullptr;
  std::size_t length = 0;
  std::FILE* const out = ::open_memstream(&text, &length);
  print_comparison(out, first, second, {"a.jsonl", "b.jsonl"});
  std::fclose(out);
  const std::string all(text, length);
  std::free(text);  // NOLINT(cppcoreguidelines-no-malloc): open_memstream's
  const auto line_of = [&](const std::string& start) {
    const auto at = all.find("\n" + start);
    return at == all.npos ? "" : all.substr(at + 1, all.find('\n', at + 1) - at - 1);
  };
  EXPECT_TRUE(line_of("barrier").ends_with("B faster")) << all;
  EXPECT_NE(line_of("barrier").find(" 0.50 "), std::string::npos) << all;
  EXPECT_TRUE(line_of("get").ends_with("noise")) << all;
  EXPECT_TRUE(line_of("put").ends_with("too few runs")) << all;
  EXPECT_TRUE(line_of("memory").ends_with("B more")) << all;
  EXPECT_NE(all.find("# only in A: init, 2 ranks"), std::string::npos) << all;
  EXPECT_NE(all.find("# only in B: fence, 2 ranks"), std::string::npos) << all;
  EXPECT_NE(all.find("different machines"), std::string::npos) << all;
}

}  // namespace
}  // namespace weft::bench
