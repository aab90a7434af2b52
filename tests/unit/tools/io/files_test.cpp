// SPDX-License-Identifier: BSD-3-Clause
// --output-dir: the files of ranks here and elsewhere.
#include "tools/io/files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tools/messages/stop.hpp"

namespace weft::io {
namespace {

using job::Rank;
using job::Stream;

struct FilesTest : ::testing::Test {
  FilesTest() {
    std::string name = ::testing::TempDir() + "files_XXXXXX";
    root = ::mkdtemp(name.data());
  }
  ~FilesTest() override { std::filesystem::remove_all(root); }
  Files make(const std::string& directory) {
    return {directory, [this](const std::string& file, int error) {
              failed.push_back(file + " " + std::to_string(error));
            }};
  }
  void write(Files& files, std::uint32_t rank, Stream stream, std::string bytes) {
    files.write({"job", Rank{rank}, stream}, std::move(bytes),
                [this](bool takes_more) { written += takes_more; });
  }
  static std::string text(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string root;
  std::vector<std::string> failed;
  int written = 0;
};

TEST_F(FilesTest, a_rank_here_writes_itself_and_one_elsewhere_by_chunks) {
  const auto directory = root + "/made/here";
  auto files = make(directory);
  const auto ends = files.open(Rank{0});
  ASSERT_EQ(::write(ends.error.get(), "itself", 6), 6);
  files.open(Rank{1});
  write(files, 1, Stream::out, "one ");
  write(files, 1, Stream::out, "two");
  write(files, 1, Stream::out, {});
  EXPECT_EQ(text(directory + "/rank.0.err"), "itself");
  EXPECT_EQ(text(directory + "/rank.0.out"), "");
  EXPECT_EQ(text(directory + "/rank.1.out"), "one two");
  EXPECT_EQ(written, 3);
  EXPECT_TRUE(failed.empty());
}

TEST_F(FilesTest, what_cannot_be_written_is_told_once) {
  auto files = make(root);
  write(files, 1, Stream::out, "no file was made");
  write(files, 2, Stream::out, "nor here");
  EXPECT_EQ(failed, std::vector<std::string>{root + "/rank.1.out " + std::to_string(EBADF)});
  EXPECT_EQ(written, 2) << "the senders go on";
}

TEST_F(FilesTest, a_directory_that_cannot_be_is_a_stop) {
  std::ofstream(root + "/file") << "x";
  EXPECT_THROW(make(root + "/file/inside"), messages::Stop);
  auto files = make(root);
  std::filesystem::create_directory(root + "/rank.3.out");
  EXPECT_THROW(files.open(Rank{3}), messages::Stop);
}

}  // namespace
}  // namespace weft::io
