// SPDX-License-Identifier: BSD-3-Clause
#include "tests/multiproc/harness/values.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/multiproc/harness/harness.hpp"

namespace weft::test {

Infos::~Infos() {
  for (auto& info : infos_) PMIX_INFO_DESTRUCT(&info);
}

Infos& Infos::add(const char* key, const void* data, pmix_data_type_t type) {
  pmix_info_t info;
  PMIX_INFO_CONSTRUCT(&info);
  PMIX_INFO_LOAD(&info, key, data, type);
  infos_.push_back(info);
  return *this;
}

Infos& Infos::flag(const char* key, bool value) {
  return add(key, &value, PMIX_BOOL);
}
Infos& Infos::number(const char* key, std::uint32_t value) {
  return add(key, &value, PMIX_UINT32);
}
Infos& Infos::small(const char* key, std::uint16_t value) {
  return add(key, &value, PMIX_UINT16);
}
Infos& Infos::integer(const char* key, int value) {
  return add(key, &value, PMIX_INT);
}
Infos& Infos::unsigned64(const char* key, std::uint64_t value) {
  return add(key, &value, PMIX_UINT64);
}
Infos& Infos::rank(const char* key, pmix_rank_t value) {
  return add(key, &value, PMIX_PROC_RANK);
}
Infos& Infos::pid(const char* key, pid_t value) {
  return add(key, &value, PMIX_PID);
}
Infos& Infos::text(const char* key, std::string_view value) {
  return add(key, std::string(value).c_str(), PMIX_STRING);
}
Infos& Infos::scope(pmix_scope_t value) {
  return add(PMIX_DATA_SCOPE, &value, PMIX_SCOPE);
}
Infos& Infos::proc(const char* key, const pmix_proc_t& value) {
  return add(key, &value, PMIX_PROC);
}

Infos& Infos::variable(const char* name, const char* value) {
  pmix_envar_t envar{const_cast<char*>(name), const_cast<char*>(value), ':'};
  return add(PMIX_SET_ENVAR, &envar, PMIX_ENVAR);
}
Infos& Infos::bytes(const char* key, const std::string& value) {
  const pmix_byte_object_t object{const_cast<char*>(value.data()), value.size()};
  return add(key, &object, PMIX_BYTE_OBJECT);
}

Infos& Infos::array(const char* key, Infos&& content) {
  pmix_data_array_t array{PMIX_INFO, content.size(), content.data()};
  return add(key, &array, PMIX_DATA_ARRAY);  // copies
}

Infos& Infos::procs(const char* key, const std::vector<pmix_proc_t>& content) {
  pmix_data_array_t array{PMIX_PROC, content.size(), const_cast<pmix_proc_t*>(content.data())};
  return add(key, &array, PMIX_DATA_ARRAY);  // copies
}

Infos& Infos::copy(const pmix_info_t& info) {
  pmix_info_t out;
  PMIX_INFO_CONSTRUCT(&out);
  PMIX_INFO_XFER(&out, &info);
  infos_.push_back(out);
  return *this;
}

const pmix_info_t* Infos::find(std::string_view key) const {
  for (const auto& info : infos_)
    if (key == info.key) return &info;
  return nullptr;
}

pmix_proc_t proc_of(std::string_view nspace, pmix_rank_t rank) {
  pmix_proc_t proc;
  PMIX_PROC_CONSTRUCT(&proc);
  PMIX_LOAD_PROCID(&proc, std::string(nspace).c_str(), rank);
  return proc;
}

// ---- checks

void check(bool good, std::string_view what, std::source_location where) {
  if (good) return;
  const char* rank = std::getenv("PMIX_RANK");
  std::fprintf(stderr, "%s:%u: rank %s: %s\n", where.file_name(), where.line(), rank == nullptr ? "?" : rank,
               std::string(what).c_str());
  ::_exit(1);
}

void check_status(pmix_status_t got, pmix_status_t wanted, std::source_location where) {
  check(got == wanted, std::string("got ") + PMIx_Error_string(got) + ", wanted " + PMIx_Error_string(wanted),
        where);
}

void check_equal(std::uint64_t got, std::uint64_t wanted, std::source_location where) {
  check(got == wanted, "got " + std::to_string(got) + ", wanted " + std::to_string(wanted), where);
}

void check_equal(std::string_view got, std::string_view wanted, std::source_location where) {
  constexpr std::size_t most = 60;
  std::string what;
  if (got.size() <= most && wanted.size() <= most) {
    what = "got \"" + std::string(got) + "\", wanted \"" + std::string(wanted) + "\"";
  } else {
    const auto [a, b] = std::mismatch(got.begin(), got.end(), wanted.begin(), wanted.end());
    what = "got " + std::to_string(got.size()) + " bytes, wanted " + std::to_string(wanted.size()) +
           ", which differ from byte " + std::to_string(a - got.begin());
  }
  check(got == wanted, what, where);
}

// ---- values

Got::~Got() {
  if (value_ != nullptr) PMIX_VALUE_RELEASE(value_);
}

void Got::need(pmix_data_type_t type, std::source_location where) const {
  check_status(status, PMIX_SUCCESS, where);
  check(value_ != nullptr, "success without a value", where);
  check(value_->type == type,
        "the value has type " + std::to_string(value_->type) + ", not " + std::to_string(type), where);
}

std::uint64_t Got::u64(std::source_location where) const {
  need(PMIX_UINT64, where);
  return value_->data.uint64;
}
std::uint32_t Got::u32(std::source_location where) const {
  need(PMIX_UINT32, where);
  return value_->data.uint32;
}
std::uint16_t Got::u16(std::source_location where) const {
  need(PMIX_UINT16, where);
  return value_->data.uint16;
}
pmix_rank_t Got::rank(std::source_location where) const {
  need(PMIX_PROC_RANK, where);
  return value_->data.rank;
}
std::string Got::text(std::source_location where) const {
  need(PMIX_STRING, where);
  return value_->data.string == nullptr ? "(null)" : value_->data.string;
}
std::string Got::bytes(std::source_location where) const {
  need(PMIX_BYTE_OBJECT, where);
  return std::string(value_->data.bo.bytes, value_->data.bo.size);
}

Got get(const pmix_proc_t& proc, const char* key, const Infos& infos) {
  pmix_value_t* value = nullptr;
  const auto status = PMIx_Get(&proc, key, infos.data(), infos.size(), &value);
  return {status, status == PMIX_SUCCESS ? value : nullptr};
}
Got get(const pmix_proc_t& proc, const char* key) {
  return get(proc, key, Infos());
}

namespace {

pmix_status_t put_loaded(const char* key, const void* data, pmix_data_type_t type, pmix_scope_t scope) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  PMIX_VALUE_LOAD(&value, data, type);
  const auto status = PMIx_Put(scope, key, &value);
  PMIX_VALUE_DESTRUCT(&value);
  return status;
}

}  // namespace

