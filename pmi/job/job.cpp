// SPDX-License-Identifier: BSD-3-Clause
#include "pmi/job/job.hpp"

#include <pmix.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "pmi/job/process_mapping.hpp"
#include "pmi/spawn/preput.hpp"

namespace weft::pmi {
namespace {

struct Freed {
  void operator()(pmix_value_t* value) const noexcept { PMIX_VALUE_RELEASE(value); }
};
using Value = std::unique_ptr<pmix_value_t, Freed>;

pmix_proc_t process_of(std::string_view job, std::uint32_t rank) {
  pmix_proc_t proc{};
  job.copy(proc.nspace, PMIX_MAX_NSLEN);
  proc.rank = rank;
  return proc;
}

Value get(const pmix_proc_t& proc, const char* key, const char* directive) {
  pmix_info_t info;
  PMIX_INFO_CONSTRUCT(&info);
  std::strncpy(info.key, directive, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  pmix_value_t* value = nullptr;
  const auto status = PMIx_Get(&proc, key, &info, 1, &value);
  return Value(status == PMIX_SUCCESS ? value : nullptr);
}

/// The value that this node has; after a fence that is every value that was put before the fence.
Value get_here(const pmix_proc_t& proc, const char* key) {
  return get(proc, key, PMIX_OPTIONAL);
}
/// What a process of another job has committed by now, on any node.
Value get_there(const pmix_proc_t& proc, const char* key) {
  return get(proc, key, PMIX_IMMEDIATE);
}

std::optional<std::string> text_from(const Value& value) {
  if (!value || value->type != PMIX_STRING || value->data.string == nullptr) return std::nullopt;
  return std::string(value->data.string);
}

std::optional<std::uint32_t> number_of(const pmix_proc_t& proc, const char* key) {
  pmix_value_t* got = nullptr;
  if (PMIx_Get(&proc, key, nullptr, 0, &got) != PMIX_SUCCESS) return std::nullopt;
  const Value value(got);
  if (value->type != PMIX_UINT32) return std::nullopt;
  return value->data.uint32;
}

pmix_status_t put_text(pmix_scope_t scope, const std::string& key, std::string_view text) {
  std::string copy(text);
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_STRING;
  value.data.string = copy.data();
  return PMIx_Put(scope, key.c_str(), &value);
}

// Keys of users may look like the Standard's; in PMIx all have their own beginning.
std::string key_of_job(std::string_view key) {
  return "pmi.job." + std::string(key);
}
std::string key_of_node(std::string_view key) {
  return "pmi.node." + std::string(key);
}

std::string key_of_service(std::string_view service) {
  return "pmi.name." + std::string(service);
}

/// Keys of one rank's value usually end with its number.
std::optional<std::uint32_t> number_at_end(std::string_view key) {
  const auto last = key.find_last_not_of("0123456789");
  const auto digits = last == std::string_view::npos ? key : key.substr(last + 1);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

}  // namespace

pmix_status_t Job::open() {
  if (is_open_) return PMIX_SUCCESS;
  const auto status = PMIx_Init(&self_, nullptr, 0);
  is_alone_ = status == PMIX_ERR_UNREACH;
  if (status != PMIX_SUCCESS && !is_alone_) return status;
  is_open_ = true;
  preput_ = own_preput().value_or(std::vector<KeyValue>());
  size_ = is_alone_ ? 1 : number_of(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE).value_or(0);
  if (size_ != 0 && self_.rank < size_) return PMIX_SUCCESS;
  (void)close();
  return PMIX_ERR_NOT_FOUND;
}

pmix_status_t Job::close() {
  if (!is_open_) return PMIX_ERR_INIT;
  is_open_ = false;
  const auto status = PMIx_Finalize(nullptr, 0);
  return is_alone_ ? PMIX_SUCCESS : status;
}

std::optional<std::uint32_t> Job::number_of(std::uint32_t rank, const char* key) const {
  return pmi::number_of(process_of(self_.nspace, rank), key);
}

std::uint32_t Job::universe_size() const {
  return is_alone_ ? 1 : number_of(PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE).value_or(size_);
}

std::uint32_t Job::app_number() const {
  return is_alone_ ? 0 : number_of(self_.rank, PMIX_APPNUM).value_or(0);
}

std::vector<std::uint32_t> Job::local_ranks() const {
  std::vector<std::uint32_t> ranks;
  const auto own = is_alone_ ? std::nullopt : number_of(self_.rank, PMIX_NODEID);
  for (std::uint32_t rank = 0; own && rank < size_; ++rank)
    if (number_of(rank, PMIX_NODEID) == own) ranks.push_back(rank);
  return ranks.empty() ? std::vector<std::uint32_t>{self_.rank} : ranks;
}

std::optional<std::string> Job::process_mapping() const {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t rank = 0; rank < size_; ++rank) {
    const auto node = is_alone_ ? std::optional<std::uint32_t>(0) : number_of(rank, PMIX_NODEID);
    if (!node) return std::nullopt;
    nodes.push_back(*node);
  }
  auto text = pmi::process_mapping(nodes);
  return text.size() < value_room ? std::optional(std::move(text)) : std::nullopt;
}

std::optional<std::string> Job::parent() const {
  pmix_proc_t proc = self_;
  proc.rank = PMIX_RANK_WILDCARD;
  pmix_value_t* got = nullptr;
  if (is_alone_ || PMIx_Get(&proc, PMIX_PARENT_ID, nullptr, 0, &got) != PMIX_SUCCESS) return std::nullopt;
  const Value value(got);
  if (value->type != PMIX_PROC || value->data.proc == nullptr) return std::nullopt;
  return std::string(value->data.proc->nspace, ::strnlen(value->data.proc->nspace, PMIX_MAX_NSLEN));
}

Spawned Job::spawn(const SpawnOrder& order) const {
  return is_alone_ ? Spawned{PMIX_ERR_UNREACH, {}} : pmi::spawn(order);
}

std::optional<std::string> Job::get_preput(std::string_view key) const {
  const auto at =
      std::find_if(preput_.begin(), preput_.end(), [key](const KeyValue& pair) { return pair.key == key; });
  return at == preput_.end() ? std::nullopt : std::optional(at->value);
}

pmix_status_t Job::put(std::string_view key, std::string_view value) {
  return put_text(PMIX_GLOBAL, key_of_job(key), value);
}

pmix_status_t Job::fence() {
  const auto committed = PMIx_Commit();
  if (is_alone_) return PMIX_SUCCESS;
  if (committed != PMIX_SUCCESS) return committed;
  pmix_info_t collect;
  PMIX_INFO_CONSTRUCT(&collect);
  std::strncpy(collect.key, PMIX_COLLECT_DATA, PMIX_MAX_KEYLEN);
  collect.value.type = PMIX_BOOL;
  collect.value.data.flag = true;
  return PMIx_Fence(nullptr, 0, &collect, 1);
}

std::optional<std::string> Job::text_of(std::uint32_t rank, const std::string& key) const {
  return text_from(get_here(process_of(self_.nspace, rank), key.c_str()));
}

std::optional<std::string> Job::get(std::string_view key, std::optional<std::uint32_t> hint) const {
  if (auto text = get_preput(key)) return text;
  const auto name = key_of_job(key);
  const auto likely = hint ? hint : number_at_end(key);
  if (likely && *likely < size_)
    if (auto text = text_of(*likely, name)) return text;
  return text_of(PMIX_RANK_UNDEF, name);
}

pmix_status_t Job::connect(const std::string& job) {
  if (is_alone_) return PMIX_ERR_UNREACH;
  if (job.empty() || job.size() > PMIX_MAX_NSLEN) return PMIX_ERR_NOT_FOUND;
  const auto size = pmi::number_of(process_of(job, PMIX_RANK_WILDCARD), PMIX_JOB_SIZE);
  if (!size) return PMIX_ERR_NOT_FOUND;
  connected_.insert_or_assign(job, *size);
  return PMIX_SUCCESS;
}

pmix_status_t Job::disconnect(std::string_view job) {
  const auto at = connected_.find(job);
  if (at == connected_.end()) return PMIX_ERR_NOT_FOUND;
  connected_.erase(at);
  return PMIX_SUCCESS;
}

std::optional<std::string> Job::get_of(std::string_view job, std::string_view key,
                                       std::optional<std::uint32_t> rank) const {
  const auto at = connected_.find(job);
  if (at == connected_.end()) return std::nullopt;
  const auto name = key_of_job(key);
  if (rank) return text_from(get_there(process_of(job, *rank), name.c_str()));
  for (std::uint32_t each = 0; each < at->second; ++each)
    if (auto text = text_from(get_there(process_of(job, each), name.c_str()))) return text;
  return std::nullopt;
}

pmix_status_t Job::put_on_node(std::string_view key, std::string_view value) {
  const auto status = put_text(PMIX_LOCAL, key_of_node(key), value);
  const auto committed = status == PMIX_SUCCESS ? PMIx_Commit() : status;
  return is_alone_ ? status : committed;
}

std::optional<std::string> Job::get_on_node(std::string_view key) const {
  return text_of(PMIX_RANK_UNDEF, key_of_node(key));
}

pmix_status_t Job::publish(std::string_view service, std::string_view port) {
  if (is_alone_) return PMIX_ERR_UNREACH;
  std::string text(port);
  pmix_info_t name;
  PMIX_INFO_CONSTRUCT(&name);
  std::strncpy(name.key, key_of_service(service).c_str(), PMIX_MAX_KEYLEN);
  name.value.type = PMIX_STRING;
  name.value.data.string = text.data();
  return PMIx_Publish(&name, 1);
}

pmix_status_t Job::unpublish(std::string_view service) {
  if (is_alone_) return PMIX_ERR_UNREACH;
  auto key = key_of_service(service);
  char* keys[] = {key.data(), nullptr};
  return PMIx_Unpublish(keys, nullptr, 0);
}

std::optional<std::string> Job::look_up(std::string_view service) const {
  if (is_alone_) return std::nullopt;
  pmix_pdata_t name;
  PMIX_PDATA_CONSTRUCT(&name);
  std::strncpy(name.key, key_of_service(service).c_str(), PMIX_MAX_KEYLEN);
  const auto status = PMIx_Lookup(&name, 1, nullptr, 0);
  const bool is_text =
      status == PMIX_SUCCESS && name.value.type == PMIX_STRING && name.value.data.string != nullptr;
  auto out = is_text ? std::optional<std::string>(name.value.data.string) : std::nullopt;
  PMIX_PDATA_DESTRUCT(&name);
  return out;
}

pmix_status_t Job::abort(int status, const char* message) {
  return PMIx_Abort(status, message, nullptr, 0);
}

}  // namespace weft::pmi
