// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/json_lines.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

namespace weft::bench {
namespace {

using nlohmann::json;

std::string text_of(const json& record, const char* field) {
  const auto found = record.find(field);
  return found != record.end() && found->is_string() ? found->get<std::string>() : "";
}

std::size_t count_of(const json& record, const char* field) {
  const auto found = record.find(field);
  if (found == record.end() || !found->is_number_unsigned())
    throw std::runtime_error(std::string("no number of ") + field);
  return found->get<std::size_t>();
}

/// Throws std::runtime_error: what is wrong with the record.
void add(Measurements& to, const json& record) {
  if (!record.is_object()) throw std::runtime_error("no JSON object");
  constexpr std::string_view prefix = "median_";
  const auto median = std::find_if(record.items().begin(), record.items().end(),
                                   [&](const auto& field) { return field.key().starts_with(prefix); });
  if (median == record.items().end() || !median.value().is_number())
    throw std::runtime_error("no field median_ns, median_kib or median_count");
  Measured one{.bench = text_of(record, "bench"),
               .bytes = count_of(record, "bytes"),
               .unit = median.key().substr(prefix.size()),
               .medians = {}};
  const auto ranks = count_of(record, "ranks");
  const auto hosts = record.contains("hosts") ? count_of(record, "hosts") : 0;
  if (one.bench.empty() || ranks == 0 || std::max(ranks, hosts) > std::numeric_limits<unsigned>::max())
    throw std::runtime_error("no name, no ranks, or more than there can be");
  one.ranks = static_cast<unsigned>(ranks);
  one.hosts = static_cast<unsigned>(hosts);
  const auto value = median.value().get<double>();
  if (!std::isfinite(value)) throw std::runtime_error("a median that is no number");
  auto known =
      std::find_if(to.all.begin(), to.all.end(), [&](const auto& other) { return other.is_same(one); });
  if (known == to.all.end()) known = to.all.insert(known, std::move(one));
  known->medians.push_back(value);
  to.machines.insert(text_of(record, "machine"));
  to.libraries.insert(text_of(record, "library"));
  to.launchers.insert(text_of(record, "launcher"));
  to.commits.insert(text_of(record, "commit"));
}

}  // namespace

Measurements read_json_lines(const std::string& path) {
  Measurements out;
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + ": " + std::strerror(errno));
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    try {
      const auto record = json::parse(line, nullptr, false);
      if (record.is_discarded()) throw std::runtime_error("no JSON");
      add(out, record);
    } catch (const std::exception& why) {
      throw std::runtime_error(path + ":" + std::to_string(number) +
                               ": no line of weftbench --json: " + why.what());
    }
  }
  if (out.all.empty()) throw std::runtime_error(path + ": no line of weftbench --json");
  return out;
}

}  // namespace weft::bench