pmix_status_t put(const char* key, std::uint64_t value, pmix_scope_t scope) {
  return put_loaded(key, &value, PMIX_UINT64, scope);
}
pmix_status_t put(const char* key, std::string_view value, pmix_scope_t scope) {
  return put_loaded(key, std::string(value).c_str(), PMIX_STRING, scope);
}
pmix_status_t put_bytes(const char* key, const std::string& value, pmix_scope_t scope) {
  pmix_byte_object_t object{const_cast<char*>(value.data()), value.size()};
  return put_loaded(key, &object, PMIX_BYTE_OBJECT, scope);
}

// ---- a client

Client::Client(std::source_location where) {
  check_status(PMIx_Init(&me, nullptr, 0), PMIX_SUCCESS, where);
  job = peer(PMIX_RANK_WILDCARD);
  size = get(job, PMIX_JOB_SIZE).u32(where);
}

void Client::finalize(std::source_location where) {
  check_status(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS, where);
}

pmix_proc_t Client::peer(pmix_rank_t rank) const {
  pmix_proc_t out = me;
  out.rank = rank;
  return out;
}

pmix_status_t fence(const std::vector<pmix_proc_t>& procs, const Infos& infos) {
  return PMIx_Fence(procs.empty() ? nullptr : procs.data(), procs.size(), infos.data(), infos.size());
}
pmix_status_t fence(const std::vector<pmix_proc_t>& procs) {
  return fence(procs, Infos());
}

// ---- callbacks

void Waiter::end(pmix_status_t status) {
  status_ = status;
  over_.store(1, std::memory_order_release);
}

void Waiter::on_status(pmix_status_t status, void* self) {
  static_cast<Waiter*>(self)->end(status);
}

void Waiter::on_value(pmix_status_t status, pmix_value_t* value, void* self) {
  auto& waiter = *static_cast<Waiter*>(self);
  if (status == PMIX_SUCCESS && value != nullptr && value->type == PMIX_UINT64)
    waiter.number = value->data.uint64;
  waiter.end(status);
}

void Waiter::on_registered(pmix_status_t status, std::size_t id, void* self) {
  static_cast<Waiter*>(self)->number = id;
  static_cast<Waiter*>(self)->end(status);
}

void Waiter::on_card(pmix_status_t status, char* data, std::size_t size, void* self) {
  auto& waiter = *static_cast<Waiter*>(self);
  if (data != nullptr) waiter.bytes.assign(data, size);
  waiter.end(status);
}

bool Waiter::over() const {
  return over_.load(std::memory_order_acquire) != 0;
}

pmix_status_t Waiter::wait() {
  return eventually([this] { return over(); }) ? status_ : never_came;
}

const Infos& collect() {
  static const Infos infos = std::move(Infos().flag(PMIX_COLLECT_DATA));
  return infos;
}

const Infos& optional() {
  static const Infos infos = std::move(Infos().flag(PMIX_OPTIONAL));
  return infos;
}

void EndOrder::on_end(pmix_status_t status, void* cell) {
  auto& one = *static_cast<std::pair<EndOrder*, unsigned>*>(cell);
  check_status(status, PMIX_SUCCESS);
  check_equal(one.first->ended.fetch_add(1), one.second);
}

}  // namespace weft::test
