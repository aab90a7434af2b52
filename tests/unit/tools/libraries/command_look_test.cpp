// SPDX-License-Identifier: BSD-3-Clause
#include "tools/libraries/command_look.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/unit/tools/libraries/elf_file.hpp"

namespace weft::libraries {
namespace {

class CommandLook : public testing::Test {
 protected:
  CommandLook() {
    std::string name = testing::TempDir() + "command_look.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    std::filesystem::create_directory(folder_ + "/bin");
    make_program("ring", "libmpi.so.40");
    make_program("bin/pmix_ring", "libpmix.so.2");
    make_program("bin/plain", "libc.so.6");
  }
  ~CommandLook() override { std::filesystem::remove_all(folder_); }

  void make_program(const std::string& name, const std::string& library) const {
    const auto bytes = elf_file({library}, "", "");
    std::ofstream(folder_ + "/" + name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  void make_script(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  std::string look(const std::vector<std::string>& argv) const {
    return user_of_pmix(argv, "/no/such/folder:" + folder_ + "/bin", {"", folder_});
  }

  std::string folder_;
};

TEST_F(CommandLook, words_of_the_command) {
  EXPECT_EQ(look({"./ring"}), "./ring");
  EXPECT_EQ(look({"env", "-u", "LD_LIBRARY_PATH", "./ring", "7"}), "./ring");
  EXPECT_EQ(look({"env", "-i", folder_ + "/ring"}), folder_ + "/ring");
  EXPECT_EQ(look({"nice", "pmix_ring"}), "pmix_ring");
  EXPECT_EQ(look({"sh", "-c", "unset LD_LIBRARY_PATH; exec './ring'"}), "./ring");
  EXPECT_EQ(look({"python3", "-c", "from mpi4py import MPI"}), "mpi4py");
}

TEST_F(CommandLook, words_of_scripts) {
  make_script("run", "#!/bin/sh\nmodule load x\nexec ./ring \"$@\"\n");
  make_script("outer", "#!/bin/sh\n. ./environment\n./run\n");
  make_script("solve.py", "from mpi4py import MPI\n");
  EXPECT_EQ(look({"./run"}), "./run");
  EXPECT_EQ(look({"bash", "outer"}), "outer");
  EXPECT_EQ(look({"python3", "solve.py"}), "solve.py");
}

TEST_F(CommandLook, nothing_where_there_is_none) {
  make_script("loop", "./loop loop2");
  make_script("loop2", "./loop ./loop2 plain");
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  for (const auto& argv : std::vector<std::vector<std::string>>{
           {}, {""}, {"sh", "-c", "exit 3"}, {"plain"}, {"./loop"}, {"cat", "./pipe"}, {"."}, {"./absent"}})
    EXPECT_EQ(look(argv), "");
}

TEST_F(CommandLook, reads_a_bounded_part) {
  make_script("long", std::string(1 << 20, ' ') + "./ring");
  EXPECT_EQ(look({"./long"}), "");
  std::string many;
  for (int i = 0; i < 10000; ++i) many += "word" + std::to_string(i) + " ";
  EXPECT_EQ(look({"sh", "-c", many + "./ring"}), "");
}

}  // namespace
}  // namespace weft::libraries
