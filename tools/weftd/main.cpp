// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <pmix.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "tools/node/environment.hpp"
#include "tools/node/fd.hpp"
#include "tools/node/spawn.hpp"
#include "tools/node/start_message.hpp"
#include "tools/node/stop.hpp"
#include "tools/weftd/daemon.hpp"

namespace weft::weftd {
namespace {

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
  const Spawner spawner;  // first: it notes what is open
  ensure_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);
  forget_other_jobs();
  StartMessage message = read_start_message(STDIN_FILENO, WEFT_VERSION);
  adopt_settings(message.settings);
  const std::size_t self = find_self(message, OwnNames::here());
  return Daemon(spawner, std::move(message), self, WEFT_VERSION).run();
}

}  // namespace
}  // namespace weft::weftd

int main(int argc, char** argv) {
  using namespace weft::weftd;
  const auto tell = [](const char* line) {
    fmt::print(stderr, "weftd: [{}] {}\n", OwnNames::here().host, line);
  };
  try {
    return run(argc, argv);
  } catch (const Stop& stop) {
    tell(stop.what());
    return stop.exit_code();
  } catch (const std::exception& error) {
    tell(error.what());
    return weft::node::exit_status::own_failure;
  }
}
