// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftsim/targets.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "tools/weftsim/format.hpp"
#include "tools/weftsim/options.hpp"
#include "tools/weftsim/prediction.hpp"

namespace weft::weftsim {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find(' ', begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

Operation predicted(const std::string& command) {
  const auto options = parse_options(words_of(command));
  return predict(options.job, options.operations.front());
}

/// A time that is predicted.
struct Target {
  const char* what;
  const char* command;
  std::function<Time(const Operation&)> limit;
  std::function<Time(const Operation&)> value;
  std::vector<const char*> others;  ///< algorithms that may do better
  const char* instead = "";         ///< a command that does without it
};

Time whole(const Operation& operation) {
  return operation.time;
}
/// Of one Get alone, without the barrier before it.
Time gets_alone(const Operation& operation) {
  return operation.parts.back().time;
}
std::function<Time(const Operation&)> at_most(Time limit) {
  return [limit](const Operation&) { return limit; };
}
Time twice_line_rate(const Operation& operation) {
  return 2 * operation.line_rate.value_or(0);
}

std::vector<Target> targets() {
  const std::vector<const char*> barriers{"dissemination:2", "dissemination:3", "dissemination:5",
                                          "dissemination:7", "dissemination:11"};
  const std::vector<const char*> exchanges{"recursive_doubling", "tree:2:64"};
  std::vector<Target> out;
  for (const char* command : {"--nodes 1024 --ppn 128 --network ndr --operations barrier",
                              "--nodes 1024 --ppn 128 --network slingshot --operations barrier"})
    out.push_back({"barrier of 1,024 nodes", command, at_most(50'000), whole, barriers});
  for (const char* command : {"--nodes 1024 --touch 1 --network ndr --operations first_touch",
                              "--nodes 1024 --touch 1 --network slingshot --operations first_touch"})
    out.push_back({"first touch", command, at_most(5'000), gets_alone, {}});
  struct Network {
    const char *full, *wires, *sparse;
  };
  for (const auto& [full, wires, sparse] :
       {Network{"--nodes 10000 --ppn 128 --card 64 --network ndr --operations full_fence",
                "--nodes 10000 --ppn 128 --card 64 --network ndr --operations full_fence --wires-only",
                "--nodes 10000 --ppn 128 --card 64 --network ndr --operations first_touch"},
        Network{"--nodes 10000 --ppn 128 --card 64 --network slingshot --operations full_fence",
                "--nodes 10000 --ppn 128 --card 64 --network slingshot --operations full_fence --wires-only",
                "--nodes 10000 --ppn 128 --card 64 --network slingshot --operations first_touch"}})
    for (const char* command : {full, wires})
      out.push_back(
          {"full fence within twice line rate", command, twice_line_rate, whole, exchanges, sparse});
  return out;
}

std::string line_of(const char* what, const std::string& command, const std::string& value,
                    const std::string& limit, bool is_met) {
  return fmt::format("{:<6} {}: {} of {}\n       weftsim {}\n", is_met ? "met" : "MISSED", what, value, limit,
                     command);
}

void add(TargetReport& out, const Target& target) {
  const auto operation = predicted(target.command);
  const auto value = target.value(operation), limit = target.limit(operation);
  out.text += line_of(target.what, target.command, time_text(value), time_text(limit), value <= limit);
  if (value <= limit) return;
  out.all_met = false;
  for (const auto& part : operation.parts)
    out.text += fmt::format("         {}: {}\n", part.what, time_text(part.time));
  const std::string wires = " --wires-only";
  if (std::string_view(target.command).find(wires) == std::string_view::npos)
    out.text += fmt::format("         the wires alone (--wires-only): {}; the rest is processors\n",
                            time_text(target.value(predicted(target.command + wires))));
  for (const char* other : target.others) {
    const auto with_other = target.value(predicted(fmt::format("{} --collective {}", target.command, other)));
    out.text += fmt::format("         --collective {}: {}{}\n", other, time_text(with_other),
                            with_other <= limit ? ", which would meet it" : "");
  }
  if (*target.instead != '\0')
    out.text += fmt::format(
        "         a sparse fence, and first cards of 4 peers, in its place: {}\n         weftsim {}\n",
        time_text(predicted(target.instead).time), target.instead);
}

/// What the simulation itself may take.
void add_own(TargetReport& out, const char* what, const char* command) {
  constexpr double most_seconds = 60;
  constexpr std::uint64_t most_bytes = std::uint64_t{8} << 30;
  const auto begun = std::chrono::steady_clock::now();
  const auto operation = predicted(command);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  const bool is_met = took.count() <= most_seconds && bytes <= most_bytes;
  out.all_met &= is_met;
  out.text += line_of(what, command, fmt::format("{:.1f} s and {}", took.count(), size_text(bytes)),
                      "60 s and 8 GiB to simulate it", is_met);
  out.text += fmt::format("         it takes {} of virtual time\n", time_text(operation.time));
}

}  // namespace

TargetReport compare_targets() {
  TargetReport out;
  add_own(out, "barrier of 131,072 nodes", "--nodes 131072 --network ndr --operations barrier");
  add_own(out, "full fence of 131,072 nodes",
          "--nodes 131072 --card 64 --network ndr --operations full_fence");
  for (const auto& target : targets()) add(out, target);
  return out;
}

}  // namespace weft::weftsim
