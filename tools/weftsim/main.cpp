// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "tools/weftsim/messages.hpp"
#include "tools/weftsim/options.hpp"
#include "tools/weftsim/prediction.hpp"
#include "tools/weftsim/report.hpp"
#include "tools/weftsim/servers.hpp"
#include "tools/weftsim/targets.hpp"

namespace weft::weftsim {
namespace {

int print(const std::string& text) {
  return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? exit_status::own_failure : 0;
}

int show_targets() {
  const auto report = compare_targets();
  const int printed = print(report.text);
  return printed != 0 ? printed : report.all_met ? 0 : exit_status::missed;
}

int run(int argc, char** argv) {
  const auto options = parse_options({argv + 1, argv + argc});
  if (!options.help.empty()) return print(options.help);
  switch (options.ask) {
    case Options::Ask::version:
      return print(fmt::format("weftsim {}\n", WEFT_VERSION));
    case Options::Ask::networks:
      return print(options.json ? json_of_networks() : text_of_networks());
    case Options::Ask::targets:
      return show_targets();
    case Options::Ask::job:
      break;
  }
  const auto operations = options.servers ? run_servers(options.job, options.operations)
                                          : predict(options.job, options.operations);
  return print(options.json ? json_of(options.job, operations) : text_of(options.job, operations));
}

}  // namespace
}  // namespace weft::weftsim

int main(int argc, char** argv) {
  using namespace weft::weftsim;
  try {
    return run(argc, argv);
  } catch (const Stop& stop) {
    fmt::print(stderr, "{}\n", stop.what());
    return stop.exit_code();
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "weftsim: this machine has too little memory for that job; take fewer --nodes\n");
    return exit_status::own_failure;
  } catch (const std::exception& error) {
    fmt::print(stderr, "weftsim: {}\n", error.what());
    return exit_status::own_failure;
  }
}
