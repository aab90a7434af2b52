// SPDX-License-Identifier: BSD-3-Clause
// Registered memory and its keys, in the ways that the mr_mode bits ask for. Each way that a card has is that
// of a mock (tests/mock_card), which ends the process where a bit is not honoured; FI_MR_BASIC is what real
// providers can be made to ask for.
#include "transport/ofi/memory.hpp"

#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <tuple>

#include "transport/ofi/endpoint.hpp"
#include "transport/ofi/providers/provider.hpp"

namespace weft::ofi {
namespace {

struct OneTransfer : Completion {
  bool ended = false, failed = false;
  OneTransfer() {
    done = [](Completion& self, Result<void> outcome) noexcept {
      static_cast<OneTransfer&>(self).ended = true;
      static_cast<OneTransfer&>(self).failed = !outcome;
    };
  }
};

std::unique_ptr<Endpoint> open(std::string_view options) {
  std::string why_not;
  auto provider = choose({options, {}, {}}, why_not);
  if (!provider) return nullptr;
  auto endpoint = OfiEndpoint::make(std::move(*provider));
  return endpoint ? std::move(*endpoint) : nullptr;
}

bool progress_until_ended(std::initializer_list<Endpoint*> endpoints, const OneTransfer& one) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!one.ended && std::chrono::steady_clock::now() < deadline)
    for (auto* endpoint : endpoints) endpoint->progress();
  return one.ended;
}

/// b's memory reaches a, at odd places.
void expect_a_read(Endpoint& a, Endpoint& b) {
  std::vector<std::byte> source(20'000), target(20'000);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 % 251);
  const auto exposed = b.expose(source), local = a.expose(target);
  ASSERT_TRUE(exposed) << exposed.error().what;
  ASSERT_TRUE(local) << local.error().what;
  const auto peer = a.reach(b.address());
  ASSERT_TRUE(peer);
  const auto key = a.import_key(**peer, (*exposed)->packed_key());
  ASSERT_TRUE(key);
  const auto most = std::min<std::size_t>(a.capabilities().max_get, 15'000);
  OneTransfer got;
  Result<void> started;
  do {
    a.progress();
    started = a.get({**key, 1001}, {**local, 77, most}, got);
  } while (!started && started.error().code == Errc::again);
  ASSERT_TRUE(started) << started.error().what;
  ASSERT_TRUE(progress_until_ended({&a, &b}, got));
  EXPECT_FALSE(got.failed);
  EXPECT_TRUE(std::equal(target.begin() + 77, target.begin() + 77 + static_cast<std::ptrdiff_t>(most),
                         source.begin() + 1001));
}

class MemoryTest : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(On, MemoryTest,
                         ::testing::Values("verbs_like", "cxi_like", "every", "raw", "raw_offset",
                                           "two_byte_keys"),
                         [](const auto& domain) { return std::string(domain.param); });

TEST_P(MemoryTest, the_mock_is_honoured) {
  const auto a = open(std::string("mock/") + GetParam()), b = open(std::string("mock/") + GetParam());
  ASSERT_TRUE(a && b) << "libfabric did not load the mock: is FI_PROVIDER_PATH set?";
  expect_a_read(*a, *b);
}

TEST_P(MemoryTest, many_regions_have_keys_of_their_own) {
  const auto a = open(std::string("mock/") + GetParam());
  ASSERT_TRUE(a);
  std::vector<std::byte> memory(64);
  std::vector<std::unique_ptr<MemoryRegion>> regions;
  std::set<std::vector<std::byte>> keys;
  for (int i = 0; i < 2000; ++i) {
    auto region = a->expose(memory);
    ASSERT_TRUE(region) << "after " << i << ": " << region.error().what;
    const auto key = (*region)->packed_key();
    EXPECT_LE(key.size(), MemoryRegion::max_key_bytes);
    keys.emplace(key.begin(), key.end());
    regions.push_back(std::move(*region));
  }
  EXPECT_EQ(keys.size(), regions.size());
}

