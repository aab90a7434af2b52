// SPDX-License-Identifier: BSD-3-Clause
#include "tools/libraries/open_watch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace weft::libraries {
namespace {

namespace fs = std::filesystem;

class OpenWatchTest : public testing::Test {
 protected:
  OpenWatchTest() {
    std::string name = testing::TempDir() + "open_watch.XXXXXX";
    folder_ = fs::canonical(::mkdtemp(name.data())).string();
  }
  ~OpenWatchTest() override { fs::remove_all(folder_); }

  std::string make(const std::string& name) const {
    const auto path = folder_ + "/" + name;
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << "x";
    return path;
  }
  /// The files of other libraries that are in the folder of this test.
  std::vector<std::string> found(const std::string& own, const std::string& library_path,
                                 const std::string& search_path) const {
    auto files = other_pmix_files(own, library_path, search_path);
    std::erase_if(files, [this](const std::string& file) { return file.rfind(folder_, 0) != 0; });
    return files;
  }

  std::string folder_;
};

TEST_F(OpenWatchTest, other_libraries_are_found_where_programs_find_them) {
  const auto own = make("own/libpmix.so.2"), named = make("named/libpmix.so.2"),
             module = make("module/lib/libpmix.so.2"), wide = make("wide/lib64/libpmix.so.2");
  fs::create_directory(folder_ + "/again");
  fs::create_symlink(named, folder_ + "/again/libpmix.so.2");
  const auto files = found(own, folder_ + "/own:" + folder_ + "/named::" + folder_ + "/again:/no/such/folder",
                           folder_ + "/module/bin:" + folder_ + "/wide/bin:.:/");
  EXPECT_EQ(files, (std::vector<std::string>{named, module, wide}));
  EXPECT_TRUE(found(own, "", "").empty());
}

TEST_F(OpenWatchTest, an_opened_file_is_told_and_stays_told) {
  const auto one = make("one"), two = make("two");
  OpenWatch watch({one, two});
  EXPECT_EQ(watch.opened(), "");
  EXPECT_EQ(fs::file_size(two), 1U);  // looked at, not opened
  EXPECT_EQ(watch.opened(), "");
  for (int i = 0; i < 2000; ++i) std::ifstream(two).get();
  std::ifstream(one).get();
  EXPECT_EQ(watch.opened(), two);
  EXPECT_EQ(watch.opened(), two);
}

TEST_F(OpenWatchTest, what_cannot_be_watched_is_never_opened) {
  EXPECT_EQ(OpenWatch({}).opened(), "");
  OpenWatch watch({folder_ + "/absent"});
  make("absent");
  std::ifstream(folder_ + "/absent").get();
  EXPECT_EQ(watch.opened(), "");
}

}  // namespace
}  // namespace weft::libraries
