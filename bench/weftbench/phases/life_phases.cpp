// SPDX-License-Identifier: BSD-3-Clause
// A rank's life around the work: launch, Init, what it costs in memory, Finalize.
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>

#include "bench/weftbench/neighbours.hpp"
#include "bench/weftbench/phases/marked_cards.hpp"
#include "bench/weftbench/phases/phases.hpp"

namespace weft::bench {
namespace {

void server_memory(const Context& c) {
  const pid_t pid = c.options.server_pid != 0 ? c.options.server_pid : getppid();
  const auto memory = footprint(pid);
  if (!memory) return c.skip("memory of the server", "cannot read /proc/" + std::to_string(pid));
  std::string name;
  std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), name);
  std::fprintf(stderr, "weftbench: the server is taken to be pid %d (%s)\n", pid, name.c_str());
  c.print(make_record("memory_server_rss", c.job.size(), "kib", {memory->rss_kib}));
  c.print(make_record("memory_server_private", c.job.size(), "kib", {memory->private_kib}));
  c.print(make_record("memory_server_threads", c.job.size(), "count", {memory->threads}));
  if (const auto fds = open_descriptors(pid)) {
    c.print(make_record("memory_server_fds", c.job.size(), "count", {*fds}));
  }
}

/// The first rank of each node reads the figures of its server, which is its parent; other ranks have none.
std::optional<Footprint> nodes_server(const Job& job) {
  return neighbours(job).front() == job.rank() ? footprint(getppid()) : std::nullopt;
}

/// All ranks: prints the numbers of those that have one; max is the worst node.
void print_per_node(const Context& c, const std::string& bench, std::size_t bytes, const std::string& unit,
                    std::optional<double> mine) {
  std::vector<double> values;
  for (const std::vector<double>& one : c.job.gather({mine ? 1.0 : 0.0, mine.value_or(0)})) {
    if (one.at(0) != 0) values.push_back(one.at(1));
  }
  Record record = make_record(bench, c.job.size(), unit, values);
  record.bytes = bytes;
  c.print(record);
}

/// After PMIx_Finalize nothing can be exchanged any more, so the ranks of a node leave their times in memory
/// that rank 0 made before. Ranks that cannot open it (another node, another user) are missing in the count.
class Ledger {
 public:
  /// All ranks.
  explicit Ledger(Job& job) : slots_(job.size()) {
    struct Invitation {
      pid_t pid;
      int fd;
      std::uint64_t cookie;
    } invitation{getpid(), -1, static_cast<std::uint64_t>(now_ns())};
    if (job.is_root()) {
      invitation.fd = memfd_create("weftbench", MFD_CLOEXEC);
      if (invitation.fd >= 0 && ftruncate(invitation.fd, static_cast<off_t>(bytes())) == 0)
        map(invitation.fd);
      if (page_ != nullptr) page_[0].store(invitation.cookie);
      job.put("weftbench.ledger", std::as_bytes(std::span(&invitation, 1)));
      job.commit();
    }
    job.full_fence();
    if (!job.is_root()) {
      const std::vector<std::byte> card = job.get_bytes(job.proc(0), "weftbench.ledger");
      std::memcpy(&invitation, card.data(), std::min(card.size(), sizeof invitation));
      join(invitation.pid, invitation.fd, invitation.cookie);
    }
    if (page_ != nullptr) page_[1 + job.rank()].store(waiting);
    job.barrier();  // now rank 0 knows the participants
  }

  void enter(unsigned rank, double ns) {
    if (page_ != nullptr)
      page_[1 + rank].store(static_cast<std::uint64_t>(ns) + 1, std::memory_order_release);
  }

  /// Rank 0: the times that are present when all participants have stored theirs, or after 10 s.
  std::vector<double> collect() const {
    std::vector<double> times;
    const std::int64_t deadline = now_ns() + 10'000'000'000;
    const timespec some{0, 1'000'000};
    for (unsigned r = 0; page_ != nullptr && r < slots_; ++r) {
      while (page_[1 + r].load(std::memory_order_acquire) == waiting && now_ns() < deadline) {
        nanosleep(&some, nullptr);
      }
      const std::uint64_t entry = page_[1 + r].load(std::memory_order_acquire);
      if (entry != 0 && entry != waiting) times.push_back(static_cast<double>(entry - 1));
    }
    return times;
  }

