// SPDX-License-Identifier: BSD-3-Clause
// Laying jobs out, finding them, and taking them away again.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "core/data/types/wire.hpp"
#include "core/store/get/get_decision.hpp"
#include "tests/unit/core/store/segment/jobs.hpp"
#include "transport/shm/partial_window.hpp"

namespace weft::store {
namespace {

TEST(Segment, says_what_it_is) {
  EXPECT_EQ(check_segment({}), Attach::absent);
  auto raw = shm::Segment::create(1 << 20);
  ASSERT_TRUE(raw);
  const auto server = raw->bytes().server;
  EXPECT_EQ(check_segment({server.first(100), {}}), Attach::too_short);
  EXPECT_EQ(check_segment({server, {}}), Attach::not_ready);
  ASSERT_TRUE(format_segment(*raw));
  EXPECT_EQ(check_segment({server, {}}), Attach::ready);
  EXPECT_EQ(check_segment({server.first(server.size() / 2), {}}), Attach::too_short);
  auto& header = *reinterpret_cast<SegmentHeader*>(server.data());
  header.version.store(layout_version + 1);
  EXPECT_EQ(check_segment({server, {}}), Attach::wrong_version);
  header.version.store(layout_version);
  header.magic = 0;
  EXPECT_EQ(check_segment({server, {}}), Attach::wrong_version);
}

TEST(Segment, too_small_for_its_header_is_an_error) {
  EXPECT_FALSE(shm::Segment::create(shm::page_bytes));  // less than a page for each memory
}

TEST(Job, is_found_by_its_name_only) {
  Node node;
  const auto job = node.add(flat_job("one", 4, 4));
  ASSERT_TRUE(job);
  EXPECT_EQ(node.find("one"), job->offset());
  EXPECT_EQ(node.find("two"), std::nullopt);
  EXPECT_EQ(node.find("on"), std::nullopt);
  EXPECT_EQ(node.find(""), std::nullopt);
  EXPECT_EQ(job->view().nspace(), "one");
  EXPECT_EQ(job->view().ranks(), 4u);
  EXPECT_EQ(job->view().local_count(), 4u);
  EXPECT_EQ(job->view().rank(4), nullptr);
  EXPECT_EQ(job->view().rank(PMIX_RANK_WILDCARD), nullptr);
}

TEST(Job, has_cells_for_first_calls_where_a_launcher_asks) {
  Node node;
  auto spec = flat_job("asked", 4, 4);
  const auto plain = node.add(flat_job("plain", 4, 4));
  spec.has_start_cells = true;
  const auto asked = node.add(spec);
  ASSERT_TRUE(plain && asked);
  EXPECT_EQ(plain->start_cell(0), nullptr);
  EXPECT_EQ(plain->view().header().start_cells, 0u);
  const auto& h = asked->view().header();
  EXPECT_GE(h.start_cells, h.fetch_cells + 4 * sizeof(FetchCell));
  EXPECT_LE(h.start_cells + 4 * sizeof(StartCell), h.dirty);
  EXPECT_EQ(asked->start_cell(3)->fetch.begun(), 0u);
}

TEST(Job, names_of_all_lengths) {
  Node node;
  const std::string longest(PMIX_MAX_NSLEN, 'n');
  ASSERT_TRUE(node.add(flat_job(longest, 1, 1)));
  EXPECT_TRUE(node.find(longest));
  EXPECT_EQ(node.add(flat_job(longest + "n", 1, 1)).error().code, Errc::invalid);
  EXPECT_EQ(node.add(flat_job("", 1, 1)).error().code, Errc::invalid);
}

TEST(Job, without_ranks_or_without_local_ones) {
  Node node;
  ASSERT_TRUE(node.add(flat_job("empty", 0, 0)));
  const auto elsewhere = node.add(flat_job("elsewhere", 3, 0));
  ASSERT_TRUE(elsewhere);
  EXPECT_EQ(elsewhere->view().local_count(), 0u);
  EXPECT_EQ(elsewhere->view().local_index(2), none);
}

TEST(Job, every_local_rank_has_a_card_of_its_own) {
  Node node;
  auto job = node.add(flat_job("job", 9, 9));
  ASSERT_TRUE(job);
  const auto& view = job->view();
  const std::string big(60'000, 'b');  // most of the card, so that one ends where the next begins
  for (std::uint32_t r = 0; r < 9; ++r) {
    ASSERT_TRUE(put(view, r, "name", Value::of(std::string_view("rank " + std::to_string(r)))));
    ASSERT_TRUE(put(view, r, "big", Value::of(std::string_view(big))));
  }
  for (std::uint32_t r = 0; r < 9; ++r) {
    EXPECT_EQ(words(lookup(view, r, "name", {}, {})), "s rank " + std::to_string(r));
    EXPECT_EQ(put(view, r, "more", Value::of(std::string_view(big))).error().code, Errc::no_space);
    EXPECT_EQ(words(lookup(view, r, "name", {}, {})), "s rank " + std::to_string(r));  // earlier ones intact
  }
}

TEST(Job, cards_of_all_sizes) {
  for (const std::uint64_t bytes : {0u, 64u, 3000u, 3008u, 3016u, 4096u, 65'536u}) {
    Node node;
    auto job = node.add(flat_job("job", 3, 3), Limits{bytes});
    ASSERT_TRUE(job) << bytes;
    for (std::uint32_t r = 0; r < 3; ++r) {
      auto card = job->view().cards().local(r);
      EXPECT_LE(card.capacity(), std::max<std::uint64_t>(bytes, 64));
      const std::vector<std::byte> value(9);
      for (std::uint32_t i = 0; card.append({{Realm::rank, 0}, PMIX_GLOBAL, "k" + std::to_string(i), value});
           ++i) {
      }
    }
    for (std::uint32_t r = 0; r < 3; ++r) {
      std::size_t records = 0;
      EXPECT_TRUE(job->view().cards().local(r).visit(0, [&](const Record&) { ++records; }));
      EXPECT_GE(records, 1u) << bytes;
    }
  }
}

TEST(Job, local_ranks_come_later_until_the_capacity_is_reached) {
  Node node;
  auto spec = flat_job("job", 8, 2);
  spec.local_capacity = 4;
  auto job = node.add(spec);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->add_local(5).value(), 2u);
  EXPECT_EQ(job->add_local(5).value(), 2u);
  EXPECT_EQ(job->add_local(0).value(), 0u);
  EXPECT_EQ(job->add_local(7).value(), 3u);
  EXPECT_EQ(job->add_local(6).error().code, Errc::no_space);
  EXPECT_EQ(job->add_local(8).error().code, Errc::invalid);
  EXPECT_EQ(job->view().local_count(), 4u);
  EXPECT_EQ(job->view().local_index(7), 3u);
  EXPECT_EQ(job->view().local_index(6), none);
  EXPECT_EQ(job->view().board().members(), 4u);
}

TEST(Job, rings_and_dirty_words_are_apart_from_each_other) {
  Node node;
  auto job = node.add(flat_job("job", 130, 130), {.card_bytes = 4096});
  ASSERT_TRUE(job);
  for (std::uint32_t i = 0; i < 130; ++i) EXPECT_TRUE(job->ring(i).push({1, i}));
  for (std::uint32_t i = 0; i < 3; ++i) job->dirty(i).store(~std::uint64_t{0});
  for (std::uint32_t i = 0; i < 130; ++i) (void)job->view().board().arrive(i, 1);
  EXPECT_EQ(job->view().board().outcome(1), Board::Outcome::success);
  for (std::uint32_t i = 0; i < 130; ++i)
    EXPECT_EQ(job->ring(i).drain([&](shm::Notice n) { EXPECT_EQ(n.arg, i); }), 1u);
}

TEST(Job, what_does_not_fit_leaves_nothing_behind) {
  Node node(std::size_t{32} << 20);
  const auto before = node.left();
  EXPECT_EQ(node.add(flat_job("big", 4'000'000, 1)).error().code, Errc::no_space);
  EXPECT_EQ(node.find("big"), std::nullopt);
  EXPECT_EQ(node.left(), before);
  EXPECT_EQ(node.add(flat_job("wide", 70'000, 70'000)).error().code, Errc::invalid);
  auto bad = flat_job("bad", 2, 0);
  bad.local_ranks = {0, 7};  // fails after the memory was taken
  EXPECT_FALSE(node.add(bad));
  EXPECT_EQ(node.find("bad"), std::nullopt);
  EXPECT_EQ(node.left(), before);
  EXPECT_TRUE(node.add(flat_job("small", 4, 4)));
}

TEST(Job, keys_that_come_after_registration) {
  Node node;
  auto job = node.add(flat_job("job", 2, 2));
  ASSERT_TRUE(job);
  ASSERT_TRUE(job->add_info({{Realm::job, 0}, "late.key", Value::of(std::uint32_t{1})}));
  ASSERT_TRUE(job->add_info({{Realm::job, 0}, "late.key", Value::of(std::uint32_t{2})}));
  EXPECT_EQ(words(lookup(job->view(), PMIX_RANK_WILDCARD, "late.key", {}, {})), "u32 2");
  const std::string megabyte(1 << 20, 'm');
  Result<void> last;
  for (int i = 0; i < 10 && last; ++i)
    last =
        job->add_info({{Realm::job, 0}, "mega." + std::to_string(i), Value::of(std::string_view(megabyte))});
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code, Errc::no_space);
  EXPECT_EQ(words(lookup(job->view(), PMIX_RANK_WILDCARD, "late.key", {}, {})), "u32 2");
}

// ---- retiring

TEST(Job, a_retired_one_is_gone_and_reads_as_nothing) {
  Node node;
  auto job = node.add(two_node_job());
  ASSERT_TRUE(job);
  ASSERT_TRUE(put(job->view(), 0, "key", Value::of("value")));
  const JobView stale = job->view();
  job->retire(node.segment);
  EXPECT_EQ(node.find("job"), std::nullopt);
  EXPECT_EQ(words(lookup(stale, 0, "key", {}, {})), not_found());
  EXPECT_EQ(words(lookup(stale, 1, PMIX_HOSTNAME, {}, {})), not_found());
  EXPECT_EQ(words(lookup(stale, PMIX_RANK_UNDEF, "key", {}, {})), not_found());
  (void)lookup_all(stale, 0, {});
  (void)lookup_all(stale, PMIX_RANK_WILDCARD, {});
  EXPECT_EQ(JobView::open(node.segment.bytes(), job->offset()).error().code, Errc::corrupt);
}

TEST(Job, as_many_as_there_are_slots_and_any_number_one_after_the_other) {
  Node node(std::size_t{16} << 30);
  std::vector<JobWriter> jobs;
  for (std::uint32_t i = 0; i < max_jobs; ++i) {
    auto job = node.add(flat_job("job." + std::to_string(i), 2, 2), {.card_bytes = 4096});
    ASSERT_TRUE(job) << i;
    jobs.push_back(std::move(*job));
  }
  const auto left = node.left();
  EXPECT_EQ(node.add(flat_job("one.more", 1, 1), {.card_bytes = 4096}).error().code, Errc::no_space);
  EXPECT_EQ(node.find("one.more"), std::nullopt);
  EXPECT_EQ(node.left(), left);
  for (std::uint32_t i = 0; i < max_jobs; i += 7) {
    const auto at = jobs[i].offset();
    jobs[i].retire(node.segment);
    EXPECT_EQ(node.find("job." + std::to_string(i)), std::nullopt);
    auto next = node.add(flat_job("next." + std::to_string(i), 2, 2), {.card_bytes = 4096});
    ASSERT_TRUE(next);
    EXPECT_EQ(next->offset(), at);  // the same addresses again
    EXPECT_EQ(next->view().board().open_generation(), 1u);
    jobs[i] = std::move(*next);
  }
  for (std::uint32_t i = 0; i < max_jobs; ++i)
    EXPECT_EQ(node.find((i % 7 == 0 ? "next." : "job.") + std::to_string(i)), jobs[i].offset());
}

TEST(Job, many_of_different_sizes_do_not_wear_the_segment_out) {
  Node node(std::size_t{256} << 20);
  testing::Random random;
  std::vector<JobWriter> running;
  const auto start = node.left();
  for (unsigned i = 0; i < 1000; ++i) {
    const auto locals = static_cast<std::uint32_t>(1 + random.below(40));
    auto job = node.add(flat_job("job." + std::to_string(i), locals, locals));
    ASSERT_TRUE(job) << i << ": " << job.error().what;
    ASSERT_TRUE(put(job->view(), 0, "key", Value::of(static_cast<std::uint32_t>(i))));
    ASSERT_EQ(job->view().cards().local(locals - 1).empty(), locals != 1);  // no bytes of an earlier job
    running.push_back(std::move(*job));
    while (running.size() > random.below(5)) {
      const auto which = running.begin() + static_cast<std::ptrdiff_t>(random.below(running.size()));
      which->retire(node.segment);
      running.erase(which);
    }
  }
  for (auto& job : running) job.retire(node.segment);
  EXPECT_EQ(node.left(), start);
}

/// A job as a client sees it, which maps of the segment what it follows.
struct Parts {
  Parts(const Node& node, const JobWriter& job)
      : windows(shm::SegmentWindows::map(shm::Fd(::dup(node.segment.server.fd())),
                                         shm::Fd(::dup(job.view().header().clients_fd)))
                    .value()) {
    windows.own_job = job.offset();
    view = JobView::open(windows.bytes(), job.offset()).value();
  }
  shm::SegmentWindows windows;
  JobView view;
};

// The descriptor of a job's memory leads to no other job's: what that has put the server tells.
TEST(Job, of_which_a_client_of_another_job_sees_all_but_the_cards_of_its_ranks_here) {
  Node node;
  const auto mine = node.add(flat_job("mine", 2, 2)).value();
  auto other = node.add(two_node_job("other")).value();
  data::Writer bytes;
  ASSERT_TRUE(data::encode_value(bytes, Value::of(7u).get()));
  const std::vector<CardRecord> records{{PMIX_GLOBAL, "key", bytes.view()}};
  ASSERT_TRUE(put(other.view(), 2, "key", Value::of(7u)));
  ASSERT_TRUE(other.add_card({"other", 1, 0, 8, records}));
  ASSERT_TRUE(put(mine.view(), 1, "key", Value::of(8u)));
  const Parts client(node, mine);
  EXPECT_EQ(words(lookup(client.view, 1, "key", {}, {})), "u32 8");
  const auto view = JobView::open(client.windows.bytes(), other.offset()).value();
  EXPECT_FALSE(view.cards().has_local());
  EXPECT_EQ(words(lookup(view, 1, "key", {}, {})), "u32 7") << "of another node, in the server's memory";
  EXPECT_EQ(words(lookup(view, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, {}, {})), "u32 6");
  EXPECT_EQ(words(lookup(view, 2, "key", {}, {})), not_found());
  EXPECT_TRUE(facts_of(view, 1, "key", {}).sees_jobs);
  for (const std::uint32_t rank : {2u, PMIX_RANK_UNDEF})
    EXPECT_FALSE(facts_of(view, rank, "key", {}).sees_jobs);
  const auto all = lookup_all(view, 2, {});
  ASSERT_TRUE(all);
  EXPECT_TRUE(facts_of(other.view(), 2, "key", {}).sees_jobs);
}

TEST(Job, that_ends_gives_the_pages_of_its_memory_back) {
  Node node;
  auto job = node.add(flat_job("job", 1, 1)).value();
  const shm::Fd clients(::dup(job.view().header().clients_fd));
  ASSERT_TRUE(put(job.view(), 0, "key", Value::of(std::string(9000, 'x'))));
  const auto view = job.view();
  job.retire(node.segment);
  EXPECT_TRUE(view.cards().local(0).empty()) << "a reader of the host's finds zeros";
  struct stat facts {};
  ASSERT_EQ(::fstat(clients.get(), &facts), 0);
  EXPECT_GT(facts.st_blocks, 0) << "a client that is still there keeps what it has";
  EXPECT_FALSE(std::filesystem::exists("/proc/self/fd/" + std::to_string(view.header().clients_fd)) &&
               shm::inode_of(view.header().clients_fd) == facts.st_ino);
}

TEST(Job, is_found_through_windows_that_follow_what_grows) {
  Node node;
  auto job = node.add(two_node_job(), {.card_bytes = 1 << 20});
  ASSERT_TRUE(job);
  const Parts client(node, *job);
  const std::string text(9000, 'x');
  for (unsigned i = 0; i < 80; ++i) {
    const auto key = "key " + std::to_string(i);
    ASSERT_TRUE(put(job->view(), 2, key, Value::of(text + key)));
    ASSERT_TRUE(job->add_info({{Realm::job, 0}, key, Value::of("info of " + key)}));
    data::Writer bytes;
    ASSERT_TRUE(data::encode_value(bytes, Value::of(text + "far " + key).get()));
    const std::vector<CardRecord> records{{PMIX_GLOBAL, key, bytes.view()}};
    ASSERT_TRUE(job->add_card({"job", 1, i * 8u, (i + 1) * 8u, records}));
    EXPECT_EQ(words(lookup(client.view, 2, key, {}, {})), "s " + text + key);
    EXPECT_EQ(words(lookup(client.view, PMIX_RANK_WILDCARD, key, {}, {})), "s info of " + key);
    EXPECT_EQ(words(lookup(client.view, 1, key, {}, {})), "s " + text + "far " + key);
  }
  EXPECT_EQ(words(lookup(client.view, 2, "key 0", {}, {})), "s " + text + "key 0");
  EXPECT_EQ(words(lookup(client.view, 1, "key 0", {}, {})), "s " + text + "far key 0");
  EXPECT_EQ(words(lookup(client.view, 2, "nowhere", {}, {})), "-" + std::to_string(int(Errc::not_found)));
  const auto all = lookup_all(client.view, 2, {});
  ASSERT_TRUE(all);
  EXPECT_GE(all->get().data.darray->size, 80u);
  EXPECT_FALSE(client.windows.is_incomplete());
}

/// A part that a client has not mapped is an error to it, or a miss, and nothing that it stumbles over.
TEST(Job, of_which_a_part_cannot_be_mapped) {
  Node node;
  auto job = node.add(two_node_job(), {.card_bytes = 1 << 20});
  ASSERT_TRUE(job);
  const Parts client(node, *job);
  ASSERT_TRUE(put(job->view(), 2, "small", Value::of(1u)));
  ASSERT_TRUE(put(job->view(), 2, "large", Value::of(std::string(9000, 'x'))));
  const auto rest = job->view().local(1).card_rest;
  void* const taken = ::mmap(client.windows.clients.base() + rest, shm::page_bytes, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  ASSERT_NE(taken, MAP_FAILED);
  EXPECT_FALSE(lookup(client.view, 2, "large", {}, {}));
  EXPECT_TRUE(client.windows.is_incomplete());
  EXPECT_EQ(words(lookup(client.view, 2, "small", {}, {})), "u32 1");
  (void)lookup_all(client.view, 2, {});
  ::munmap(taken, shm::page_bytes);
}

/// A writer that goes on between a reader's look at the end of a card and its look at the index.
TEST(Job, a_card_that_grows_while_it_is_read_through_a_window) {
  testing::Watchdog watchdog;
  Node node;
  auto job = node.add(two_node_job(), {.card_bytes = 8 << 20});
  ASSERT_TRUE(job);
  const Parts client(node, *job);
  std::atomic<bool> is_over{false};
  ASSERT_TRUE(put(job->view(), 2, "key", Value::of(0u)));
  std::thread writer([&] {
    for (std::uint32_t i = 1; put(job->view(), 2, "key", Value::of(i)).has_value(); ++i) continue;
    is_over = true;
  });
  std::uint32_t last = 0;
  while (!is_over) {
    const auto value = lookup(client.view, 2, "key", {}, {});
    ASSERT_TRUE(value) << value.error().what;
    ASSERT_GE(value->get().data.uint32, last);
    last = value->get().data.uint32;
  }
  writer.join();
}

// Processes of other namespaces look while a job goes and the next one takes its place: they find it, or
// nothing. (TSan would see the immutable fields of the next job being written: the looker's view is stale by
// design.)
TEST(Job, looking_while_it_is_retired_is_harmless) {
  if (testing::thread_sanitized) GTEST_SKIP() << "a stale view of a retired job races by design";
  testing::Watchdog watchdog;
  Node node;
  std::atomic<bool> done{false};
  std::atomic<unsigned> hits{0}, faults{0};
  std::thread looker([&] {
    while (!done.load()) {
      const auto at = node.find("job");
      if (!at) continue;
      const auto view = JobView::open(node.segment.bytes(), *at);
      if (!view) continue;
      for (const auto* key : {"key", PMIX_HOSTNAME, PMIX_LOCAL_PEERS, PMIX_LOCAL_SIZE, "nowhere"})
        for (const std::uint32_t rank : {0u, 1u, 2u, static_cast<std::uint32_t>(PMIX_RANK_WILDCARD)}) {
          const auto value = lookup(*view, rank, key, {}, {});
          if (value && rank == 0 && std::string_view(key) == "key") ++hits;
          if (value && std::string_view(key) == "nowhere") ++faults;
        }
      (void)lookup_all(*view, 0, {});
    }
  });
  const testing::Rounds rounds(3000);
  for (unsigned i = 0; rounds.go_on(i) || (hits.load() == 0 && i < 1'000'000); ++i) {
    auto job = node.add(two_node_job());
    if (!job || !put(job->view(), 0, "key", Value::of("value"))) ++faults;
    std::this_thread::yield();
    job->retire(node.segment);
  }
  done.store(true);
  looker.join();
  EXPECT_EQ(faults.load(), 0u);
  EXPECT_GT(hits.load(), 0u);
}

TEST(JobView, refuses_bounds_that_leave_the_segment) {
  Node node;
  auto job = node.add(two_node_job());
  ASSERT_TRUE(job);
  const auto segment = node.segment.bytes();
  const auto size = segment.server.size();
  EXPECT_FALSE(JobView::open(segment, size));
  EXPECT_FALSE(JobView::open(segment, size - sizeof(JobHeader) + 1));
  auto& h = *reinterpret_cast<JobHeader*>(segment.server.data() + job->offset());
  const auto refused = [&](auto& field, auto lie) {
    const auto good = std::exchange(field, lie);
    const bool out = !JobView::open(segment, job->offset());
    field = good;
    return out;
  };
  for (Area* area : {&h.rank_area, &h.index_area, &h.info_area, &h.remote_area, &h.local_area,
                     &h.control_area, &h.card_area, &h.card_rest_area, &h.board_area}) {
    EXPECT_TRUE(refused(area->offset, size));
    EXPECT_TRUE(refused(area->offset, ~std::uint64_t{0}));
    EXPECT_TRUE(refused(area->bytes, size));
    EXPECT_TRUE(refused(area->bytes, ~std::uint64_t{0}));
  }
  for (std::uint32_t* buckets : {&h.info_buckets, &h.card_buckets}) {
    EXPECT_TRUE(refused(*buckets, 0u));
    EXPECT_TRUE(refused(*buckets, 100u));
    EXPECT_TRUE(refused(*buckets, 0x80000000u));
  }
  for (std::uint64_t* capacity :
       {&h.info_capacity, &h.remote_capacity, &h.card_capacity, &h.card_first, &h.card_rest_bytes})
    EXPECT_TRUE(refused(*capacity, ~std::uint64_t{7}));
  EXPECT_TRUE(refused(h.ranks, 0x10000000u));
  EXPECT_TRUE(refused(h.nodes, 0xffffffffu));
  EXPECT_TRUE(refused(h.apps, 0xffffffffu));
  EXPECT_TRUE(refused(h.local_capacity, 0x10000000u));
  for (const std::uint64_t lie : {h.control_area.offset + h.control_area.bytes - 64,
                                  h.control_area.offset + h.control_area.bytes, ~std::uint64_t{0}})
    EXPECT_TRUE(refused(h.board, lie)) << lie;
  for (const std::uint64_t lie : {std::uint64_t{size} + 1, ~std::uint64_t{0}}) {
    EXPECT_TRUE(refused(h.clients_at, lie)) << lie;
    EXPECT_TRUE(refused(h.clients_bytes, lie)) << lie;
  }
  EXPECT_TRUE(JobView::open(segment, job->offset()));
}

}  // namespace
}  // namespace weft::store
