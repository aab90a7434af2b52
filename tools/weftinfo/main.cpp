// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <pmix.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "tools/weftinfo/messages.hpp"
#include "tools/weftinfo/metrics.hpp"
#include "tools/weftinfo/options.hpp"
#include "tools/weftinfo/settings.hpp"
#include "tools/weftinfo/text.hpp"

namespace weft::weftinfo {
namespace {

int print(const std::string& text) {
  return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? exit_status::own_failure : 0;
}

int show(const Cluster& cluster, const Options& options) {
  if (options.json) return print(json_of(cluster));
  if (options.memory) return print(memory_of(cluster));
  if (options.collectives) return print(collectives_of(cluster));
  return print(text_of(cluster) + (options.stats ? counters_of(cluster) + memory_of(cluster) : ""));
}

/// Without a process id: of all launches. One that ends meanwhile, or is stopped, is left out.
int show_metrics(const Options& options) {
  if (options.pid) return print(metrics_of({ask_cluster(*options.pid)}));
  std::vector<Cluster> clusters;
  for (const auto& listed : list_clusters()) try {
      clusters.push_back(ask_cluster(listed.pid));
    } catch (const Stop&) {
      continue;
    }
  return print(metrics_of(clusters));
}

const char* variable(const char* name) {
  return std::getenv(name);
}

int show_settings(const Options& options) {
  const auto settings = settings_in_force(variable);
  const auto complaints = base::complaints(environ);
  return print(options.json ? json_of(settings, complaints) : text_of(settings, complaints));
}

int run(int argc, char** argv) {
  const auto options = parse_options({argv + 1, argv + argc});
  if (!options.help.empty()) return print(options.help);
  if (options.show_version)
    return print(fmt::format("weftinfo {} with {}\n", WEFT_VERSION, PMIx_Get_version()));
  if (options.settings) return show_settings(options);
  if (options.metrics) return show_metrics(options);
  if (options.pid) return show(ask_cluster(*options.pid), options);
  const auto clusters = list_clusters();
  if (options.list && options.json) return print(json_of(clusters));
  if (clusters.empty()) throw messages::no_cluster();
  if (options.list) return print(text_of(clusters));
  if (clusters.size() == 1) return show(ask_cluster(clusters[0].pid), options);
  if (!options.json) print(text_of(clusters));
  throw messages::several_clusters(clusters.size());
}

}  // namespace
}  // namespace weft::weftinfo

int main(int argc, char** argv) {
  using namespace weft::weftinfo;
  try {
    return run(argc, argv);
  } catch (const Stop& stop) {
    fmt::print(stderr, "{}\n", stop.what());
    return stop.exit_code();
  } catch (const std::exception& error) {
    fmt::print(stderr, "weftinfo: {}\n", error.what());
    return exit_status::own_failure;
  }
}
