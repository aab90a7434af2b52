// SPDX-License-Identifier: BSD-3-Clause
// Handlers for tests: each records its calls, and completes as configured. PMIx handlers carry no closure,
// so the instance is found by the pointer in PMIX_EVENT_RETURN_OBJECT.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "core/events/registry.hpp"

namespace weft::events::test {

inline pmix_proc_t proc(const char* nspace, pmix_rank_t rank) {
  pmix_proc_t out{};
  std::snprintf(out.nspace, sizeof out.nspace, "%s", nspace);
  out.rank = rank;
  return out;
}

inline data::Value procs_value(const std::vector<pmix_proc_t>& procs) {
  pmix_data_array_t array{};
  array.type = PMIX_PROC;
  array.size = procs.size();
  array.array = const_cast<pmix_proc_t*>(procs.data());
  pmix_value_t raw{};
  raw.type = PMIX_DATA_ARRAY;
  raw.data.darray = &array;
  return data::Value::copy_of(raw).value();
}

inline data::Value pointer_value(void* pointer) {
  data::Value value;
  value.get().type = PMIX_POINTER;
  value.get().data.ptr = pointer;
  return value;
}

inline Event event_of(pmix_status_t code, const char* nspace = "job", pmix_rank_t rank = 0) {
  Event event;
  event.code = code;
  event.source = proc(nspace, rank);
  event.range = PMIX_RANGE_SESSION;
  return event;
}

// One call of one handler; `answer` stands for what the handler would do with its completion function.
struct Call {
  std::size_t id;
  pmix_status_t code;
  pmix_proc_t source;
  pmix_info_t* infos;
  std::size_t ninfos;
  pmix_info_t* results;
  std::size_t nresults;
  pmix_event_notification_cbfunc_fn_t completion;
  void* cookie;
  void answer(pmix_status_t status = PMIX_SUCCESS) const {
    completion(status, nullptr, 0, nullptr, nullptr, cookie);
  }
};

class Recorder {
 public:
  using Behaviour = std::function<void(const Call&)>;
  explicit Recorder(
      std::string name, Behaviour behaviour = [](const Call& c) { c.answer(); })
      : name_(std::move(name)), behaviour_(std::move(behaviour)) {}

  /// Directives: those given, this handler's name, and itself as return object.
  Result<std::size_t> add(Registry& registry, std::vector<pmix_status_t> codes, data::Infos infos = {}) {
    infos.add(PMIX_EVENT_HDLR_NAME, data::Value::of(std::string_view(name_)));
    infos.add(PMIX_EVENT_RETURN_OBJECT, pointer_value(this));
    return registry.add(codes, {infos.data(), infos.size()}, &Recorder::on_event);
  }
  std::size_t add_active(Registry& registry, std::vector<pmix_status_t> codes, data::Infos infos = {}) {
    const auto id = add(registry, std::move(codes), std::move(infos));
    EXPECT_TRUE(id);
    if (!id) return static_cast<std::size_t>(-1);
    if (registry.activate(*id)) registry.catch_up(*id);
    return *id;
  }

  static void on_event(std::size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t* infos,
                       std::size_t ninfos, pmix_info_t* results, std::size_t nresults,
                       pmix_event_notification_cbfunc_fn_t completion, void* cookie) {
    ASSERT_GE(ninfos, 1U);
    ASSERT_STREQ(infos[ninfos - 1].key, PMIX_EVENT_RETURN_OBJECT);
    auto* const self = static_cast<Recorder*>(infos[ninfos - 1].value.data.ptr);
    {
      const std::lock_guard lock(log_mutex);
      log.push_back(self->name_);
    }
    self->behaviour_(Call{id, code, *source, infos, ninfos, results, nresults, completion, cookie});
  }

  static std::vector<std::string> take_log() {
    const std::lock_guard lock(log_mutex);
    return std::exchange(log, {});
  }

 private:
  inline static std::mutex log_mutex;
  inline static std::vector<std::string> log;
  const std::string name_;
  const Behaviour behaviour_;
};

inline data::Infos flag(std::string_view key) {
  data::Infos infos;
  infos.add(key, data::Value::of(true));
  return infos;
}
inline data::Infos text(std::string_view key, std::string_view value) {
  data::Infos infos;
  infos.add(key, data::Value::of(value));
  return infos;
}

using Log = std::vector<std::string>;

}  // namespace weft::events::test
