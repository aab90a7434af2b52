// SPDX-License-Identifier: BSD-3-Clause
// Texts of users, of Slurm, of hosts, and of ranks about their places. What is read is bounded, and written
// as it was meant.
#include <hwloc.h>

#include <map>

#include "collectives/choice.hpp"
#include "core/data/node_map.hpp"
#include "core/topology/locality.hpp"
#include "core/topology/module.hpp"
#include "tests/fuzz/decoders.hpp"
#include "tools/allocation/hostlist.hpp"
#include "tools/allocation/hosts.hpp"
#include "tools/allocation/slurm.hpp"
#include "tools/job/ranges.hpp"
#include "tools/messages/stop.hpp"
#include "tools/placement/processor_lists.hpp"
#include "tools/placement/rank_file.hpp"
#include "tools/weftrun/command_line/app_file.hpp"
#include "transport/base/networks.hpp"
#include "transport/tcp/address.hpp"

namespace weft::fuzz {
namespace {

using allocation::Hosts;

/// Both ends of a sample: its lines.
std::vector<std::string> lines_of(Bytes bytes) {
  std::vector<std::string> out(1);
  for (const char c : as_text(bytes)) c == '\n' ? void(out.emplace_back()) : void(out.back() += c);
  return out;
}

bool hostlist(Bytes bytes) {
  std::string complaint;
  const auto names = allocation::expand_hostlist(as_text(bytes), complaint);
  require(names.has_value() == complaint.empty());
  if (!names) return false;
  require(names->size() <= allocation::most_hosts);
  if (names->size() > 1000) return true;  // what follows takes its time
  for (const auto& name : *names)
    if (name.find_first_of("[],") != std::string::npos) return true;
  require(allocation::expand_hostlist(allocation::compress_hostlist(*names), complaint) == *names);
  return true;
}

bool accepts_hosts(const Hosts& hosts) {
  for (const auto& host : hosts) {
    require(!host.name.empty() && host.name[0] != '-');  // no option of ssh
    require(host.max_slots >= host.slots);
  }
  return true;
}
bool host_option(Bytes bytes) {
  try {
    return accepts_hosts(allocation::read_host_option(lines_of(bytes)));
  } catch (const messages::Stop&) {
    return false;
  }
}
bool hostfile(Bytes bytes) {
  try {
    return accepts_hosts(allocation::read_hostfile(as_text(bytes), "file"));
  } catch (const messages::Stop&) {
    return false;
  }
}
bool rank_file(Bytes bytes) {
  try {
    const auto file = placement::read_rank_file(as_text(bytes), "file");
    std::string complaint;
    for (std::size_t i = 0; i < file.places.size(); ++i) {
      require(index(file.places[i].rank) == i && !file.places[i].host.empty() &&
              file.places[i].host[0] != '-');
      require(placement::read_core_list(file.places[i].cores, complaint).has_value());
    }
    const auto hosts = placement::hosts_of(file);
    const auto placed = placement::place_as_listed(file, {0}, hosts);
    require(placed.size() == file.places.size());
    require(placement::decode_distribution(encode(placed), placed.nodes, placed.size()) == placed);
    return true;
  } catch (const messages::Stop&) {
    return false;
  }
}
bool processor_list(Bytes bytes) {
  std::string complaint;
  const auto read = placement::read_processor_list(as_text(bytes), complaint);
  require(read.has_value() == complaint.empty());
  if (read) require(placement::read_processor_list(job::ranges(*read), complaint) == read);
  return read.has_value();
}
bool app_file(Bytes bytes) {
  try {
    for (const auto& line : weftrun::read_app_file(as_text(bytes), "file")) require(line.line > 0);
    return true;
  } catch (const messages::Stop&) {
    return false;
  }
}
bool slurm(Bytes bytes) {
  constexpr const char* names[] = {"SLURM_JOB_ID",         "SLURM_JOB_NODELIST",
                                   "SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE",
                                   "SLURM_JOB_NUM_NODES",  "SLURM_HET_SIZE"};
  std::map<std::string, std::string> environment;
  const auto lines = lines_of(bytes);
  for (std::size_t i = 0; i < std::min(lines.size(), std::size(names)); ++i)
    if (lines[i] != "-") environment[names[i]] = lines[i];
  try {
    const auto hosts = allocation::slurm_allocation([&](const char* name) -> std::optional<std::string> {
      const auto found = environment.find(name);
      return found == environment.end() ? std::nullopt : std::optional(found->second);
    });
    return hosts && accepts_hosts(*hosts);
  } catch (const messages::Stop&) {
    return false;
  }
}
bool slurm_counts(Bytes bytes) {
  const auto counts = allocation::read_slurm_counts(as_text(bytes));
  require(!counts || counts->size() <= allocation::most_hosts);
  return counts.has_value();
}

bool node_map(Bytes bytes) {
  const auto names = data::parse_node_map(as_text(bytes));
  if (!names) return false;
  const auto again = data::encode_node_map(*names);
  if (again) require(data::parse_node_map(*again) == *names);
  return true;
}
bool proc_map(Bytes bytes) {
  const auto ranks = data::parse_proc_map(as_text(bytes));
  if (!ranks) return false;
  std::size_t count = 0;
  for (const auto& node : *ranks) count += node.size();
  require(ranks->size() <= data::max_map_nodes && count <= data::max_map_ranks);
  if (count > 1000) return true;
  const auto again = data::encode_proc_map(*ranks);
  require(again && data::parse_proc_map(*again) == *ranks);
  return true;
}

bool cpuset(Bytes bytes) {
  namespace module = topology::module;
  const auto list = topology::without_source(as_text(bytes));
  if (!list) return false;
  const auto made = module::parse_cpuset(*list);
  if (!made) return false;
  const auto text = module::format_cpuset(*made);
  require(text.has_value());
  const auto again = module::parse_cpuset(*text);
  require(again && module::equal_cpusets(*made, *again));
  module::destroy_cpuset(*again);
  module::destroy_cpuset(*made);
  return true;
}
bool locality(Bytes bytes) {
  const auto text = as_text(bytes);
  const auto middle = text.find('\n');
  const auto first = text.substr(0, middle), second = middle == text.npos ? first : text.substr(middle + 1);
  const auto one = topology::relative_locality(first, second),
             other = topology::relative_locality(second, first);
  require(one.has_value() == other.has_value() && (!one || *one == *other));
  return one.has_value();
}

bool networks(Bytes bytes) {
  std::string why_not;
  const auto read = transport::Networks::parse(as_text(bytes), why_not);
  require(read.has_value() == why_not.empty());
  if (read) (void)read->accepts({{"eth0"}, {}});
  return read.has_value();
}
bool ports(Bytes bytes) {
  const auto read = tcp::Ports::parse(as_text(bytes));
  require(!read || read->first <= read->last);
  return read.has_value();
}
bool choice(Bytes bytes) {
  const auto read = collectives::parse_choice(as_text(bytes));
  if (read) require(collectives::parse_choice(collectives::to_text(*read)).has_value());
  return read.has_value();
}

void add_text(Decoders& to, const char* name, bool (*accepts)(Bytes),
              std::initializer_list<const char*> samples) {
  Decoder decoder{name, {}, accepts, true};
  for (const char* sample : samples) decoder.samples.push_back(encoded(sample));
  to.push_back(std::move(decoder));
}

}  // namespace

void add_texts(Decoders& to) {
  add_text(to, "hostlist", hostlist, {"n[01-03,7],m2,a[1-2]b[3-4]", "", "n1"});
  add_text(to, "host_option", host_option, {"a:2,b", "n[01-04]:8\nc"});
  add_text(to, "hostfile", hostfile, {"a slots=2 max_slots=4\n# comment\nb:3\n\nc", "n1"});
  add_text(to, "rank_file", rank_file,
           {"# ours\nrank 1=b slot=1:0-2,5\nrank 0 = a slot = 0:*\n\nrank 2=a", "rank 0=h"});
  add_text(to, "processor_list", processor_list, {"0-3,8", "65535"});
  add_text(to, "app_file", app_file, {"# ours\n-n 2 -x 'A=1 2' ./a \"x\\\"\"\n\n-n 1 \\\n./b", "a"});
  add_text(to, "slurm", slurm, {"7\nn[1-3]\n2(x2),1\n-\n3", "7\nn1\n-\n8"});
  add_text(to, "slurm_counts", slurm_counts, {"2(x3),1", "4"});
  add_text(to, "node_map", node_map, {"a,b,c", "raw:a,b"});
  add_text(to, "proc_map", proc_map, {"0,1;2,3", "raw:0-1;2-3", "0-3;;4"});
  add_text(to, "cpuset", cpuset, {"hwloc:0-3,8,100-200", "", "5"});
  add_text(to, "locality", locality,
           {"hwloc:NM0:SK0:L30:L20-1:L10-1:CR0-1:HT0-1\nNM0:CR1-3", "hwloc:NM0:XX3,4"});
  add_text(to, "networks", networks, {"eth0,10.0.0.0/8", "^lo,ib*", "fd00::/8"});
  add_text(to, "ports", ports, {"", "none", "4711", "20000-20999"});
  add_text(to, "choice", choice, {"bruck", "tree:4:2", "dissemination:3"});
}

}  // namespace weft::fuzz
