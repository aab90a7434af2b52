// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <pmix.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/process/fd.hpp"
#include "tools/process/spawn.hpp"
#include "tools/ranks/environment.hpp"
#include "tools/weftrun/command_line/options.hpp"
#include "tools/weftrun/explain.hpp"
#include "tools/weftrun/job.hpp"
#include "tools/weftrun/plan.hpp"

namespace weft::weftrun {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

int print(const std::string& text) {
  return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? exit_status::own_failure : 0;
}

/// Not by fmt::print, which throws where the reader has gone (2>&1 | head -1).
void say(const std::string& line) {
  (void)std::fputs(fmt::format("weftrun: {}\n", line).c_str(), stderr);
}

void say_failure(const std::string& line) {
  say(messages::with_descriptor_limit(line, process::descriptor_limit()));
}

int run(int argc, char** argv) {
  Options options = parse_options(std::vector<std::string>(argv + 1, argv + argc));
  if (!options.help.empty()) return print(options.help);
  if (options.show_version) {
    return print(fmt::format("weftrun {} with {}\n", WEFT_VERSION, PMIx_Get_version()));
  }
  const process::Spawner spawner;  // before anything is opened
  process::ensure_standard_descriptors();
  process::grow_descriptor_table();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an error of write() here
  ranks::forget_other_jobs();
  Plan plan = make_plan(options, PlanContext::real());
  if (options.dry_run || options.explain) {
    const auto described = base::read(base::Variable::topology).text;
    const auto text = explain(plan, options, KnownMachine::of(described), options.explain);
    if (options.dry_run) return print(text);
    fmt::print(stderr, "{}", text);
  }
  for (std::string transport;; transport = "tcp") {
    Job job(spawner, options, plan, WEFT_VERSION, transport);
    const int status = job.run();
    if (!job.wants_tcp()) return status;
  }
}

}  // namespace
}  // namespace weft::weftrun

int main(int argc, char** argv) {
  using namespace weft::weftrun;
  try {
    return run(argc, argv);
  } catch (const Stop& stop) {
    stop.exit_code() == exit_status::own_failure ? say_failure(stop.what()) : say(stop.what());
    return stop.exit_code();
  } catch (const std::exception& error) {
    say_failure(fmt::format("{}; the job was ended", error.what()));
    return exit_status::own_failure;
  }
}
