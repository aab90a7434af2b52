// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <pmix.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/node/program/environment.hpp"
#include "tools/process/fd.hpp"
#include "tools/process/spawn.hpp"
#include "tools/weftrun/command_line/options.hpp"
#include "tools/weftrun/launcher/launcher.hpp"
#include "tools/weftrun/plan/explain.hpp"
#include "tools/weftrun/plan/plan.hpp"
#include "tools/weftrun/service/attach.hpp"
#include "tools/weftrun/service/background.hpp"
#include "tools/weftrun/service/service.hpp"

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

std::string described_machine() {
  return base::read(base::Variable::topology).text;
}

/// Of this run alone: a weftrun that a rank of it starts would write the same file.
std::string take_trace_file() {
  const auto& setting = base::setting_of(base::Variable::trace);
  auto path = base::read(setting.variable).text;
  ::unsetenv(setting.name);
  return path;
}

PlanContext context_of(const Options& options) {
  auto context = PlanContext::real(options.processors);
  if (!options.dry_run || described_machine().empty()) return context;
  const auto machine = KnownMachine::of(described_machine(), options.processors);
  context.cores = machine.processors.cores;
  context.threads = machine.processors.threads;
  return context;
}

/// --dry-run, --explain and --display.
std::string said_before(const Plan& plan, const Options& options) {
  auto text = options.shows_allocation ? describe_allocation(plan) : std::string();
  if (!options.dry_run && !options.explain && !options.shows_map) return text;
  const auto described = described_machine();
  const bool is_used =
      !described.empty() || plan.own || plan.one_machine;  // else the processors are those of other nodes
  const auto machine = KnownMachine::of(described, is_used ? options.processors : std::vector<unsigned>());
  return text + explain(plan, options, machine, options.explain);
}

/// Virtual nodes share the processors of this machine: what they are asked for and do not have is told before
/// a daemon is started.
void check_shared_processors(const Plan& plan, const Options& options) {
  const auto& mapping = options.mapping;
  const bool asks_for_caches = mapping.bind == job::BindTo::l2cache || mapping.bind == job::BindTo::l3cache ||
                               mapping.map == job::MapBy::l2cache || mapping.map == job::MapBy::l3cache;
  const bool asks =
      asks_for_caches || mapping.cores_each != 0 || !options.processors.empty() || !plan.core_lists.empty();
  if (plan.one_machine && asks) (void)explain(plan, options, KnownMachine::of({}, options.processors), false);
}

/// Runs launcher_of(transport) and, where a node is not reached by the transport that it has chosen, again by
/// tcp.
template <class LauncherOf>
int run_launcher(LauncherOf&& launcher_of) {
  for (std::string transport;; transport = "tcp") {
    const auto launcher = launcher_of(transport);
    const int status = launcher->run();
    if (!launcher->wants_tcp()) return status;
  }
}

int serve(const Options& options, const service::ReadyPipe& ready) {
  const process::Spawner spawner;  // before anything is opened
  Plan plan = make_service_plan(options, context_of(options));
  return run_launcher([&](const std::string& transport) {
    return std::make_unique<service::Service>(spawner, options, plan, WEFT_VERSION, transport,
                                              [&ready] { ready.tell(); });
  });
}

int run(int argc, char** argv) {
  const auto begun = std::chrono::steady_clock::now();
  Options options = parse_options(std::vector<std::string>(argv + 1, argv + argc));
  if (!options.help.empty()) return print(options.help);
  if (options.show_version) {
    return print(fmt::format("weftrun {} with {}\n", WEFT_VERSION, PMIx_Get_version()));
  }
  process::ensure_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an error of write() here
  options.trace = take_trace_file();
  const auto what = options.service.what;
  if (what != ServiceOptions::What::none && !options.trace.empty()) {
    say(messages::no_trace_of_service());
    options.trace.clear();
  }
  if (what != ServiceOptions::What::none && what != ServiceOptions::What::start)
    return service::visit(std::move(options));
  process::grow_descriptor_table();
  node::forget_other_jobs();
  if (what == ServiceOptions::What::start)
    return options.service.detach
               ? service::in_background([&](const auto& ready) { return serve(options, ready); })
               : serve(options, {});
  const process::Spawner spawner;  // before anything is opened
  Plan plan = make_plan(options, context_of(options));
  const auto text = said_before(plan, options);
  if (options.dry_run) return print(text);
  (void)std::fputs(text.c_str(), stderr);
  check_shared_processors(plan, options);
  options.planning_time = std::chrono::steady_clock::now() - begun;
  return run_launcher([&](const std::string& transport) {
    return std::make_unique<Launcher>(spawner, options, plan, WEFT_VERSION, transport);
  });
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
