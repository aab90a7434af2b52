// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/command_line/app_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/unit/tools/messages/refusal.hpp"
#include "tools/weftrun/command_line/options.hpp"

namespace weft::weftrun {
namespace {

using messages::expect_refusal;
using messages::refusal_of;
using Words = std::vector<std::string>;

/// A file with this text, for as long as the object lives.
class File {
 public:
  explicit File(const std::string& text)
      : name_(testing::TempDir() + "/programs_test_" + std::to_string(::getpid())) {
    std::ofstream(name_) << text;
  }
  ~File() { ::unlink(name_.c_str()); }
  const std::string& name() const noexcept { return name_; }

 private:
  std::string name_;
};

TEST(AppFile, lines_comments_quotes_and_what_goes_on) {
  const auto lines = read_app_file("# ours\n\n-n 2 ./a 'b c'\r\n  # more\n-n 1 \\\n./d\n./e", "f");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].words, (Words{"-n", "2", "./a", "b c"}));
  EXPECT_EQ(lines[0].line, 3U);
  EXPECT_EQ(lines[1].words, (Words{"-n", "1", "./d"}));
  EXPECT_EQ(lines[1].line, 5U);
  EXPECT_EQ(lines[2].line, 7U);
}

TEST(AppFile, what_is_wrong_is_named) {
  expect_refusal(refusal_of([] { read_app_file("", "f"); }), "--app f: it names no program");
  expect_refusal(refusal_of([] { read_app_file("# only\n\n", "f"); }), "--app f: it names no program");
  expect_refusal(refusal_of([] { read_app_file("./a\n./b 'c\n", "f"); }),
                 "--app f, line 2: a quote does not end");
  expect_refusal(refusal_of([] { read_app_file("./a \\", "f"); }), "accepted");
  expect_refusal(refusal_of([] { read_app_file("/dev"); }), "--app /dev: it cannot be read");
}

TEST(AppFile, its_programs_are_those_of_the_job) {
  const File file("-n 2 -x A=1 ./a x\n-n 1 -host b ./b\n");
  for (const char* option : {"--app", "-file", "-configfile"}) {
    const auto options = parse_options({"--timeout", "5", option, file.name()});
    ASSERT_EQ(options.apps.size(), 2U);
    EXPECT_EQ(options.apps[0].argv, (Words{"./a", "x"}));
    EXPECT_EQ(options.apps[0].settings.size(), 1U);
    EXPECT_EQ(options.apps[1].ranks, 1U);
    EXPECT_EQ(options.own_hosts[1], Words{"b"});
    EXPECT_TRUE(options.limit);
  }
  const auto after = parse_options({"-n", "1", "--app", file.name(), "./first", ":", "-n", "1", "./last"});
  ASSERT_EQ(after.apps.size(), 4U);
  EXPECT_EQ(after.apps[0].argv, Words{"./first"});
  EXPECT_EQ(after.apps[3].argv, Words{"./last"});
}

TEST(AppFile, a_bad_line_is_named) {
  const auto said = [](const std::string& text, Words words = {}) {
    const File file(text);
    words.insert(words.end(), {"--app", file.name()});
    return refusal_of([&] { parse_options(words); });
  };
  expect_refusal(said("-n 1 ./a\n-n 1 --bogus ./b\n"), "line 2: there is no option '--bogus'");
  expect_refusal(said("-n 1 ./a\n-n 1 --timeout 5 ./b\n"), "line 2: --timeout speaks of the whole job");
  expect_refusal(said("-n 1 ./a\n./b\n"), "each needs its own -n; './b' has none");
  expect_refusal(said("-n 1\n"), "line 1: no program is named");
  expect_refusal(said("--app other ./a\n"), "line 1: a file of programs names no other file");
  expect_refusal(said("-n 1 ./a\n", {"-n", "4"}), "stand in its lines");
}

}  // namespace
}  // namespace weft::weftrun
