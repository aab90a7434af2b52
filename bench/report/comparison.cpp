// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/comparison.hpp"

#include <algorithm>
#include <random>

#include "bench/report/record.hpp"
#include "bench/report/stats.hpp"

namespace weft::bench {
namespace {

constexpr std::size_t resamples = 2000;

double median_of(std::vector<double> values) {
  return summarize(std::move(values)).median;
}

/// A sample with replacement: as many values as there are, each drawn from all of them.
std::vector<double> resampled(const std::vector<double>& values, std::mt19937_64& random) {
  std::uniform_int_distribution<std::size_t> any(0, values.size() - 1);
  std::vector<double> out(values.size());
  for (auto& one : out) one = values[any(random)];
  return out;
}

Ratio with_interval(double middle, std::vector<double> drawn) {
  std::sort(drawn.begin(), drawn.end());
  const auto at = [&](double share) {
    return drawn[static_cast<std::size_t>(share * static_cast<double>(drawn.size() - 1))];
  };
  return {middle, at(0.025), at(0.975), true};
}

std::string joined(const std::set<std::string>& texts) {
  std::string out;
  for (const auto& text : texts)
    if (!text.empty()) out += (out.empty() ? "" : "; ") + text;
  return out.empty() ? "not said" : out;
}

void print_origin(std::FILE* out, char letter, const std::string& name, const Measurements& of) {
  std::fprintf(out, "# %c: %s: %s; launched by %s; commit %s; on %s\n", letter, name.c_str(),
               joined(of.libraries).c_str(), joined(of.launchers).c_str(), joined(of.commits).c_str(),
               joined(of.machines).c_str());
}

const char* verdict_on(const std::string& unit, const std::optional<Ratio>& ratio) {
  if (!ratio) return "no ratio";
  if (!ratio->has_interval) return "too few runs";
  if (ratio->may_be_noise()) return "noise";
  const bool is_time = unit == "ns";
  return ratio->middle > 1 ? (is_time ? "B slower" : "B more") : (is_time ? "B faster" : "B less");
}

const Measured* find(const Measurements& in, const Measured& one) {
  const auto found =
      std::find_if(in.all.begin(), in.all.end(), [&](const auto& other) { return other.is_same(one); });
  return found == in.all.end() ? nullptr : &*found;
}

std::string hosts_of(const Measured& measured) {
  return measured.hosts == 0 ? "-" : std::to_string(measured.hosts);
}

void print_only_in(std::FILE* out, char letter, const Measurements& one, const Measurements& other) {
  for (const auto& measured : one.all)
    if (find(other, measured) == nullptr)
      std::fprintf(out, "# only in %c: %s, %u ranks, %s hosts, %zu bytes\n", letter, measured.bench.c_str(),
                   measured.ranks, hosts_of(measured).c_str(), measured.bytes);
}

}  // namespace

std::optional<Ratio> ratio_of(const std::vector<double>& first, const std::vector<double>& second) {
  if (first.empty() || second.empty()) return std::nullopt;
  if (std::any_of(first.begin(), first.end(), [](double value) { return value <= 0; })) return std::nullopt;
  const bool is_enough = std::min(first.size(), second.size()) >= fewest_runs;
  std::mt19937_64 random(1);
  std::vector<double> drawn(resamples);
  if (first.size() != second.size()) {
    const auto middle = median_of(second) / median_of(first);
    if (!is_enough) return Ratio{.middle = middle};
    for (auto& one : drawn) {
      const auto below = median_of(resampled(first, random));
      one = median_of(resampled(second, random)) / below;
    }
    return with_interval(middle, std::move(drawn));
  }
  std::vector<double> ratios(first.size());
  for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = second[i] / first[i];
  const auto middle = median_of(ratios);
  if (!is_enough) return Ratio{.middle = middle};
  for (auto& one : drawn) one = median_of(resampled(ratios, random));
  return with_interval(middle, std::move(drawn));
}

void print_comparison(std::FILE* out, const Measurements& first, const Measurements& second,
                      const std::pair<std::string, std::string>& names) {
  print_origin(out, 'A', names.first, first);
  print_origin(out, 'B', names.second, second);
  if (first.machines != second.machines)
    std::fputs(
        "# A and B were measured on different machines: a ratio says as much of the machines as of what ran "
        "there\n",
        out);
  std::fprintf(out,
               "# B / A: the median over runs that were made in turn, or of medians where A has more runs "
               "than B or fewer; with the interval of 95 %% of %zu resamples. noise: 1 lies in it. too few "
               "runs: less than %zu. "
               "no ratio: A is 0\n",
               resamples, fewest_runs);
  std::fprintf(out, "%-26s %5s %5s %7s %11s %11s %6s %15s %7s  %s\n", "bench", "ranks", "hosts", "bytes", "A",
               "B", "B / A", "95 %", "runs", "so");
  for (const auto& one : first.all) {
    const auto* other = find(second, one);
    if (other == nullptr) continue;
    const auto ratio = ratio_of(one.medians, other->medians);
    char middle[32] = "", interval[48] = "";
    if (ratio) std::snprintf(middle, sizeof middle, "%.2f", ratio->middle);
    if (ratio && ratio->has_interval)
      std::snprintf(interval, sizeof interval, "%.2f to %.2f", ratio->low, ratio->high);
    const auto runs =
        std::to_string(one.medians.size()) +
        (one.medians.size() == other->medians.size() ? "" : "+" + std::to_string(other->medians.size()));
    std::fprintf(out, "%-26s %5u %5s %7zu %11s %11s %6s %15s %7s  %s\n", one.bench.c_str(), one.ranks,
                 hosts_of(one).c_str(), one.bytes, readable(median_of(one.medians), one.unit).c_str(),
                 readable(median_of(other->medians), one.unit).c_str(), middle, interval, runs.c_str(),
                 verdict_on(one.unit, ratio));
  }
  print_only_in(out, 'A', first, second);
  print_only_in(out, 'B', second, first);
}

}  // namespace weft::bench
