// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftinfo/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace weft::weftinfo {
namespace {

constexpr bool only_grows(Measure measure) noexcept {
  return measure == Measure::events || measure == Measure::bytes;
}
constexpr bool is_in_bytes(Measure measure) noexcept {
  return measure == Measure::bytes || measure == Measure::bytes_now;
}

/// The format knows three escapes in the value of a label, and two of them in a help text.
std::string escaped(std::string_view text, bool is_label) {
  std::string out;
  for (const char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\\' || (is_label && c == '"'))
      (out += '\\') += c;
    else
      out += c;
  }
  return out;
}

class Labels {
 public:
  Labels with(std::string_view name, std::string_view value) const {
    Labels out(*this);
    out.text_ += fmt::format("{}{}=\"{}\"", out.text_.empty() ? "" : ",", name, escaped(value, true));
    return out;
  }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

/// A metric: its head, then its samples. One without samples leaves nothing.
class Metric {
 public:
  Metric(std::string name, bool is_counter, std::string_view help) : name_(std::move(name)) {
    head_ = fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name_, escaped(help, false),
                        is_counter ? "counter" : "gauge");
  }
  void add(const Labels& labels, std::uint64_t value) { add_text(labels, std::to_string(value)); }
  void add_milliseconds(const Labels& labels, std::uint64_t value) {
    add_text(labels, fmt::format("{}.{:03}", value / 1000, value % 1000));
  }
  std::string take() && { return samples_.empty() ? std::string() : head_ + samples_; }

 private:
  void add_text(const Labels& labels, std::string_view value) {
    const auto& list = labels.text();
    samples_ += list.empty() ? fmt::format("{} {}\n", name_, value)
                             : fmt::format("{}{{{}}} {}\n", name_, list, value);
  }