 private:
  static constexpr std::uint64_t waiting = ~std::uint64_t{0};  // takes part, has not finished yet

  std::size_t bytes() const { return (1 + std::size_t{slots_}) * sizeof(std::uint64_t); }

  void map(int fd) {
    void* at = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) page_ = static_cast<std::atomic<std::uint64_t>*>(at);
  }
  void join(pid_t pid, int fd, std::uint64_t cookie) {
    const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
    const int mine = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (mine < 0) return;
    // The size is checked too: on another node the same pid and descriptor are something else.
    if (lseek(mine, 0, SEEK_END) == static_cast<off_t>(bytes())) map(mine);
    close(mine);
    if (page_ != nullptr && page_[0].load() != cookie) page_ = nullptr;
  }

  unsigned slots_;
  std::atomic<std::uint64_t>* page_ = nullptr;  // [0] the cookie, [1 + rank] ns + 1
};

}  // namespace

void init_phase(const Context& c) {
  c.print_per_rank("init", "ns", c.job.init_ns());
}

void launch_phase(const Context& c) {
  const std::int64_t t0 = c.options.launched_at;
  if (t0 == 0) return c.skip("launch", "needs --t0, the time at which the launcher was started");
  c.print_per_rank("launch_to_main", "ns", static_cast<double>(c.start.entered_main - t0));
  c.print_per_rank("launch_to_joined", "ns", static_cast<double>(c.start.joined - t0));
}

void memory_phase(const Context& c) {
  if (c.job.is_root()) server_memory(c);  // first: the gathers below make the server work
  const auto server = nodes_server(c.job);
  print_per_node(c, "memory_node_server_rss", 0, "kib",
                 server ? std::optional(server->rss_kib) : std::nullopt);
  const bool known = c.start.before && c.start.after;
  if (c.job.from_root(known ? 1 : 0) == 0) return c.skip("memory of the clients", "cannot read /proc/self");
  const Footprint before = c.start.before.value_or(Footprint{}), after = c.start.after.value_or(Footprint{});
  c.print_per_rank("memory_client_private", "kib", after.private_kib - before.private_kib);
  c.print_per_rank("memory_client_rss", "kib", after.rss_kib - before.rss_kib);
  c.print_per_rank("memory_client_threads", "count", after.threads - before.threads);
  for (const char* library : {"libhwloc", "libfabric", "libuc"}) {
    c.print_per_rank(std::string("maps_") + library, "count", maps_library(library) ? 1 : 0);
  }
}

void card_memory_phase(const Context& c) {
  constexpr unsigned count = 20;
  for (const unsigned bytes : c.options.card_bytes) {
    const MarkedCards cards(c.job, "m", bytes);
    const auto exchange = [&](unsigned i) {
      cards.commit(i);
      c.job.full_fence();
    };
    exchange(0);  // what is opened or mapped once
    c.job.barrier();
    const auto before = nodes_server(c.job);
    c.job.barrier();
    for (unsigned i = 1; i <= count; ++i) exchange(i);
    c.job.barrier();
    const auto after = nodes_server(c.job);
    c.job.barrier();
    std::optional<double> growth;
    if (before && after) growth = (after->rss_kib - before->rss_kib) * 1024 / (count * c.job.size());
    print_per_node(c, "memory_bytes_a_card", bytes, "count", growth);
  }
}

void finalize_phase(const Context& c) {
  Ledger ledger(c.job);
  const unsigned rank = c.job.rank(), size = c.job.size();
  ledger.enter(rank, c.job.leave());
  if (rank != 0) return;
  const std::vector<double> times = ledger.collect();
  if (times.size() < size) {
    Reporter::skipped("finalize of some ranks",
                      std::to_string(size - times.size()) + " are not on this node");
  }
  c.reporter.print(make_record("finalize", size, "ns", times));
}

}  // namespace weft::bench
