// SPDX-License-Identifier: BSD-3-Clause
// A node of a cluster: a server with its clients.
#include <atomic>
#include <cstdlib>

#include "tests/multiproc/harness/cluster.hpp"

namespace weft::test {
namespace {

std::string hex(const std::string& bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string out;
  for (const unsigned char c : bytes) (out += digits[c >> 4]) += digits[c & 15];
  return out;
}
std::string unhex(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    out += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return out;
}
Words split(const std::string& text) {
  Words out(1);
  for (const char c : text) c == ' ' ? void(out.emplace_back()) : void(out.back() += c);
  return out;
}

void on_inventory(pmix_status_t status, pmix_info_t* infos, size_t count, void* contact,
                  pmix_release_cbfunc_t release, void* release_data) {
  auto& out = *static_cast<std::pair<std::atomic<bool>, std::string>*>(contact);
  for (size_t i = 0; status == PMIX_SUCCESS && i < count; ++i)
    if (PMIX_CHECK_KEY(&infos[i], "weft.contact"))
      out.second.assign(infos[i].value.data.bo.bytes, infos[i].value.data.bo.size);
  if (release != nullptr) release(release_data);
  out.first = true;
}

/// As of a server of another release.
std::string of_another_version(std::string contact) {
  contact[0] = static_cast<char>(contact[0] ^ 0x40);
  return contact;
}

// ---- a node: words are its number, the number of nodes, how clients reach the segment, their program

int cluster_node(const Words& words) {
  const auto self = static_cast<std::uint32_t>(std::stoul(words[0]));
  const auto nodes = static_cast<std::uint32_t>(std::stoul(words[1]));
  const auto segment = static_cast<Segment>(std::stoi(words[2]));
  Infos server;
  server.text(PMIX_SERVER_NSPACE, "wide-cluster").rank(PMIX_SERVER_RANK, self).number(PMIX_NUM_NODES, nodes);
  server.text(PMIX_HOSTNAME, "host" + words[0]).bytes("weft.key", std::string(32, 'k'));
  Host host({}, {}, std::move(server));
  std::pair<std::atomic<bool>, std::string> contact;
  check_status(PMIx_server_collect_inventory(nullptr, 0, on_inventory, &contact), PMIX_SUCCESS);
  check(eventually([&] { return contact.first.load(); }), "no inventory");
  say(hex(contact.second));
  Infos contacts;
  // The last node and the others are of two releases.
  const bool two_versions = words[3] == "two_versions";
  std::uint32_t number = 0;
  for (const auto& one : split(listen())) {
    const bool is_other = two_versions && (number == nodes - 1) != (self == nodes - 1);
    contacts.bytes("weft.contact", is_other ? of_another_version(unhex(one)) : unhex(one));
    ++number;
  }
  check_status(PMIx_server_deliver_inventory(contacts.data(), contacts.size(), nullptr, 0, nullptr, nullptr),
               two_versions ? PMIX_ERR_BAD_PARAM : PMIX_OPERATION_SUCCEEDED);

  std::string names, ranks;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    names += (n == 0 ? "host" : ",host") + std::to_string(n);
    for (std::uint32_t i = 0; i < ranks_a_node; ++i)
      ranks += (i != 0 ? "," : n == 0 ? "" : ";") + std::to_string(n * ranks_a_node + i);
  }
  Infos infos;
  infos.number(PMIX_JOB_SIZE, nodes * ranks_a_node).number(PMIX_NUM_NODES, nodes).number(PMIX_NODEID, self);
  infos.text(PMIX_NODE_MAP, names).text(PMIX_PROC_MAP, ranks);
  // Node infos that no other node registers.
  infos.array(PMIX_NODE_INFO_ARRAY,
              std::move(Infos().number(PMIX_NODEID, self).unsigned64(PMIX_AVAIL_PHYS_MEMORY, 10 + self)));
  for (pmix_rank_t rank = self * ranks_a_node; rank < (self + 1) * ranks_a_node; ++rank)
    infos.array(
        PMIX_PROC_INFO_ARRAY,
        std::move(Infos().rank(PMIX_RANK, rank).text(PMIX_CPUSET, "cpus of " + std::to_string(rank))));
  // And what each host says later, of all: one key of the same name, and one that no other host says.
  Infos later;
  later.text("pmix.said.by.all", "host" + words[0])
      .text(("pmix.said.by." + words[0]).c_str(), "host" + words[0]);
  std::vector<Child> children;
  // Ranks of one job may name those of the other at once.
  const Words jobs =
      words[3].ends_with("two_jobs") ? Words{cluster_job, second_cluster_job} : Words{cluster_job};
  for (const auto& nspace : jobs) host.add_job(nspace.c_str(), ranks_a_node, infos);
  for (const auto& nspace : jobs) host.add_job(nspace.c_str(), ranks_a_node, later);
  for (const auto& nspace : jobs)
    for (std::uint32_t i = 0; i < ranks_a_node; ++i) {
      const pmix_rank_t rank = self * ranks_a_node + i;
      host.add_client(proc_of(nspace.c_str(), rank));
      children.push_back(
          host.start(nspace.c_str(), rank, words[3], {words.begin() + 4, words.end()}, reach(segment, rank)));
    }
  say("started");
  bool good = true;
  const auto wait_for = [&](Child& child) {
    const int status = child.wait();
    const bool is_good =
        status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);  // it was to die
    if (!is_good) std::fprintf(stderr, "node %u: a client's wait status is %d\n", self, status);
    good = good && is_good;
  };
  // The test speaks with the last rank through this process, hears the first, and says "go" to both, until
  // the test wants it to wait for all; or to start the last rank once more, after its process has ended.
  for (std::string line = listen(); !line.empty() && line != "wait"; line = listen()) {
    if (line == "listen") {
      say(children.back().hear());
    } else if (line == "listen to the first") {
      say(children.front().hear());
    } else if (line == "go") {
      for (auto& child : children) child.tell(line);
    } else if (line == "start again") {
      const pmix_rank_t rank = (self + 1) * ranks_a_node - 1;
      wait_for(children.back());
      children.pop_back();
      children.push_back(
          host.start(cluster_job, rank, words[3], {words.begin() + 4, words.end()}, reach(segment, rank)));
    } else {
      children.back().tell(line);
    }
  }
  for (auto& child : children) wait_for(child);
  say(good ? "good" : "bad");
  await("end");
  return good ? 0 : 1;
}

}  // namespace

void add_cluster_node_program(Programs& programs) {
  programs.add("cluster_node", cluster_node);
}

}  // namespace weft::test
