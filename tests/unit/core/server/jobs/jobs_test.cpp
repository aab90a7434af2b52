// SPDX-License-Identifier: BSD-3-Clause
// The table of namespaces, without a process: announced, registered, forgotten, and what waits for a
// registration.
#include "core/server/jobs/jobs.hpp"

#include <gtest/gtest.h>

#include "core/link/messages.hpp"
#include "core/server/jobs/far_cards.hpp"
#include "core/server/jobs/members.hpp"

namespace weft::server {
namespace {

class JobsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = shm::Segment::create(std::uint64_t{1} << 30);
    ASSERT_TRUE(made);
    segment_ = std::move(*made);
    ASSERT_TRUE(store::format_segment(*segment_));
    jobs_ = std::make_unique<Jobs>(*segment_, "node", store::Limits{});
  }
  Job& registered(const std::string& nspace, std::uint32_t ranks) {
    data::Infos infos;
    infos.add(PMIX_JOB_SIZE, data::Value::of(ranks));
    auto& job = jobs_->announce(nspace);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) job.clients[rank] = {};
    bool is_new = false;
    EXPECT_TRUE(jobs_->register_job(job, static_cast<int>(ranks), infos, is_new));
    EXPECT_TRUE(is_new);
    jobs_->announce_registered(nspace);
    return job;
  }

  std::optional<shm::Segment> segment_;
  std::unique_ptr<Jobs> jobs_;
};

TEST_F(JobsTest, an_announced_namespace_is_not_found_before_it_is_registered) {
  jobs_->announce("job");
  EXPECT_EQ(jobs_->find("job"), nullptr);
  EXPECT_NE(jobs_->find_announced("job"), nullptr);
  registered("job", 4);
  ASSERT_NE(jobs_->find("job"), nullptr);
  EXPECT_EQ(jobs_->find("job")->view().ranks(), 4u);
  EXPECT_EQ(jobs_->find("jo"), nullptr);
}

TEST_F(JobsTest, a_second_registration_adds_keys_only) {
  auto& job = registered("job", 2);
  data::Infos infos;
  infos.add(PMIX_JOB_SIZE, data::Value::of(std::uint32_t{2}));
  bool is_new = true;
  EXPECT_TRUE(jobs_->register_job(job, 2, infos, is_new));
  EXPECT_FALSE(is_new);
}

TEST_F(JobsTest, what_waits_for_a_registration_runs_once) {
  int early = 0, late = 0;
  jobs_->when_registered("job", [&] { ++early; });
  EXPECT_EQ(early, 0);
  registered("job", 1);
  EXPECT_EQ(early, 1);
  jobs_->when_registered("job", [&] { ++late; });
  EXPECT_EQ(late, 1);
  jobs_->announce_registered("job");
  EXPECT_EQ(early + late, 2);
}

TEST_F(JobsTest, an_erased_namespace_is_gone_and_its_name_is_free) {
  registered("job", 3);
  jobs_->erase("job");
  EXPECT_EQ(jobs_->find_announced("job"), nullptr);
  EXPECT_EQ(registered("job", 5).view().ranks(), 5u);
}

TEST_F(JobsTest, local_members_of_a_set) {
  registered("a", 3);
  registered("b", 2);
  std::string seen;
  const Procs procs{link::make_proc("a", 1), link::make_proc("b", PMIX_RANK_WILDCARD),
                    link::make_proc("c", 0)};
  each_local(*jobs_, procs,
             [&](const Job& job, std::uint32_t local) { seen += job.nspace + std::to_string(local); });
  EXPECT_EQ(seen, "a1b0b1");
}

TEST_F(JobsTest, nodes_of_unknown_processes_are_not_known) {
  registered("a", 3);
  EXPECT_TRUE(jobs_->nodes_of({link::make_proc("c", 0)}).empty());
  EXPECT_TRUE(jobs_->nodes_of({link::make_proc("a", 9)}).empty());
  EXPECT_EQ(jobs_->nodes_of({link::make_proc("a", 0)}).size(), 1u);
}

TEST_F(JobsTest, cards_that_belong_to_no_rank_elsewhere_are_ignored) {
  registered("a", 2);
  EXPECT_EQ(take_card(*jobs_, {"nobody", 0, 0, 0, {}}, {}), PMIX_SUCCESS);
  EXPECT_EQ(take_card(*jobs_, {"a", 7, 0, 0, {}}, {}), PMIX_SUCCESS);
  EXPECT_EQ(take_card(*jobs_, {"a", 1, 0, 0, {}}, {}), PMIX_SUCCESS)
      << "a local rank's card is read where it lies";
  const std::byte nonsense[5]{};
  EXPECT_EQ(take_cards(*jobs_, nonsense, {}), PMIX_ERR_UNPACK_FAILURE);
}

}  // namespace
}  // namespace weft::server
