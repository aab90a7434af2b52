// SPDX-License-Identifier: BSD-3-Clause
// Info arrays and values of the C API as objects, and the checks of a process that is not the test itself.
#pragma once

#include <pmix.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::test {

/// For PMIX_TIMEOUT: their milliseconds or nanoseconds do not fit where a careless reader puts them.
inline constexpr std::uint64_t long_timeouts[] = {INT32_MAX, UINT32_MAX, 9'300'000'000, INT64_MAX,
                                                  UINT64_MAX};

/// An info array under construction. Chain the calls; it lives as long as the object.
class Infos {
 public:
  Infos() = default;
  Infos(const Infos&) = delete;
  Infos& operator=(const Infos&) = delete;
  Infos(Infos&&) = default;
  ~Infos();

  Infos& flag(const char* key, bool value = true);
  Infos& number(const char* key, std::uint32_t value);
  Infos& small(const char* key, std::uint16_t value);
  Infos& integer(const char* key, int value);
  Infos& unsigned64(const char* key, std::uint64_t value);
  Infos& rank(const char* key, pmix_rank_t value);
  Infos& pid(const char* key, pid_t value);
  Infos& text(const char* key, std::string_view value);
  Infos& scope(pmix_scope_t value);
  Infos& proc(const char* key, const pmix_proc_t& value);
  Infos& variable(const char* name, const char* value);
  Infos& bytes(const char* key, const std::string& value);
  /// An array of infos as a value, which is emptied by this.
  Infos& array(const char* key, Infos&& content);
  Infos& procs(const char* key, const std::vector<pmix_proc_t>& content);
  Infos& copy(const pmix_info_t& info);

  pmix_info_t* data() { return infos_.empty() ? nullptr : infos_.data(); }
  const pmix_info_t* data() const { return infos_.empty() ? nullptr : infos_.data(); }
  std::size_t size() const { return infos_.size(); }
  const pmix_info_t* find(std::string_view key) const;

 private:
  Infos& add(const char* key, const void* data, pmix_data_type_t type);
  std::vector<pmix_info_t> infos_;
};

pmix_proc_t proc_of(std::string_view nspace, pmix_rank_t rank);

/// The result of a Get.
class Got {
 public:
  Got(pmix_status_t status_now, pmix_value_t* value) : status(status_now), value_(value) {}
  Got(Got&& other) noexcept : status(other.status), value_(std::exchange(other.value_, nullptr)) {}
  ~Got();
  const pmix_status_t status;
  const pmix_value_t& value() const { return *value_; }
  bool there() const { return status == PMIX_SUCCESS && value_ != nullptr; }
  /// The number in a value of exactly this type; a failed check of this process otherwise.
  std::uint64_t u64(std::source_location where = std::source_location::current()) const;
  std::uint32_t u32(std::source_location where = std::source_location::current()) const;
  std::uint16_t u16(std::source_location where = std::source_location::current()) const;
  pmix_rank_t rank(std::source_location where = std::source_location::current()) const;
  std::string text(std::source_location where = std::source_location::current()) const;
  std::string bytes(std::source_location where = std::source_location::current()) const;

 private:
  void need(pmix_data_type_t type, std::source_location where) const;
  pmix_value_t* value_;
};

Got get(const pmix_proc_t& proc, const char* key, const Infos& infos);
Got get(const pmix_proc_t& proc, const char* key);

pmix_status_t put(const char* key, std::uint64_t value, pmix_scope_t scope = PMIX_GLOBAL);
pmix_status_t put(const char* key, std::string_view value, pmix_scope_t scope = PMIX_GLOBAL);
pmix_status_t put_bytes(const char* key, const std::string& value, pmix_scope_t scope = PMIX_GLOBAL);

/// Checks of a process that is not the test: they say what was wrong on stderr and end it.
void check(bool good, std::string_view what, std::source_location where = std::source_location::current());
void check_status(pmix_status_t got, pmix_status_t wanted,
                  std::source_location where = std::source_location::current());
void check_equal(std::uint64_t got, std::uint64_t wanted,
                 std::source_location where = std::source_location::current());
/// Texts and bytes; of long ones the first that differs is shown.
void check_equal(std::string_view got, std::string_view wanted,
                 std::source_location where = std::source_location::current());

/// A client of a job, from PMIx_Init to its end; `size` is the job's.
struct Client {
  Client(std::source_location where = std::source_location::current());
  void finalize(std::source_location where = std::source_location::current());
  pmix_proc_t me{};
  pmix_proc_t job{};  ///< the same namespace, PMIX_RANK_WILDCARD
  std::uint32_t size = 0;
  pmix_proc_t peer(pmix_rank_t rank) const;
};

/// Directives that many programs give: PMIX_COLLECT_DATA, PMIX_OPTIONAL.
const Infos& collect();
const Infos& optional();
pmix_status_t fence(const std::vector<pmix_proc_t>& procs, const Infos& infos);
pmix_status_t fence(const std::vector<pmix_proc_t>& procs = {});

/// A callback to wait for, from any thread. The object must outlive its call.
class Waiter {
 public:
  static void on_status(pmix_status_t status, void* self);
  static void on_value(pmix_status_t status, pmix_value_t* value, void* self);
  static void on_registered(pmix_status_t status, std::size_t id, void* self);
  static void on_card(pmix_status_t status, char* data, std::size_t size, void* self);
  static constexpr pmix_status_t never_came = PMIX_ERR_TIMEOUT - 1000;  ///< no status of PMIx
  /// Under the deadline; else `never_came`.
  pmix_status_t wait();
  bool over() const;
  std::uint64_t number = 0;  ///< the value, if it was a PMIX_UINT64; the handler's reference
  std::string bytes;         ///< the card

 private:
  void end(pmix_status_t status);
  std::atomic<std::uint32_t> over_{0};
  pmix_status_t status_ = PMIX_SUCCESS;
};

/// Callbacks of fences that one process has open: they end in the order in which it opened them. The cell of
/// each: this, and its number.
struct EndOrder {
  std::atomic<unsigned> ended{0};
  static void on_end(pmix_status_t status, void* cell);
};

}  // namespace weft::test
