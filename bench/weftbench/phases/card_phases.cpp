// SPDX-License-Identifier: BSD-3-Clause
// Putting and getting, without any collective inside what is timed.
#include "bench/weftbench/neighbours.hpp"
#include "bench/weftbench/phases/phases.hpp"

namespace weft::bench {
namespace {

constexpr const char* card_key = "weftbench.card";

/// All ranks: body() returns a Sample or what print_all() takes; first rank 0 runs it while the others are
/// blocked in a fence, then all run it at once.
template <class Body, class PrintAlone, class PrintAll>
void alone_then_together(const Context& c, Body&& body, PrintAlone&& print_alone, PrintAll&& print_all) {
  c.job.barrier();
  if (c.job.is_root()) {
    let_others_sleep();
    print_alone(body());
  }
  c.job.barrier();
  if (c.job.size() == 1) return;
  print_all(body());
}

/// All ranks: a card each, `size` bytes, exchanged with all ranks.
void exchange_cards(const Job& job, std::size_t size) {
  job.put(card_key, std::vector<std::byte>(size, std::byte{42}));
  job.commit();
  job.full_fence();
}

Fetched get_card(const Job& job, const pmix_proc_t& from, std::size_t size) {
  Fetched value = job.get(from, card_key);
  if (value->type != PMIX_BYTE_OBJECT || value->data.bo.size != size) throw Failure("a card came back wrong");
  return value;
}

/// A Get is used in two ways. Released: the caller frees each value before the next Get, so that malloc hands
/// out the same two blocks again. Kept: as a library does that builds its table of peers; the blocks are
/// fresh memory, which costs the caller more than the Get. fetch() returns Fetched.
template <class Fetch>
void measure_get(const Context& c, const std::string& bench, std::size_t bytes, Fetch&& fetch) {
  const auto measured = [&](const std::string& name, auto&& body) {
    alone_then_together(
        c, body, [&](const Sample& s) { c.print(make_record(name + "_alone", c.job.size(), bytes, s)); },
        [&](const Sample& s) { c.print_pooled(name, bytes, s); });
  };
  measured(bench, [&] { return measure([&] { fetch(); }, c.budget()); });
  measured(bench + "_kept", [&] { return measure_some([&] { fetch().release(); }, c.budget()); });
}

/// `count` keys of 256 B per commit, always the same names: what grows is the card, not the number of keys.
struct PutTimes {
  Sample put, commit;
};

PutTimes put_and_commit(const Context& c, unsigned count) {
  std::vector<std::byte> bytes(256);
  std::vector<std::string> keys;
  for (unsigned k = 0; k < count; ++k) keys.push_back("weftbench.put." + std::to_string(k));
  PutTimes out;
  const unsigned batches = c.options.repeats * 3;
  for (unsigned b = 0; b <= batches; ++b) {
    bytes[0] = static_cast<std::byte>(b);
    const std::int64_t begin = now_ns();
    for (const std::string& key : keys) c.job.put(key.c_str(), bytes);
    const std::int64_t middle = now_ns();
    c.job.commit();
    const std::int64_t end = now_ns();
    if (b == 0) continue;  // the first one maps pages
    out.put.means.push_back(static_cast<double>(middle - begin) / count);
    out.commit.means.push_back(static_cast<double>(end - middle));
  }
  out.put.batch = count;
  return out;
}

}  // namespace

void get_phase(const Context& c) {
  const std::size_t size = c.options.get_bytes;
  const Job& job = c.job;
  exchange_cards(job, size);
  measure_get(c, "get_own", size, [&] { return get_card(job, job.me(), size); });
  const pmix_proc_t everybody = job.proc(PMIX_RANK_WILDCARD);
  measure_get(c, "get_job", 4, [&] { return job.get(everybody, PMIX_JOB_SIZE); });
  measure_get(c, "get_reserved", 2, [&] { return job.get(job.me(), PMIX_LOCAL_RANK); });

  pmix_proc_t peer = job.me();
  if (job.size() > 1) {
    const auto next_peer = [&] {
      if (++peer.rank >= job.size()) peer.rank = 0;
      if (peer.rank == job.rank()) peer.rank = (peer.rank + 1) % job.size();
    };
    measure_get(c, "get_peer", size, [&] {
      next_peer();
      return get_card(job, peer, size);
    });
  }

  const pmix_info_t optional = flag_info(PMIX_OPTIONAL);
  const auto miss = [&] {
    pmix_value_t* value = nullptr;
    const pmix_status_t status = PMIx_Get(&peer, "weftbench.none", &optional, 1, &value);
    if (status == PMIX_ERR_NOT_FOUND) return;
    throw Failure("PMIx_Get of a missing key: " + std::string(PMIx_Error_string(status)));
  };
  alone_then_together(
      c, [&] { return measure(miss, c.budget()); },
      [&](const Sample& s) { c.print(make_record("get_missing_alone", job.size(), 0, s)); },
      [&](const Sample& s) { c.print_pooled("get_missing", 0, s); });
}

void remote_get_phase(const Context& c) {
  const std::vector<unsigned> far = strangers(c.job);
  if (far.empty()) return c.skip("remote_get", "all ranks are on one node");
  const std::size_t size = c.options.get_bytes;
  exchange_cards(c.job, size);
  std::size_t next = 0;
  measure_get(c, "get_remote", size,
              [&] { return get_card(c.job, c.job.proc(far[next++ % far.size()]), size); });
}

void put_phase(const Context& c) {
  for (const unsigned count : {1u, 16u}) {
    const std::string commit = "commit_" + std::to_string(count);
    const std::size_t bytes = std::size_t{256} * count;
    alone_then_together(
        c, [&] { return put_and_commit(c, count); },
        [&](const PutTimes& t) {
          if (count > 1) c.print(make_record("put_alone", c.job.size(), 256, t.put));
          c.print(make_record(commit + "_alone", c.job.size(), bytes, t.commit));
        },
        [&](const PutTimes& t) {
          if (count > 1) c.print_pooled("put", 256, t.put);
          c.print_pooled(commit, bytes, t.commit);
        });
  }
}

}  // namespace weft::bench
