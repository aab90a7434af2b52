// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/record.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>

namespace weft::bench {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

std::string number(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1f", v);
  return text;
}

}  // namespace

std::string readable(double value, const std::string& unit) {
  char text[40];
  if (unit != "ns") {
    std::snprintf(text, sizeof text, "%.0f%s", value, unit == "kib" ? " KiB" : "");
  } else if (value < 1e3) {
    std::snprintf(text, sizeof text, "%.0f ns", value);
  } else if (value < 1e6) {
    std::snprintf(text, sizeof text, "%.2f us", value / 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.2f ms", value / 1e6);
  }
  return text;
}

Record make_record(std::string bench, unsigned ranks, std::size_t bytes, const Sample& sample) {
  Record out{std::move(bench), ranks, bytes, "ns", summarize(sample.means), sample.batch};
  if (!sample.singles.empty()) out.figures.p99 = summarize(sample.singles).p99;
  return out;
}

Record make_record(std::string bench, unsigned ranks, std::string unit, std::vector<double> values) {
  return {std::move(bench), ranks, 0, std::move(unit), summarize(std::move(values)), 1};
}

Reporter::Reporter(std::FILE* out, bool json, Origin origin)
    : out_(out),
      json_(json),
      origin_(std::move(origin)),
      machine_(machine_name()),
      launcher_(launcher_name()) {}

void Reporter::print(const Record& record) {
  if (json_) {
    print_json(record);
  } else {
    print_row(record);
  }
  std::fflush(out_);
}

void Reporter::skipped(const std::string& bench, const std::string& why) {
  std::fprintf(stderr, "skipped %s: %s\n", bench.c_str(), why.c_str());
}

void Reporter::print_json(const Record& r) {
  std::string line = "{\"bench\":" + quoted(r.bench) + ",\"ranks\":" + std::to_string(r.ranks) +
                     ",\"bytes\":" + std::to_string(r.bytes);
  const auto add = [&line](const std::string& name, double v) {
    line += ',' + quoted(name) + ':' + number(v);
  };
  add("median_" + r.unit, r.figures.median);
  add("mad_" + r.unit, r.figures.mad);
  add("min_" + r.unit, r.figures.min);
  add("p99_" + r.unit, r.figures.p99);
  add("max_" + r.unit, r.figures.max);
  line += ",\"runs\":" + std::to_string(r.figures.runs) + ",\"batch\":" + std::to_string(r.batch);
  for (const auto& [name, value] : r.extra) add(name, value);
  if (origin_.hosts != 0) line += ",\"hosts\":" + std::to_string(origin_.hosts);
  line += ",\"library\":" + quoted(origin_.library) + ",\"machine\":" + quoted(machine_) +
          ",\"launcher\":" + quoted(launcher_) + ",\"commit\":" + quoted(origin_.commit) + "}\n";
  std::fputs(line.c_str(), out_);  // one write, so that lines of several programs do not mix
}

void Reporter::print_row(const Record& r) {
  if (!header_printed_) {
    std::fprintf(out_, "# %s\n# %s%s%s\n", machine_.c_str(), origin_.library.c_str(),
                 origin_.commit.empty() ? "" : ", commit ", origin_.commit.c_str());
    std::fprintf(out_, "%-26s %5s %6s %11s %11s %11s %11s %11s %6s\n", "bench", "ranks", "bytes", "median",
                 "mad", "min", "p99", "max", "runs");
    header_printed_ = true;
  }
  const auto cell = [&r](double v) { return readable(v, r.unit); };
  std::fprintf(out_, "%-26s %5u %6zu %11s %11s %11s %11s %11s %6zu", r.bench.c_str(), r.ranks, r.bytes,
               cell(r.figures.median).c_str(), cell(r.figures.mad).c_str(), cell(r.figures.min).c_str(),
               cell(r.figures.p99).c_str(), cell(r.figures.max).c_str(), r.figures.runs);
  for (const auto& [name, value] : r.extra) std::fprintf(out_, "  %s=%.0f", name.c_str(), value);
  std::fputc('\n', out_);
}

std::string machine_name() {
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  std::string model = "unknown processor";
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const auto colon = line.find(": ");
    if (line.rfind("model name", 0) != 0 || colon == std::string::npos) continue;
    model = line.substr(colon + 2);
    break;
  }
  utsname kernel{};
  uname(&kernel);
  return std::string(host) + ", " + std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " x " + model + ", " +
         kernel.sysname + " " + kernel.release;
}

std::string launcher_name() {
  std::ifstream comm("/proc/" + std::to_string(getppid()) + "/comm");
  std::string name;
  std::getline(comm, name);
  return name;
}

}  // namespace weft::bench
