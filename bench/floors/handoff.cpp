// SPDX-License-Identifier: BSD-3-Clause
// The cost of handing work to another process of the machine: wake it, and sleep until it wakes this one. The
// cost depends on the cores of the two, so there are three figures, and for each another with processes that
// have slept for long. Then the same by messages over a socket, as a client and its server have them.
#include <sched.h>
#include <sys/socket.h>

#include <array>
#include "bench/floors/arguments.hpp"
#include "bench/floors/gate.hpp"
#include "bench/floors/shared_sample.hpp"
#include "bench/floors/team.hpp"
#include "bench/report/measure.hpp"

namespace weft::bench {
namespace {

constexpr unsigned warm_rounds = 200, batches = 500, paused_rounds = 40;
constexpr unsigned all_rounds = warm_rounds + batches * SharedSample::batch + paused_rounds;
constexpr std::size_t request_bytes = 1024, reply_bytes = 64;

struct Pair {
  alignas(64) std::atomic<std::uint32_t> there{0};
  alignas(64) std::atomic<std::uint32_t> back{0};
};

void hand_off(Pair& pair) {
  const std::uint32_t mine = pair.back.load(std::memory_order_relaxed);
  pair.there.fetch_add(1, std::memory_order_release);
  futex_wake_all(pair.there);
  sleep_while(pair.back, mine);
}

void answer(Pair& pair) {
  for (std::uint32_t round = 0; round < all_rounds; ++round) {
    sleep_while(pair.there, round);
    pair.back.fetch_add(1, std::memory_order_release);
    futex_wake_all(pair.back);
  }
}

template <std::size_t bytes>
void give(int socket) {
  static const std::array<char, bytes> message{};
  if (send(socket, message.data(), bytes, MSG_NOSIGNAL) != static_cast<ssize_t>(bytes)) _exit(1);
}

template <std::size_t bytes>
void take(int socket) {
  std::array<char, bytes> message;
  if (recv(socket, message.data(), bytes, MSG_WAITALL) != static_cast<ssize_t>(bytes)) _exit(1);
}

void request(int socket) {
  give<request_bytes>(socket);
  take<reply_bytes>(socket);
}

void reply(int socket) {
  for (std::uint32_t round = 0; round < all_rounds; ++round) {
    take<request_bytes>(socket);
    give<reply_bytes>(socket);
  }
}

enum class Where { anywhere, one_core, two_cores };

/// The first or the last core that this process may use; anywhere: not bound.
void settle(Where where, bool second) {
  if (where == Where::anywhere) return;
  cpu_set_t allowed, one;
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) _exit(1);
  int first = -1, last = -1;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed)) continue;
    if (first < 0) first = core;
    last = core;
  }
  CPU_SET(second && where == Where::two_cores ? last : first, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) _exit(1);
}

/// Each even rank calls op(pair), and the odd one beside it answers; what rank 0 sees is printed.
template <class Op, class Answer>
void report(Reporter& reporter, const std::string& name, unsigned n, Where where, Op op, Answer answer_all) {
  auto* result = shared_new<SharedSample>();
  auto* after_pauses = shared_new<SharedSample>();
  run_team(n, [&](unsigned rank) {
    settle(where, rank % 2 != 0);
    const unsigned pair = rank / 2;
    if (rank % 2 != 0) return answer_all(pair);
    for (unsigned i = 0; i < warm_rounds; ++i) op(pair);
    const Sample seen = measure_fixed([&] { op(pair); }, batches, SharedSample::batch);
    const Sample paused = measure_paused([&] { op(pair); }, paused_rounds, until_all_sleep_ns);
    if (rank == 0) result->store(seen), after_pauses->store(paused);
  });
  reporter.print(make_record(name, n, 0, result->load()));
  reporter.print(make_record(name + "_paused", n, 0, after_pauses->load()));
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft::bench;
  constexpr const char* about = "n processes, each two of which wake each other in turn (n is even)";
  const Arguments arguments = parse_arguments(argc, argv, about);
  Reporter reporter = arguments.reporter();
  const std::pair<const char*, Where> variants[] = {{"floor_handoff", Where::anywhere},
                                                    {"floor_handoff_one_core", Where::one_core},
                                                    {"floor_handoff_two_cores", Where::two_cores}};
  for (const unsigned n : arguments.sizes) {
    if (n % 2 != 0) usage(argv[0], about, 2);
    for (const auto& [name, where] : variants) {
      auto* pairs = shared_new<Pair>(n / 2 * sizeof(Pair));  // zero is the initial state of a Pair
      report(
          reporter, name, n, where, [&](unsigned pair) { hand_off(pairs[pair]); },
          [&](unsigned pair) { answer(pairs[pair]); });
    }
    std::vector<std::array<int, 2>> sockets(n / 2);
    for (auto& ends : sockets)
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        std::perror("socketpair"), std::exit(1);
    report(
        reporter, "floor_message", n, Where::anywhere, [&](unsigned pair) { request(sockets[pair][0]); },
        [&](unsigned pair) { reply(sockets[pair][1]); });
    for (const auto& ends : sockets) close(ends[0]), close(ends[1]);
  }
}
