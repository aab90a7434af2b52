// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <pmix.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "tools/launch/settings.hpp"
#include "tools/launch/start_message.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/node/program/environment.hpp"
#include "tools/process/fd.hpp"
#include "tools/process/spawn.hpp"
#include "tools/weftd/daemon.hpp"

namespace weft::weftd {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

constexpr const char* help =
    "Usage: weftd\n"
    "The daemon that weftrun starts on each node of a job. It is told what to do on its standard input; "
    "there is nothing\n"
    "to call it for by hand.   (weftd(1))\n"
    "  -h,--help      Print this and leave\n"
    "  -V,--version   Print the version and leave\n";

int run(int argc, char** argv) {
  if (argc > 1) {
    const std::string_view word(argv[1]);
    if (word == "-V" || word == "--version")
      return fmt::print("weftd {} with {}\n", WEFT_VERSION, PMIx_Get_version()), 0;
    if (word == "-h" || word == "--help") return std::fputs(help, stdout), 0;
    throw Stop(exit_status::usage,
               fmt::format("there is no option '{}'; weftrun starts weftd, see weftd --help", word));
  }
  const process::Spawner spawner;  // before anything is opened
  process::ensure_standard_descriptors();
  process::grow_descriptor_table();
  std::signal(SIGPIPE, SIG_IGN);
  node::forget_other_jobs();
  launch::StartMessage message = launch::read_start_message(STDIN_FILENO, WEFT_VERSION);
  launch::adopt_settings(message.settings);
  const std::size_t self = launch::find_self(message, allocation::OwnNames::here());
  return Daemon(spawner, std::move(message), self, WEFT_VERSION).run();
}

}  // namespace
}  // namespace weft::weftd

int main(int argc, char** argv) {
  using namespace weft::weftd;
  const auto print = [](const char* line) {  // not by fmt::print, which throws where the reader has gone
    const auto told =
        fmt::format("weftd: [{}] {}\n", weft::allocation::OwnNames::here().host,
                    weft::messages::with_descriptor_limit(line, weft::process::descriptor_limit()));
    (void)std::fputs(told.c_str(), stderr);
  };
  try {
    return run(argc, argv);
  } catch (const Stop& stop) {
    print(stop.what());
    return stop.exit_code();
  } catch (const std::exception& error) {
    print(error.what());
    return weft::weftd::exit_status::own_failure;
  }
}