TEST_P(MemoryTest, a_damaged_key_is_corrupt) {
  const auto a = open(std::string("mock/") + GetParam());
  ASSERT_TRUE(a);
  std::vector<std::byte> memory(64);
  const auto region = a->expose(memory);
  const auto peer = a->reach(a->address());
  ASSERT_TRUE(region && peer);
  const auto whole = (*region)->packed_key();
  const std::vector<std::byte> right(whole.begin(), whole.end());
  ASSERT_TRUE(a->import_key(**peer, right));
  for (std::size_t cut = 0; cut < right.size(); ++cut)
    EXPECT_FALSE(a->import_key(**peer, Bytes(right).first(cut))) << cut;
  auto longer = right;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(a->import_key(**peer, longer));
  auto wrong = right;
  wrong[0] ^= std::byte{1};
  EXPECT_FALSE(a->import_key(**peer, wrong));
}

/// Reads that are canceled while they are open: into the caller's memory (`direct`) or by way of ours.
class CancelTest : public ::testing::TestWithParam<std::tuple<const char*, bool>> {};
INSTANTIATE_TEST_SUITE_P(On, CancelTest,
                         ::testing::Combine(::testing::Values("mock/verbs_like", "tcp;ofi_rxm", "net"),
                                            ::testing::Bool()),
                         [](const auto& p) {
                           std::string name(std::get<0>(p.param));
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return c == '/' || c == ';'; }, '_');
                           return name + (std::get<1>(p.param) ? "_with_the_region" : "_with_the_peer");
                         });

TEST_P(CancelTest, the_memory_is_free_at_once) {
  const auto& [options, with_region] = GetParam();
  std::string why_not;
  auto provider = choose({options, {}, {}}, why_not);
  if (!provider) GTEST_SKIP() << "this libfabric has no " << options;
  provider->rma = std::string_view(options).starts_with("mock");
  auto made = OfiEndpoint::make(std::move(*provider));
  ASSERT_TRUE(made);
  const auto a = std::move(*made), b = open(options);
  ASSERT_TRUE(b);
  std::vector<std::byte> source(1 << 20, std::byte{1}), target(1 << 20);
  const auto exposed = b->expose(source);
  auto local = a->expose(target);
  auto peer = a->reach(b->address());
  ASSERT_TRUE(exposed && local && peer);
  auto key = a->import_key(**peer, (*exposed)->packed_key());
  ASSERT_TRUE(key);
  const auto read = [&](OneTransfer& one, std::size_t length) {
    Result<void> started;
    do {
      a->progress();
      b->progress();
      started = a->get({**key, 0}, {**local, 0, length}, one);
    } while (!started && started.error().code == Errc::again);
    return started;
  };
  OneTransfer first;
  ASSERT_TRUE(read(first, 1));  // so that the next has a connection
  ASSERT_TRUE(progress_until_ended({a.get(), b.get()}, first));
  OneTransfer open_when_it_goes;
  ASSERT_TRUE(read(open_when_it_goes, target.size()));
  key->reset();
  if (with_region)
    local->reset();
  else
    peer->reset();
  EXPECT_TRUE(open_when_it_goes.ended && open_when_it_goes.failed);
  std::fill(target.begin(), target.end(), std::byte{9});  // it is ours again
  for (int i = 0; i < 20'000; ++i) {
    a->progress();
    b->progress();
  }
  EXPECT_TRUE(std::all_of(target.begin(), target.end(), [](std::byte one) { return one == std::byte{9}; }));
}

/// The keys of real providers may be made by them, and address memory as the owner does.
TEST(RealProviderTest, basic_registration) {
  for (const std::string name : {"tcp;ofi_rxm", "net", "shm"}) {
    const auto open_basic = [&]() -> std::unique_ptr<Endpoint> {
      const Info hints(fi_allocinfo());
      hints->caps = FI_MSG | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_REMOTE_READ;
      hints->ep_attr->type = FI_EP_RDM;
      hints->domain_attr->mr_mode = mr_basic;
      hints->domain_attr->threading = FI_THREAD_DOMAIN;
      hints->fabric_attr->prov_name = ::strdup(name.c_str());
      fi_info* found = nullptr;
      if (fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints.get(), &found) != 0) return nullptr;
      Provider provider;
      provider.info.reset(found);
      EXPECT_EQ(found->domain_attr->mr_mode, mr_basic) << name;
      auto endpoint = OfiEndpoint::make(std::move(provider));
      return endpoint ? std::move(*endpoint) : nullptr;
    };
    const auto a = open_basic(), b = open_basic();
    if (!a || !b) GTEST_SKIP() << "this libfabric has no " << name << " with FI_MR_BASIC";
    expect_a_read(*a, *b);
    if (HasFatalFailure()) FAIL() << name;
  }
}

}  // namespace
}  // namespace weft::ofi
