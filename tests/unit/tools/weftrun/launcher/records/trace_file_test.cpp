// SPDX-License-Identifier: BSD-3-Clause
// The file of a trace is there whole, or not at all.
#include "tools/weftrun/launcher/records/trace_file.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/messages/stop.hpp"

namespace weft::weftrun {
namespace {

namespace fs = std::filesystem;

class TraceFileTest : public ::testing::Test {
 protected:
  TraceFileTest() {
    std::string name = fs::temp_directory_path() / "trace_file_XXXXXX";
    folder = ::mkdtemp(name.data());
  }
  ~TraceFileTest() override { fs::remove_all(folder); }
  std::string in(const std::string& name) const { return (folder / name).string(); }
  static std::string text_in(const std::string& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
  }
  std::string refusal(const std::string& path) {
    try {
      const TraceFile file(path);
    } catch (const messages::Stop& stop) {
      EXPECT_EQ(stop.exit_code(), messages::exit_status::own_failure);
      return stop.what();
    }
    return "";
  }
  fs::path folder;
};

TEST_F(TraceFileTest, is_there_when_it_is_written_and_its_owners_alone) {
  const TraceFile file(in("t"));
  EXPECT_EQ(files(), 0u);
  EXPECT_EQ(file.write("text"), "");
  EXPECT_EQ(text_in(in("t")), "text");
  struct stat there {};
  ASSERT_EQ(::stat(in("t").c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777u, 0600u);
  EXPECT_EQ(files(), 1u);
}

TEST_F(TraceFileTest, replaces_the_one_that_was_there) {
  std::ofstream(in("t")) << "a longer text of before";
  const TraceFile file(in("t"));
  EXPECT_EQ(text_in(in("t")), "a longer text of before");
  EXPECT_EQ(file.write("new"), "");
  EXPECT_EQ(text_in(in("t")), "new");
  EXPECT_EQ(files(), 1u);
}

TEST_F(TraceFileTest, is_refused_where_it_cannot_be) {
  EXPECT_NE(refusal(in("none/t")).find("No such file or directory; nothing was started"), std::string::npos);
  EXPECT_NE(refusal(folder.string()).find("it is a folder"), std::string::npos);
  EXPECT_NE(refusal(in("t/")).find("it is a folder"), std::string::npos);
  EXPECT_NE(refusal("/dev/null").find("is no regular file"), std::string::npos);
  fs::create_symlink(in("t"), in("link"));
  EXPECT_NE(refusal(in("link")).find("is no regular file"), std::string::npos);
  EXPECT_EQ(files(), 1u) << "the link";
}

TEST_F(TraceFileTest, whose_folder_has_gone_is_not_written) {
  fs::create_directory(folder / "sub");
  const TraceFile file(in("sub/t"));
  fs::remove(folder / "sub");
  EXPECT_EQ(file.write("text"), "No such file or directory");
}

TEST_F(TraceFileTest, means_the_folder_that_the_process_was_in) {
  const auto before = fs::current_path();
  fs::current_path(folder);
  const TraceFile file("t");
  fs::current_path(before);
  EXPECT_EQ(file.write("text"), "");
  EXPECT_EQ(text_in(in("t")), "text");
}

}  // namespace
}  // namespace weft::weftrun
