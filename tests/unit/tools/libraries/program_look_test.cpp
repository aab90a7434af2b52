// SPDX-License-Identifier: BSD-3-Clause
#include "tools/libraries/program_look.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/tools/libraries/elf_file.hpp"

namespace weft::libraries {
namespace {

class ProgramLook : public testing::Test {
 protected:
  ProgramLook() {
    std::string name = testing::TempDir() + "program_look.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    std::filesystem::create_directory(folder_ + "/lib");
  }
  ~ProgramLook() override { std::filesystem::remove_all(folder_); }

  std::string make(const std::string& name, const std::vector<std::string>& needs,
                   const std::string& rpath = {}, const std::string& runpath = {}) const {
    const auto path = folder_ + "/" + name;
    const auto bytes = elf_file(needs, rpath, runpath);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  job::Interface look(const std::string& program) const {
    return look_at(program, {folder_ + "/lib", folder_});
  }

  std::string folder_;
};

TEST_F(ProgramLook, APlainProgramHasNoInterface) {
  const auto found = look(make("plain", {"libc.so.6", "libm.so.6", "libno_such_library.so"}));
  EXPECT_EQ(found.mpi, "");
  EXPECT_EQ(found.pmix, "");
  EXPECT_FALSE(found.is_wire);
}

TEST_F(ProgramLook, AScriptOrNothingHasNone) {
  std::ofstream(folder_ + "/script") << "#!/bin/sh\n";
  for (const auto* name : {"/script", "/no_such_file", "", "/lib"}) EXPECT_EQ(look(folder_ + name).mpi, "");
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(look(folder_ + "/pipe").mpi, "");  // does not wait for a writer
}

TEST_F(ProgramLook, MpichSpeaksTheWireForm) {
  make("lib/libmpich.so.12", {"libucp.so.0"});
  const auto found = look(make("program", {"libmpich.so.12", "libc.so.6"}));
  EXPECT_EQ(found.mpi, "libmpich.so.12");
  EXPECT_TRUE(found.is_wire);
  EXPECT_TRUE(look(make("other", {"libmpi.so.12"})).is_wire);
}

TEST_F(ProgramLook, MpichThatWasBuiltForPmixOrALibraryDoesNot) {
  make("lib/libmpich.so.12", {"libpmix.so.2"});
  make("lib/libpmix.so.2", {});
  auto found = look(make("program", {"libmpich.so.12"}));
  EXPECT_FALSE(found.is_wire);
  EXPECT_EQ(found.pmix, folder_ + "/lib/libpmix.so.2");
  for (const auto* library : {"libpmi.so.0", "libpmi2.so.0"}) {
    make("lib/libmpich.so.12", {library});
    EXPECT_FALSE(look(make("program", {"libmpich.so.12"})).is_wire);
  }
}

TEST_F(ProgramLook, OpenMpiDoesNot) {
  for (const auto* library : {"libmpi.so.40", "liboshmem.so.40"}) {
    const auto found = look(make("program", {library}));
    EXPECT_EQ(found.mpi, library);
    EXPECT_FALSE(found.is_wire);
  }
}

TEST_F(ProgramLook, LooksBelowOtherLibraries) {
  make("lib/libsolver.so.3", {"libmiddle.so"});
  make("lib/libmiddle.so", {"libmpich.so.12", "libsolver.so.3"});  // and round again
  EXPECT_TRUE(look(make("program", {"libsolver.so.3"})).is_wire);
}

TEST_F(ProgramLook, FindsFilesInTheLoadersOrder) {
  for (const auto* name : {"rpath", "runpath"}) std::filesystem::create_directory(folder_ + "/" + name);
  for (const auto* name : {"rpath", "runpath", "lib"}) make(std::string(name) + "/libpmix.so.2", {});
  EXPECT_EQ(look(make("a", {"libpmix.so.2"})).pmix, folder_ + "/lib/libpmix.so.2");
  EXPECT_EQ(look(make("b", {"libpmix.so.2"}, "$ORIGIN/rpath")).pmix, folder_ + "/rpath/libpmix.so.2");
  EXPECT_EQ(look(make("c", {"libpmix.so.2"}, "", "${ORIGIN}/runpath")).pmix, folder_ + "/lib/libpmix.so.2");
  // A RUNPATH switches the RPATH off.
  EXPECT_EQ(look(make("d", {"libpmix.so.2"}, "$ORIGIN/rpath", "$ORIGIN/runpath")).pmix,
            folder_ + "/lib/libpmix.so.2");
  std::filesystem::remove(folder_ + "/lib/libpmix.so.2");
  EXPECT_EQ(look(make("c", {"libpmix.so.2"}, "", "$ORIGIN/runpath")).pmix, folder_ + "/runpath/libpmix.so.2");
}

TEST_F(ProgramLook, TakesNamesWithAPathAsTheyAre) {
  const auto library = make("libpmix.so.2", {});
  EXPECT_EQ(look(make("program", {library})).pmix, library);
}

TEST_F(ProgramLook, APathIsSeenFromWhereTheProgramWillRun) {
  make("program", {"libmpich.so.12"});
  EXPECT_TRUE(look("./program").is_wire);
}

TEST_F(ProgramLook, LooksAtABoundedNumberOfFiles) {
  constexpr int most = 128;
  for (int i = 0; i < 2 * most; ++i)
    make("lib/lib" + std::to_string(i) + ".so", {"lib" + std::to_string(i + 1) + ".so"});
  make("lib/lib" + std::to_string(2 * most) + ".so", {"libmpich.so.12"});
  EXPECT_EQ(look(make("program", {"lib0.so"})).mpi, "");
}

}  // namespace
}  // namespace weft::libraries
