// SPDX-License-Identifier: BSD-3-Clause
#include "tools/placement/rank_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/placement/processor_lists.hpp"

namespace weft::placement {
namespace {

using job::Rank;
using messages::Stop;
namespace exit_status = messages::exit_status;

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  throw Stop(exit_status::usage,
             messages::usage(messages::on_one_line(fmt::format("--rankfile {}{}", name, what))));
}
[[noreturn]] void refuse(const std::string& name, std::size_t line, const std::string& what) {
  refuse(name, fmt::format(", line {}: {}", line, what));
}

/// The line without its comment, and with one blank at most between words and none around '='.
std::string squeezed(std::string_view line) {
  std::istringstream words{std::string(line.substr(0, line.find('#')))};
  std::string text;
  for (std::string word; words >> word;) {
    const bool stands_alone = !text.empty() && text.back() != '=' && word.front() != '=' &&
                              text.back() != ',' && word.front() != ',';
    text += (stands_alone ? " " : "") + word;
  }
  return text;
}

std::optional<Rank> rank_of(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number >= job::most_ranks)
    return std::nullopt;
  return Rank{number};
}

bool is_relative(std::string_view host) noexcept {
  return host.substr(0, 2) == "+n" || host.substr(0, 2) == "+N";
}

RankPlace read_line(const std::string& text, const std::string& name, std::size_t line) {
  constexpr std::string_view begin = "rank ", slot = " slot=";
  const auto equals = std::min(text.find('='), text.size());
  const auto rank = text.compare(0, begin.size(), begin) == 0
                        ? rank_of(std::string_view(text).substr(begin.size(), equals - begin.size()))
                        : std::nullopt;
  if (!rank || equals == text.size())
    refuse(name, line,
           fmt::format("'{}' does not begin with rank NUMBER=HOST; a line is rank N=HOST slot=CORES", text));
  const auto cores = std::min(text.find(' ', equals), text.size());
  RankPlace place{*rank, text.substr(equals + 1, cores - equals - 1), "*", line};
  if (!is_relative(place.host))
    allocation::check_host_name(place.host, fmt::format("--rankfile {}, line {}", name, line));
  if (cores == text.size()) return place;
  if (text.compare(cores, slot.size(), slot) != 0)
    refuse(name, line,
           fmt::format("'{}' is unknown; after the host there can be slot=CORES", text.substr(cores + 1)));
  place.cores = text.substr(cores + slot.size());
  std::string complaint;
  if (!read_core_list(place.cores, complaint)) refuse(name, line, complaint);
  return place;
}

/// Every rank up to the highest has one place.
void check_ranks(const std::vector<RankPlace>& places, const std::string& name) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i > 0 && places[i].rank == places[i - 1].rank)
      refuse(
          name, places[i].line,
          fmt::format("rank {} has a place already, in line {}", number(places[i].rank), places[i - 1].line));
    if (index(places[i].rank) != i)
      refuse(name, fmt::format(" has no line for rank {}, but one for rank {} (line {})", i,
                               number(places[i].rank), places[i].line));
  }
}

/// Host names to their numbers; "+n2" is the host with number 2.
class HostNumbers {
 public:
  HostNumbers(const RankFile& file, const allocation::Hosts& hosts) : file_(file), hosts_(hosts) {
    for (std::size_t i = 0; i < hosts.size(); ++i)
      numbers_.emplace(hosts[i].name, static_cast<std::uint32_t>(i));
  }
  std::uint32_t of(const RankPlace& place) const {
    if (is_relative(place.host)) {
      const auto number = rank_of(std::string_view(place.host).substr(2));
      if (number && index(*number) < hosts_.size()) return job::number(*number);
      refuse(file_.name, place.line,
             fmt::format("'{}' is no node of the job, which has +n0 to +n{}", place.host, hosts_.size() - 1));
    }
    const auto at = numbers_.find(place.host);
    if (at != numbers_.end()) return at->second;
    refuse(file_.name, place.line,
           fmt::format("host '{}' is none of the {} node{} of the job; name it with --host or --hostfile too",
                       place.host, hosts_.size(), hosts_.size() == 1 ? "" : "s"));
  }

 private:
  const RankFile& file_;
  const allocation::Hosts& hosts_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

}  // namespace

RankFile read_rank_file(std::string_view text, const std::string& name) {
  RankFile file{name, {}};
  for (std::size_t begin = 0, line = 1; begin < text.size(); ++line) {
    const auto end = std::min(text.find('\n', begin), text.size());
    const auto words = squeezed(text.substr(begin, end - begin));
    if (!words.empty()) file.places.push_back(read_line(words, name, line));
    begin = end + 1;
  }
  if (file.places.empty()) refuse(name, " places no rank; a line is rank N=HOST slot=CORES");
  std::stable_sort(file.places.begin(), file.places.end(),
                   [](const RankPlace& one, const RankPlace& other) { return one.rank < other.rank; });
  check_ranks(file.places, name);
  return file;
}

RankFile read_rank_file(const std::string& name) {
  std::ifstream stream(name, std::ios::binary);
  std::ostringstream text;
  std::error_code error;
  if (!stream || std::filesystem::is_directory(name, error))
    refuse(name, " cannot be read; check its name and permissions");
  text << stream.rdbuf();
  return read_rank_file(text.str(), name);
}

allocation::Hosts hosts_of(const RankFile& file) {
  allocation::Hosts hosts;
  std::unordered_map<std::string, std::size_t> numbers;
  for (const auto& place : file.places) {
    if (is_relative(place.host))
      refuse(file.name, place.line,
             fmt::format("'{}' is a node of a list, and there is none; name nodes with --host or --hostfile",
                         place.host));
    const auto [at, is_new] = numbers.emplace(place.host, hosts.size());
    if (is_new) hosts.push_back({place.host, 0});
    ++hosts[at->second].slots;
  }
  return hosts;
}

Distribution place_as_listed(const RankFile& file, const std::vector<std::uint32_t>& ranks,
                             const allocation::Hosts& hosts) {
  const auto asked = std::accumulate(ranks.begin(), ranks.end(), std::uint64_t{0});
  const auto there = file.places.size();
  if (asked != 0 && asked > there)
    refuse(file.name, fmt::format(" has no line for rank {}; the job has {} ranks, the file places {}", there,
                                  asked, there));
  if (asked != 0 && asked < there)
    refuse(file.name, fmt::format(" places {} ranks (rank {} in line {}), but the job has {}", there,
                                  number(file.places[asked].rank), file.places[asked].line, asked));
  const HostNumbers numbers(file, hosts);
  Distribution distribution;
  distribution.nodes = static_cast<std::uint32_t>(hosts.size());
  auto place = file.places.begin();
  for (const auto count : ranks) {
    Distribution::AppShare share{RankBy::listed, 0, std::vector<std::uint32_t>(hosts.size())};
    for (auto left = asked == 0 ? there : count; left > 0; --left, ++place) {
      share.listed.push_back(numbers.of(*place));
      if (++share.counts[share.listed.back()] > job::most_ranks_a_node)
        refuse(file.name, place->line,
               fmt::format("'{}' has more than {} ranks", place->host, job::most_ranks_a_node));
    }
    distribution.apps.push_back(std::move(share));
  }
  return distribution;
}

}  // namespace weft::placement
