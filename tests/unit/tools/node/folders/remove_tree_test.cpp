// SPDX-License-Identifier: BSD-3-Clause
// A tree whose modes keep its owner out, removed by a user for whose processes modes count: not root.
#include "tools/node/folders/remove_tree.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace weft::node {
namespace {

namespace fs = std::filesystem;

/// Runs `life` as a user other than root, and returns its exit status.
template <class Life>
int as_a_user(Life life) {
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr unsigned nobody = 65534;
    if (::geteuid() == 0 && (::setgid(nobody) != 0 || ::setuid(nobody) != 0)) ::_exit(99);
    ::_exit(life());
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string new_folder() {
  std::string path = fs::temp_directory_path().string() + "/remove_tree_XXXXXX";
  return ::mkdtemp(path.data()) == nullptr ? std::string() : path;
}

/// PATH/NAME with a file, a folder with a file, and a link that leads out, all of the mode.
void fill(const std::string& path, const std::string& name, mode_t mode) {
  const std::string folder = path + "/" + name, below = folder + "/below";
  fs::create_directories(below);
  for (const auto& in : {folder, below}) {
    ::close(::open((in + "/file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0));
    fs::create_symlink("/etc", in + "/link");
  }
  ::chmod(below.c_str(), mode);
  ::chmod(folder.c_str(), mode);
}

TEST(RemoveTree, opens_what_its_owner_has_closed) {
  for (const mode_t mode : {0U, 0100U, 0200U, 0300U, 0400U, 0500U, 0600U}) {
    EXPECT_EQ(as_a_user([mode] {
                const auto path = new_folder();
                fill(path, "one", mode);
                fill(path, "other", mode);
                ::chmod(path.c_str(), mode);
                remove_tree(path);
                return path.empty() || fs::exists(fs::symlink_status(path)) ? 1 : 0;
              }),
              0)
        << "mode " << mode;
  }
}

TEST(RemoveTree, does_not_follow_a_link_in_its_place_and_leaves_what_is_another_users) {
  const auto path = new_folder();
  ASSERT_FALSE(path.empty());
  fs::create_directories(path + "/target/below");
  fs::create_symlink(path + "/target", path + "/link");
  remove_tree(path + "/link");
  EXPECT_TRUE(fs::exists(path + "/target/below"));
  if (::geteuid() == 0) {
    ::chmod((path + "/target").c_str(), 0777);
    ::chmod(path.c_str(), 0777);
    EXPECT_EQ(as_a_user([&] {
                remove_tree(path + "/target");
                return 0;
              }),
              0);
    EXPECT_TRUE(fs::exists(path + "/target/below"));
  }
  remove_tree(path);
  EXPECT_FALSE(fs::exists(path));
  remove_tree(path);  // one that is not there is none to complain about
}

}  // namespace
}  // namespace weft::node
