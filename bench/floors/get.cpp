// SPDX-License-Identifier: BSD-3-Clause
// The cost that no Get can avoid: hash the key, find the bytes, return two blocks that the caller frees.
#include <sched.h>
#include <xxhash.h>

#include <atomic>
#include <cstring>

#include "bench/floors/arguments.hpp"
#include "bench/floors/team.hpp"
#include "bench/report/measure.hpp"

namespace weft::bench {
namespace {

constexpr std::size_t value_bytes = 64;
constexpr std::size_t slots = 256;
constexpr char job_name[] = "weft-machine-12345@1";
constexpr std::size_t peers = 64;
constexpr std::size_t buckets = 32;
constexpr std::size_t most = 4096;

// A card as in shared memory: an index by hash, the key to compare, the bytes.
struct Card {
  alignas(64) std::atomic<std::uint64_t> hash[buckets];
  char key[32];
  unsigned char bytes[value_bytes];
};
struct Table {
  char nspace[64];
  alignas(64) unsigned char bytes[slots][value_bytes];
  Card card[peers];
  std::atomic<unsigned> ready{0};
};
struct Timings {
  std::size_t means = 0, singles = 0;
  unsigned batch = 1;
  double mean[most], single[most];
};

// A value as the C API returns it: a header and a payload, both freed by the caller.
struct Header {
  std::uint16_t type;
  unsigned char* payload;
  std::size_t size;
  std::uint64_t rest[2];
};

/// Makes the compiler assume a read of it, so that malloc and free do not cancel out.
template <class T>
void keep(T* p) {
  asm volatile("" : : "g"(p) : "memory");
}

/// The caller's two blocks, filled.
Header* handed_out(const unsigned char* bytes) {
  auto* header = static_cast<Header*>(std::malloc(sizeof(Header)));
  header->type = 27;
  header->size = value_bytes;
  header->payload = static_cast<unsigned char*>(std::malloc(value_bytes));
  std::memcpy(header->payload, bytes, value_bytes);
  keep(header);
  return header;
}

/// The floor: nothing is compared, the bytes are where the hash says.
Header* get(const Table& table, const char* key) {
  keep(key);
  return handed_out(table.bytes[XXH3_64bits(key, std::strlen(key)) % slots]);
}

/// For reference, the least that a correct answer needs: check the namespace, the rank, and that its card has
/// the key.
Header* lookup(const Table& table, const char* nspace, std::size_t rank, const char* key) {
  keep(key);
  keep(nspace);
  if (std::strcmp(nspace, table.nspace) != 0 || rank >= peers) std::abort();
  const Card& card = table.card[rank];
  const std::size_t length = std::strlen(key);
  const std::uint64_t hash = XXH3_64bits(key, length) | 1;  // 0 marks an empty bucket
  std::size_t at = hash % buckets;
  while (card.hash[at].load(std::memory_order_acquire) != hash) at = (at + 1) % buckets;
  if (std::memcmp(card.key, key, length + 1) != 0) std::abort();
  return handed_out(card.bytes);
}

void fill(Table& table) {
  const char* key = "weftbench.card";
  std::strcpy(table.nspace, job_name);
  for (std::size_t i = 0; i < sizeof table.bytes; ++i) {
    (&table.bytes[0][0])[i] = static_cast<unsigned char>(i);
  }
  const std::uint64_t hash = XXH3_64bits(key, std::strlen(key)) | 1;
  for (Card& card : table.card) {
    card.hash[hash % buckets].store(hash, std::memory_order_relaxed);
    std::strcpy(card.key, key);
  }
}

void release(Header* header) {
  std::free(header->payload);
  std::free(header);
}

void miss_once(const char* key, const std::uint64_t* filter) {
  keep(key);
  const std::uint64_t hash = XXH3_64bits(key, std::strlen(key));
  keep(filter + hash % slots);
}

/// All n processes measure at once: they start when the last has arrived. body() returns a Sample.
template <class Body>
void measured(Timings& out, Table& table, unsigned n, Body&& body) {
  table.ready.fetch_add(1);
  while (table.ready.load() < n) sched_yield();
  const Sample seen = body();
  out.means = seen.means.size();
  out.singles = seen.singles.size();
  out.batch = seen.batch;
  std::copy(seen.means.begin(), seen.means.end(), out.mean);
  std::copy(seen.singles.begin(), seen.singles.end(), out.single);
}

/// body(table) runs in each of n processes.
template <class Body>
void run_floor(Reporter& reporter, const char* name, unsigned n, std::size_t bytes, Body&& body) {
  struct Results {
    Table table;
    Timings of[];
  };
  auto* shared = shared_new<Results>(n * sizeof(Timings));
  fill(shared->table);
  const auto member = [&](unsigned rank) {
    measured(shared->of[rank], shared->table, n, [&] { return body(shared->table); });
  };
  run_team(n, member);
  Sample all;
  for (unsigned rank = 0; rank < n; ++rank) {
    const Timings& r = shared->of[rank];
    all.merge({{r.mean, r.mean + r.means}, {r.single, r.single + r.singles}, r.batch});
  }
  reporter.print(make_record(name, n, bytes, all));
  munmap(shared, sizeof(Results) + n * sizeof(Timings));
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft::bench;
  const Arguments arguments =
      parse_arguments(argc, argv, "hash + two mallocs + 64 B copy + frees, n at once");
  Reporter reporter = arguments.reporter();
  const std::uint64_t filter[slots] = {};
  const Budget budget{300'000'000, most, most};
  const char* key = "weftbench.card";
  for (const unsigned n : arguments.sizes) {
    run_floor(reporter, "floor_get", n, value_bytes,
              [&](const Table& t) { return measure([&] { release(get(t, key)); }, budget); });
    // Kept values are fresh memory from malloc, page faults included; weftbench keeps as many in one go.
    run_floor(reporter, "floor_get_kept", n, value_bytes,
              [&](const Table& t) { return measure_some([&] { get(t, key); }, budget); });
    run_floor(reporter, "floor_get_lookup", n, value_bytes, [&](const Table& t) {
      unsigned next = 0;
      return measure([&] { release(lookup(t, job_name, next++ % peers, key)); }, budget);
    });
    run_floor(reporter, "floor_get_missing", n, 0,
              [&](const Table&) { return measure([&] { miss_once("weftbench.none", filter); }, budget); });
  }
}
