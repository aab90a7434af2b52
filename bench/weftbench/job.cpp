// SPDX-License-Identifier: BSD-3-Clause
#include "bench/weftbench/job.hpp"

#include <cstdlib>
#include <cstring>
#include <exception>

#include "bench/report/clock.hpp"

namespace weft::bench {

Fetched::~Fetched() {
  if (value_ == nullptr) return;
  PMIx_Value_destruct(value_);
  std::free(value_);
}

pmix_info_t flag_info(const char* key) noexcept {
  pmix_info_t info{};
  std::strncpy(info.key, key, sizeof info.key - 1);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  return info;
}

Job::Job() : collect_(flag_info(PMIX_COLLECT_DATA)) {
  const std::int64_t begin = now_ns();
  expect_success(PMIx_Init(&me_, nullptr, 0), "PMIx_Init");
  init_ns_ = static_cast<double>(now_ns() - begin);
  open_ = true;
  const Fetched size = get(proc(PMIX_RANK_WILDCARD), PMIX_JOB_SIZE);
  if (size->type != PMIX_UINT32) throw Failure("PMIX_JOB_SIZE is not a uint32");
  size_ = size->data.uint32;
}

Job::~Job() {
  // While an exception is in flight, the other ranks are elsewhere: a clean finalize could wait for them.
  if (open_ && std::uncaught_exceptions() == 0) PMIx_Finalize(nullptr, 0);
}

pmix_proc_t Job::proc(unsigned rank) const noexcept {
  pmix_proc_t out = me_;
  out.rank = rank;
  return out;
}

void Job::put(const char* key, std::span<const std::byte> bytes) const {
  pmix_value_t value{};
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
  value.data.bo.size = bytes.size();
  expect_success(PMIx_Put(PMIX_GLOBAL, key, &value), "PMIx_Put");
}

Fetched Job::get(const pmix_proc_t& from, const char* key) const {
  pmix_value_t* value = nullptr;
  const pmix_status_t status = PMIx_Get(&from, key, nullptr, 0, &value);
  if (status != PMIX_SUCCESS) expect_success(status, (std::string("PMIx_Get of ") + key).c_str());
  return Fetched(value);
}

std::vector<std::byte> Job::get_bytes(const pmix_proc_t& from, const char* key) const {
  const Fetched value = get(from, key);
  if (value->type != PMIX_BYTE_OBJECT) throw Failure(std::string(key) + " came back with another type");
  const auto* first = reinterpret_cast<const std::byte*>(value->data.bo.bytes);
  return {first, first + value->data.bo.size};
}

std::vector<std::vector<double>> Job::gather(const std::vector<double>& mine) {
  const std::string key = fresh_key();
  put(key.c_str(), std::as_bytes(std::span(mine)));
  commit();
  full_fence();
  std::vector<std::vector<double>> all;
  if (!is_root()) return all;
  for (unsigned r = 0; r < size_; ++r) {
    const std::vector<std::byte> bytes = get_bytes(proc(r), key.c_str());
    std::vector<double>& numbers = all.emplace_back(bytes.size() / sizeof(double));
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(double));
  }
  return all;
}

std::uint64_t Job::from_root(std::uint64_t value) {
  const std::string key = fresh_key();
  if (is_root()) {
    put(key.c_str(), std::as_bytes(std::span(&value, 1)));
    commit();
  }
  full_fence();
  const std::vector<std::byte> bytes = get_bytes(proc(0), key.c_str());
  if (bytes.size() != sizeof value) throw Failure("rank 0's number arrived with another size");
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

double Job::leave() {
  const std::int64_t begin = now_ns();
  expect_success(PMIx_Finalize(nullptr, 0), "PMIx_Finalize");
  open_ = false;
  return static_cast<double>(now_ns() - begin);
}

std::string Job::fresh_key() {
  return "weftbench.result." + std::to_string(next_key_++);
}

}  // namespace weft::bench