  std::string name_, head_, samples_;
};

using Clusters = std::vector<Cluster>;

Labels labels_of(const Cluster& cluster) {
  return Labels().with("cluster", cluster.nspace);
}
Labels labels_of(const Cluster& cluster, const Node& node) {
  return labels_of(cluster).with("node", std::to_string(node.number)).with("host", node.host);
}
Labels labels_of(const Cluster& cluster, const Job& job) {
  return labels_of(cluster).with("job", job.nspace);
}

template <class Add>
std::string gauge_of_nodes(const Clusters& clusters, const char* name, const char* help, Add&& add) {
  Metric metric(name, false, help);
  for (const auto& cluster : clusters)
    for (const auto& node : cluster.nodes) add(metric, labels_of(cluster, node), node);
  return std::move(metric).take();
}
/// Of the nodes that have answered.
template <class Add>
std::string gauge_of_servers(const Clusters& clusters, const char* name, const char* help, Add&& add) {
  return gauge_of_nodes(clusters, name, help, [&](Metric& metric, const Labels& labels, const Node& node) {
    if (node.state == "here") add(metric, labels, node);
  });
}
template <class Add>
std::string metric_of_jobs(const Clusters& clusters, const char* name, bool is_counter, const char* help,
                           Add&& add) {
  Metric metric(name, is_counter, help);
  for (const auto& cluster : clusters)
    for (const auto& job : cluster.jobs) add(metric, labels_of(cluster, job), job);
  return std::move(metric).take();
}

void add_states(Metric& metric, const Labels& labels, const States& states) {
  for (std::size_t i = 0; i < states.size(); ++i) metric.add(labels.with("state", state_names[i]), states[i]);
}

std::string of_nodes(const Clusters& clusters) {
  auto out = gauge_of_nodes(clusters, "weft_node_up", "1: the server of the node has answered",
                            [](Metric& metric, const Labels& labels, const Node& node) {
                              metric.add(labels, node.state == "here" ? 1 : 0);
                            });
  out += gauge_of_servers(clusters, "weft_server_age_seconds", "since the server of the node has started",
                          [](Metric& metric, const Labels& labels, const Node& node) {
                            metric.add_milliseconds(labels, node.age_ms);
                          });
  out += gauge_of_servers(
      clusters, "weft_node_ranks", "ranks on the node, by how far they are",
      [](Metric& metric, const Labels& labels, const Node& node) { add_states(metric, labels, node.ranks); });
  out +=
      gauge_of_servers(clusters, "weft_server_resident_bytes", "memory that the server of the node has now",
                       [](Metric& metric, const Labels& labels, const Node& node) {
                         metric.add(labels, node.server_kib * 1024);
                       });
  out += gauge_of_servers(clusters, "weft_ranks_resident_bytes",
                          "memory that all ranks of the node have now, shared pages in each",
                          [](Metric& metric, const Labels& labels, const Node& node) {
                            metric.add(labels, node.clients_kib * 1024);
                          });
  out +=
      gauge_of_servers(clusters, "weft_segment_used_bytes", "bytes of the node segment that hold something",
                       [](Metric& metric, const Labels& labels, const Node& node) {
                         for (const auto& region : node.regions)
                           metric.add(labels.with("region", region.name), region.used);
                       });
  out += gauge_of_servers(clusters, "weft_segment_size_bytes",
                          "addresses of the node segment: what was never written takes no memory",
                          [](Metric& metric, const Labels& labels, const Node& node) {
                            for (const auto& region : node.regions)
                              metric.add(labels.with("region", region.name), region.size);
                          });
  return out;
}

std::string of_jobs(const Clusters& clusters) {
  auto out = metric_of_jobs(
      clusters, "weft_job_ranks", false, "ranks of the job, by how far they are",
      [](Metric& metric, const Labels& labels, const Job& job) { add_states(metric, labels, job.states); });
  out += metric_of_jobs(
      clusters, "weft_job_nodes", false, "nodes that the job has ranks on",
      [](Metric& metric, const Labels& labels, const Job& job) { metric.add(labels, job.nodes); });
  out += metric_of_jobs(
      clusters, "weft_job_fences_total", true, "fences of the whole job that have ended",
      [](Metric& metric, const Labels& labels, const Job& job) { metric.add(labels, job.fences); });
  return out;
}

std::string of_open_operations(const Clusters& clusters) {
  Metric open("weft_open_operations", false,
              "fences, and operations of groups, that have begun and not ended");
  Metric oldest("weft_oldest_open_operation_seconds", false, "how long the oldest of these has been open");
  for (const auto& cluster : clusters) {
    std::uint64_t age = 0;
    for (const auto& fence : cluster.fences) age = std::max(age, fence.age_ms);
    open.add(labels_of(cluster), cluster.fences.size());
    oldest.add_milliseconds(labels_of(cluster), age);
  }
  return std::move(open).take() + std::move(oldest).take();
}

/// A counter of one cluster that others may have at another place of their lists, or not at all.
struct CounterKind {
  std::string name, text;
  Measure measure;
};

std::vector<CounterKind> kinds_of(const Clusters& clusters) {
  std::vector<CounterKind> out;
  for (const auto& cluster : clusters)
    for (std::size_t i = 0; i < cluster.counter_names.size(); ++i) {
      const auto& name = cluster.counter_names[i];
      const bool is_known =
          std::any_of(out.begin(), out.end(), [&](const auto& kind) { return kind.name == name; });
      if (!is_known) out.push_back({name, cluster.counter_text(i), cluster.counter_measure(i)});
    }
  return out;
}

std::string of_counters(const Clusters& clusters) {
  std::string out;
  for (const auto& kind : kinds_of(clusters)) {
    Metric metric(metric_name(kind.name, kind.measure), only_grows(kind.measure), kind.text);
    for (const auto& cluster : clusters) {
      const auto& names = cluster.counter_names;
      const auto at =
          static_cast<std::size_t>(std::find(names.begin(), names.end(), kind.name) - names.begin());
      for (const auto& node : cluster.nodes)
        if (at < node.counters.size()) metric.add(labels_of(cluster, node), node.counters[at]);
    }
    out += std::move(metric).take();
  }
  return out;
}

}  // namespace

std::string metric_name(std::string_view counter, Measure measure) {
  std::string out = "weft", word;
  const auto add = [&] {
    const bool is_unit = word == "bytes" && is_in_bytes(measure);
    if (!word.empty() && !is_unit) out += '_' + word;
    word.clear();
  };
  for (const char c : counter) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      word += c;
    else
      add();
  }
  add();
  if (is_in_bytes(measure)) out += "_bytes";
  return only_grows(measure) ? out + "_total" : out;
}

std::string metrics_of(const Clusters& clusters) {
  Metric launches("weft_launches", false, "launches that have been asked, of this user on this machine");
  launches.add({}, clusters.size());
  return std::move(launches).take() + of_nodes(clusters) + of_jobs(clusters) + of_open_operations(clusters) +
         of_counters(clusters);
}

}  // namespace weft::weftinfo
