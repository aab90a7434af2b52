// SPDX-License-Identifier: BSD-3-Clause
// Events between the processes of a node, clean-up registration, and the log.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

constexpr pmix_status_t code_of_ours = PMIX_EXTERNAL_ERR_BASE - 5;

/// The events that a handler saw.
struct Seen {
  std::atomic<int> count{0};
  std::atomic<pmix_status_t> code{0};
  std::atomic<pmix_rank_t> source{PMIX_RANK_UNDEF};
  std::atomic<pmix_rank_t> affected{PMIX_RANK_UNDEF};
  std::atomic<pmix_status_t> first_code{0}, status{0};  ///< status: PMIX_PROC_TERM_STATUS
  std::atomic<int> stamped{0};                          ///< had a PMIX_EVENT_TIMESTAMP
  std::atomic<std::uint64_t> threads{0};                ///< PMIX_MODEL_NUM_THREADS
  std::atomic<bool> declines{false};                    ///< how it ends: by default it completes the event
  bool wait(int wanted) const {
    return eventually([&] { return count.load() >= wanted; });
  }
};

/// Finds its Seen through PMIX_EVENT_RETURN_OBJECT.
void on_event(size_t, pmix_status_t status, const pmix_proc_t* source, pmix_info_t* infos, size_t ninfo,
              pmix_info_t*, size_t, pmix_event_notification_cbfunc_fn_t done, void* open) {
  bool is_declined = false;
  for (size_t i = 0; i < ninfo; ++i) {
    if (!PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_RETURN_OBJECT)) continue;
    auto& seen = *static_cast<Seen*>(infos[i].value.data.ptr);
    seen.code = status;
    if (seen.count.load() == 0) seen.first_code = status;
    for (size_t j = 0; j < ninfo; ++j)
      if (PMIX_CHECK_KEY(&infos[j], PMIX_EVENT_TIMESTAMP)) seen.stamped.fetch_add(1);
    seen.source = source == nullptr ? PMIX_RANK_UNDEF : source->rank;
    for (size_t j = 0; j < ninfo; ++j)
      if (PMIX_CHECK_KEY(&infos[j], PMIX_EVENT_AFFECTED_PROC))
        seen.affected = infos[j].value.data.proc->rank;
      else if (PMIX_CHECK_KEY(&infos[j], PMIX_MODEL_NUM_THREADS))
        seen.threads = infos[j].value.data.uint64;
      else if (PMIX_CHECK_KEY(&infos[j], PMIX_PROC_TERM_STATUS))
        seen.status = infos[j].value.data.status;
    is_declined = seen.declines;
    seen.count.fetch_add(1);
  }
  const auto ended = is_declined ? PMIX_EVENT_NO_ACTION_TAKEN : PMIX_EVENT_ACTION_COMPLETE;
  if (done != nullptr) done(ended, nullptr, 0, nullptr, nullptr, open);
}

std::size_t listen_for(const std::vector<pmix_status_t>& codes, Seen& seen, bool with_callback) {
  pmix_info_t info;
  PMIX_INFO_CONSTRUCT(&info);
  void* pointer = &seen;
  PMIX_INFO_LOAD(&info, PMIX_EVENT_RETURN_OBJECT, pointer, PMIX_POINTER);
  auto copy = codes;
  auto* first = copy.empty() ? nullptr : copy.data();
  std::size_t id = 0;
  if (with_callback) {
    Waiter waiter;
    check_status(
        PMIx_Register_event_handler(first, copy.size(), &info, 1, on_event, Waiter::on_registered, &waiter),
        PMIX_SUCCESS);
    check_status(waiter.wait(), PMIX_SUCCESS);
    id = waiter.number;
  } else {
    const auto returned =
        PMIx_Register_event_handler(first, copy.size(), &info, 1, on_event, nullptr, nullptr);
    check(returned >= 0, "no reference");
    id = static_cast<std::size_t>(returned);
  }
  PMIX_INFO_DESTRUCT(&info);
  return id;
}

void stop_listening(std::size_t id, bool with_callback) {
  if (!with_callback)
    return check_status(PMIx_Deregister_event_handler(id, nullptr, nullptr), PMIX_OPERATION_SUCCEEDED);
  Waiter waiter;
  check_status(PMIx_Deregister_event_handler(id, Waiter::on_status, &waiter), PMIX_SUCCESS);
  check_status(waiter.wait(), PMIX_SUCCESS);
}

// ---- clients

/// Every rank raises one event; every rank sees all, itself included, in each style and range.
int every_rank_tells(const Words&) {
  Client client;
  for (const bool with_callback : {true, false}) {
    for (const pmix_data_range_t range :
         {PMIX_RANGE_LOCAL, PMIX_RANGE_NAMESPACE, PMIX_RANGE_SESSION, PMIX_RANGE_GLOBAL}) {
      Seen seen, other;
      const auto id = listen_for({code_of_ours}, seen, with_callback);
      const auto deaf = listen_for({code_of_ours - 1}, other, with_callback);
      check_status(fence(), PMIX_SUCCESS);
      if (with_callback) {
        Waiter waiter;
        check_status(
            PMIx_Notify_event(code_of_ours, &client.me, range, nullptr, 0, Waiter::on_status, &waiter),
            PMIX_SUCCESS);
        check_status(waiter.wait(), PMIX_SUCCESS);
      } else {
        check_status(PMIx_Notify_event(code_of_ours, &client.me, range, nullptr, 0, nullptr, nullptr),
                     PMIX_OPERATION_SUCCEEDED);
      }
      check(seen.wait(static_cast<int>(client.size)), "an event did not come");
      check_status(fence(), PMIX_SUCCESS);
      check_equal(static_cast<std::uint64_t>(seen.count.load()), client.size);
      check_equal(static_cast<std::uint64_t>(other.count.load()), 0);
      stop_listening(id, with_callback);
      stop_listening(deaf, with_callback);
      // Removed: the next event does not come.
      const int before = seen.count.load();
      check_status(
          PMIx_Notify_event(code_of_ours, &client.me, PMIX_RANGE_PROC_LOCAL, nullptr, 0, nullptr, nullptr),
          PMIX_OPERATION_SUCCEEDED);
      check_equal(static_cast<std::uint64_t>(seen.count.load()), static_cast<std::uint64_t>(before));
      Seen drain;  // the cache kept it
      const auto again = listen_for({code_of_ours}, drain, false);
      check(drain.wait(1), "an event that no handler took was not kept");
      stop_listening(again, false);
      check_status(fence(), PMIX_SUCCESS);
    }
  }
  check_status(PMIx_Deregister_event_handler(4711, nullptr, nullptr) == PMIX_OPERATION_SUCCEEDED
                   ? PMIX_SUCCESS
                   : PMIX_ERROR,
               PMIX_ERROR);
  client.finalize();
  return 0;
}

/// PMIX_RANGE_PROC_LOCAL stays in the process.
int keeps_to_itself(const Words&) {
  Client client;
  Seen seen;
  const auto id = listen_for({code_of_ours}, seen, true);
  check_status(fence(), PMIX_SUCCESS);
  check_status(
      PMIx_Notify_event(code_of_ours, &client.me, PMIX_RANGE_PROC_LOCAL, nullptr, 0, nullptr, nullptr),
      PMIX_OPERATION_SUCCEEDED);
  check(seen.wait(1), "my own event");
  check_status(fence(), PMIX_SUCCESS);
  check_equal(seen.source.load(), client.me.rank);
  check_equal(static_cast<std::uint64_t>(seen.count.load()), 1);
  stop_listening(id, true);
  client.finalize();
  return 0;
}

/// Rank 0 raises before any rank has a handler; each handler that any rank registers later hears it once, and
/// in order.
int hears_what_has_come(const Words&) {
  Client client;
  if (client.me.rank == 0)
    for (const pmix_status_t code : {code_of_ours, code_of_ours - 1, code_of_ours})
      check_status(PMIx_Notify_event(code, &client.me, PMIX_RANGE_NAMESPACE, nullptr, 0, nullptr, nullptr),
                   PMIX_OPERATION_SUCCEEDED);
  Infos passing, wrong;
  passing.flag(PMIX_EVENT_DO_NOT_CACHE);
  if (client.me.rank == 0)
    check_status(PMIx_Notify_event(code_of_ours, &client.me, PMIX_RANGE_NAMESPACE, passing.data(),
                                   passing.size(), nullptr, nullptr),
                 PMIX_OPERATION_SUCCEEDED);
  check_status(fence(), PMIX_SUCCESS);
  Seen late, later, any;
  late.declines = later.declines = any.declines = true;
  listen_for({code_of_ours}, late, true);
  check(late.wait(2), "an event that came before the handler");
  listen_for({code_of_ours, code_of_ours - 1}, later, false);
  check(later.wait(3), "one that another handler has declined");
  listen_for({}, any, true);
  check(any.wait(3), "a default handler");
  check_status(fence(), PMIX_SUCCESS);
  // All that there was has been heard: what follows is the next.
  if (client.me.rank == 1)
    check_status(
        PMIx_Notify_event(code_of_ours, &client.me, PMIX_RANGE_NAMESPACE, nullptr, 0, nullptr, nullptr),
        PMIX_OPERATION_SUCCEEDED);
  check(late.wait(3) && later.wait(4) && any.wait(4), "an event after all");
  check_status(fence(), PMIX_SUCCESS);
  for (const auto& [seen, number] : {std::pair(&late, 3), {&later, 4}, {&any, 4}}) {
    check_equal(static_cast<std::uint64_t>(seen->count.load()), static_cast<std::uint64_t>(number));
    check(seen->stamped.load() == number, "PMIX_EVENT_TIMESTAMP");
  }
  check_equal(static_cast<std::uint64_t>(later.first_code.load() - code_of_ours), 0);
  client.finalize();
  return 0;
}

/// Ranges that are none, and the one that is for the host alone.
int raises_for_the_host(const Words&) {
  Client client;
  Seen seen;
  listen_for({code_of_ours}, seen, true);
  check_status(fence(), PMIX_SUCCESS);
  for (const int range : {8, 99, 255})
    check_status(PMIx_Notify_event(code_of_ours, &client.me, static_cast<pmix_data_range_t>(range), nullptr,
                                   0, nullptr, nullptr),
                 PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Notify_event(code_of_ours, &client.me, PMIX_RANGE_RM, nullptr, 0, nullptr, nullptr),
               PMIX_OPERATION_SUCCEEDED);
  // All hear an event that comes after it: had the first one been for them, it would be here as well.
  check_status(PMIx_Notify_event(code_of_ours, &client.me, PMIX_RANGE_LOCAL, nullptr, 0, nullptr, nullptr),
               PMIX_OPERATION_SUCCEEDED);
  check(seen.wait(static_cast<int>(client.size)), "the local event");
  check_status(fence(), PMIX_SUCCESS);
  check_equal(static_cast<std::uint64_t>(seen.count.load()), client.size);
  client.finalize();
  return 0;
}

/// A second PMIx_Init that names a programming model raises MODEL_DECLARED here and nowhere else.
pmix_status_t init_with(Infos infos) {
  return PMIx_Init(nullptr, infos.data(), infos.size());
}

int declares_model(const Words&) {
  Client client;
  Seen seen, any, later;
  const auto id = listen_for({PMIX_MODEL_DECLARED}, seen, true);
  const auto default_id = listen_for({}, any, true);
  check_status(fence(), PMIX_SUCCESS);
  check_status(init_with(std::move(Infos()
                                       .text(PMIX_PROGRAMMING_MODEL, "MPI")
                                       .text(PMIX_MODEL_LIBRARY_NAME, "a library")
                                       .text(PMIX_MODEL_LIBRARY_VERSION, "1"))),
               PMIX_SUCCESS);
  check(seen.wait(1), "MODEL_DECLARED did not come");
  // Any key of models declares, each model with values of its own.
  check_status(init_with(std::move(Infos().text(PMIX_THREADING_MODEL, "pthread"))), PMIX_SUCCESS);
  check_status(init_with(std::move(Infos().text(PMIX_PROGRAMMING_MODEL, "OpenMP"))), PMIX_SUCCESS);
  check(seen.wait(3), "MODEL_DECLARED of each model");
  // The handler completed them, and other events came in between: a handler that comes later hears each once.
  for (int i = 0; i < 600; ++i)
    PMIx_Notify_event(code_of_ours, &client.me, PMIX_RANGE_PROC_LOCAL, nullptr, 0, nullptr, nullptr);
  const auto later_id = listen_for({PMIX_MODEL_DECLARED}, later, true);
  check(later.wait(3), "declarations that were made before");
  for (int i = 0; i < 3; ++i) check_status(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  check_equal(static_cast<std::uint64_t>(seen.count.load()), 3);
  check_equal(static_cast<std::uint64_t>(later.count.load()), 3);
  check_equal(static_cast<std::uint64_t>(any.count.load()),
              600);  // of ours: a declaration is no error of the job
  for (const auto each : {id, default_id, later_id}) stop_listening(each, true);
  client.finalize();
  return 0;
}

struct TakesALock {
  std::mutex mutex;
  std::atomic<int> count{0};
  std::atomic<bool> by_registrar{false};
  std::thread::id registrar = std::this_thread::get_id();

  static void on_event(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t* infos, size_t ninfo,
                       pmix_info_t*, size_t, pmix_event_notification_cbfunc_fn_t done, void* open) {
    for (size_t i = 0; i < ninfo; ++i) {
      if (!PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_RETURN_OBJECT)) continue;
      auto& locked = *static_cast<TakesALock*>(infos[i].value.data.ptr);
      if (std::this_thread::get_id() == locked.registrar)
        locked.by_registrar = true;
      else
        (void)std::lock_guard(locked.mutex);  // its own thread would wait for itself
      locked.count.fetch_add(1);
    }
    if (done != nullptr) done(PMIX_EVENT_NO_ACTION_TAKEN, nullptr, 0, nullptr, nullptr, open);
  }
};

/// A registration that waits is made under a lock that the handler takes: events that have come before it
/// must not run in this thread.
int registers_under_a_lock(const Words&) {
  Client client;
  for (int i = 0; i < 3; ++i)
    check_status(
        PMIx_Notify_event(code_of_ours, &client.me, PMIX_RANGE_PROC_LOCAL, nullptr, 0, nullptr, nullptr),
        PMIX_OPERATION_SUCCEEDED);
  TakesALock locked;
  void* pointer = &locked;
  pmix_info_t info;
  PMIX_INFO_CONSTRUCT(&info);
  PMIX_INFO_LOAD(&info, PMIX_EVENT_RETURN_OBJECT, pointer, PMIX_POINTER);
  pmix_status_t code = code_of_ours, id = 0;
  {
    const std::lock_guard lock(locked.mutex);
    id = PMIx_Register_event_handler(&code, 1, &info, 1, TakesALock::on_event, nullptr, nullptr);
    check(id >= 0, PMIx_Error_string(id));
  }
  check(eventually([&] { return locked.count.load() >= 3; }), "what had come before");
  // Events that come now are not lost, cached or not.
  Infos fleeting;
  fleeting.flag(PMIX_EVENT_DO_NOT_CACHE);
  check_status(PMIx_Notify_event(code_of_ours, &client.me, PMIX_RANGE_PROC_LOCAL, fleeting.data(),
                                 fleeting.size(), nullptr, nullptr),
               PMIX_OPERATION_SUCCEEDED);
  check(eventually([&] { return locked.count.load() >= 4; }), "what came afterwards");
  check(!locked.by_registrar, "the registering thread ran the handler");
  stop_listening(static_cast<std::size_t>(id), false);
  check_equal(static_cast<std::uint64_t>(locked.count.load()), 4);
  client.finalize();
  return 0;
}

/// A handler that leaves its completion to another thread.
struct LeftOpen {
  std::atomic<bool> is_open{false};
  pmix_event_notification_cbfunc_fn_t done = nullptr;
  void* chain = nullptr;

  static void on_event(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t* infos, size_t ninfo,
                       pmix_info_t*, size_t, pmix_event_notification_cbfunc_fn_t done, void* open) {
    for (size_t i = 0; i < ninfo; ++i) {
      if (!PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_RETURN_OBJECT)) continue;
      auto& left = *static_cast<LeftOpen*>(infos[i].value.data.ptr);
      left.done = done;
      left.chain = open;
      left.is_open = true;
    }
  }
};

std::size_t listen_with(pmix_notification_fn_t handler, void* object) {
  pmix_info_t info;
  PMIX_INFO_CONSTRUCT(&info);
  PMIX_INFO_LOAD(&info, PMIX_EVENT_RETURN_OBJECT, object, PMIX_POINTER);
  pmix_status_t code = code_of_ours;
  const auto id = PMIx_Register_event_handler(&code, 1, &info, 1, handler, nullptr, nullptr);
  check(id >= 0, PMIx_Error_string(id));
  return static_cast<std::size_t>(id);
}

/// A handler is completed by this thread, under a lock that the next handler takes: that must not run in this
/// thread.
int completes_under_a_lock(const Words&) {
  Client client;
  TakesALock locked;
  LeftOpen left;
  const auto later = listen_with(TakesALock::on_event, &locked),
             earlier = listen_with(LeftOpen::on_event, &left);
  check_status(
      PMIx_Notify_event(code_of_ours, &client.me, PMIX_RANGE_PROC_LOCAL, nullptr, 0, nullptr, nullptr),
      PMIX_OPERATION_SUCCEEDED);
  check(eventually([&] { return left.is_open.load(); }), "the first handler");
  // The thread that answers this has returned from the handler.
  Seen none;
  stop_listening(listen_for({code_of_ours - 1}, none, false), false);
  check_equal(static_cast<std::uint64_t>(locked.count.load()), 0);
  {
    const std::lock_guard lock(locked.mutex);
    left.done(PMIX_EVENT_NO_ACTION_TAKEN, nullptr, 0, nullptr, nullptr, left.chain);
  }
  check(eventually([&] { return locked.count.load() == 1; }), "the next handler");
  check(!locked.by_registrar, "the completing thread ran the next handler");
  for (const auto id : {later, earlier}) stop_listening(id, false);
  client.finalize();
  return 0;
}

/// Directives of all calls of PMIx_Init; each call, from any thread, needs its own PMIx_Finalize.
int starts_often(const Words&) {
  check_status(init_with(std::move(Infos().text("x.a", "1"))), PMIX_SUCCESS);
  check_status(init_with(std::move(Infos().text("x.a", "1").text("x.b", "1"))), PMIX_SUCCESS);
  check_status(init_with(std::move(Infos().text("x.c", "1").text("x.b", "2"))), PMIX_ERR_BAD_PARAM);
  check_status(init_with(std::move(Infos().text("x.c", "2"))), PMIX_SUCCESS);
  std::atomic<int> declared{0}, refused{0};
  {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&, i] {
        for (int round = 0; round < 20; ++round) {
          if (init_with(std::move(Infos().text(PMIX_PROGRAMMING_MODEL, std::to_string(i)))) == PMIX_SUCCESS)
            ++declared;
          if (init_with(std::move(Infos().text("x.c", "3"))) == PMIX_ERR_BAD_PARAM) ++refused;
        }
      });
    for (auto& thread : threads) thread.join();
  }
  check_equal(static_cast<std::uint64_t>(declared.load()), 160);
  check_equal(static_cast<std::uint64_t>(refused.load()), 160);
  for (int i = 0; i < 162; ++i) check_status(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  check(PMIx_Initialized() != 0, "the last one has not come");
  check_status(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  check_status(PMIx_Finalize(nullptr, 0), PMIX_ERR_INIT);
  return 0;
}

/// A model tells what it does while it runs to the process, the node or the job.
int tells_of_its_phases(const Words&) {
  Client client;
  for (const pmix_data_range_t range : {PMIX_RANGE_PROC_LOCAL, PMIX_RANGE_LOCAL, PMIX_RANGE_NAMESPACE}) {
    for (const pmix_status_t code :
         {PMIX_MODEL_RESOURCES, PMIX_OPENMP_PARALLEL_ENTERED, PMIX_OPENMP_PARALLEL_EXITED}) {
      Seen seen;
      const auto id = listen_for({code}, seen, true);
      check_status(fence(), PMIX_SUCCESS);
      Infos infos;
      infos.unsigned64(PMIX_MODEL_NUM_THREADS, 4)
          .unsigned64(PMIX_MODEL_NUM_CPUS, 2)
          .text(PMIX_MODEL_CPU_TYPE, "HWTHREAD");
      infos.text(PMIX_MODEL_PHASE_NAME, "solve")
          .text(PMIX_MODEL_PHASE_TYPE, "parallel")
          .text(PMIX_MODEL_AFFINITY_POLICY, "CORE");
      infos.flag(PMIX_EVENT_NON_DEFAULT).flag(PMIX_EVENT_DO_NOT_CACHE);
      check_status(PMIx_Notify_event(code, &client.me, range, infos.data(), infos.size(), nullptr, nullptr),
                   PMIX_OPERATION_SUCCEEDED);
      const int wanted = range == PMIX_RANGE_PROC_LOCAL ? 1 : static_cast<int>(client.size);
      check(seen.wait(wanted), "what a model does");
      check_status(fence(), PMIX_SUCCESS);
      check_equal(static_cast<std::uint64_t>(seen.count.load()), static_cast<std::uint64_t>(wanted));
      check_equal(static_cast<std::uint64_t>(seen.threads.load()), 4);
      stop_listening(id, true);
    }
  }
  client.finalize();
  return 0;
}

/// Told of the death of a peer, by name and, unless the second word is "named", by its default handler.
int watches_peers(const Words& words) {
  Client client;
  Seen seen, any, how, unsynced;
  listen_for({PMIX_ERR_PROC_ABORTED}, seen, words[0] == "callback");
  const bool is_named_only = words.size() > 1 && words[1] == "named";
  seen.declines = true;
  listen_for({}, any, true);
  listen_for({PMIX_EVENT_PROC_TERMINATED}, how, true);
  listen_for({PMIX_ERR_PROC_TERM_WO_SYNC}, unsynced, true);
  check_status(fence(), PMIX_SUCCESS);
  say("ready");
  check(seen.wait(1), "no event said that a peer died");
  check_equal(seen.source.load(), client.size - 1);
  check_equal(seen.affected.load(), client.size - 1);
  if (!is_named_only) {
    check(any.wait(1), "a default handler");
    check(unsynced.wait(1) && how.wait(1), "how the peer ended");
    check_equal(static_cast<std::uint64_t>(how.status.load()),
                static_cast<std::uint64_t>(PMIX_ERR_PROC_TERM_WO_SYNC));
    check_equal(unsynced.affected.load(), client.size - 1);
    check_equal(any.affected.load(), client.size - 1);
  }
  check_equal(static_cast<std::uint64_t>(any.count.load()), is_named_only ? 0 : 1);
  say("told");
  check(PMIx_Finalize(nullptr, 0) == PMIX_SUCCESS, "Finalize");
  return 0;
}

int just_waits(const Words&) {
  Client client;
  check_status(fence(), PMIX_SUCCESS);
  say("ready");
  await("never");
  return 0;
}

/// Open handlers, unanswered events and callbacks at the moment of Finalize; the answer that comes after it
/// reaches no process and harms none.
int finalizes_in_the_middle(const Words&) {
  for (int round = 0; round < 30; ++round) {
    Client client;
    static std::mutex mutex;
    static std::vector<std::function<void()>> answers;
    const auto answers_late = [](size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t,
                                 pmix_info_t*, size_t, pmix_event_notification_cbfunc_fn_t answer,
                                 void* cbdata) {
      const std::lock_guard lock(mutex);
      answers.push_back([=] { answer(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata); });
    };
    pmix_status_t code = code_of_ours;
    check(PMIx_Register_event_handler(&code, 1, nullptr, 0, answers_late, nullptr, nullptr) >= 0,
          "registration");
    const auto ignore = [](pmix_status_t, void*) {};
    check_status(PMIx_Notify_event(code_of_ours, &client.me, PMIX_RANGE_LOCAL, nullptr, 0, ignore, nullptr),
                 PMIX_SUCCESS);
    check_status(PMIx_Fence_nb(nullptr, 0, nullptr, 0, ignore, nullptr), PMIX_SUCCESS);
    client.finalize();
    const std::lock_guard lock(mutex);
    for (const auto& answer : std::exchange(answers, {})) answer();
  }
  return 0;
}

/// A path that is not absolute; and beside a proper clean-up another operation, or another target.
int refuses_job_control(Client& client, Infos& relative) {
  const auto control = [](const pmix_proc_t* targets, std::size_t count, Infos& infos) {
    return PMIx_Job_control(targets, count, infos.data(), infos.size(), nullptr, nullptr);
  };
  check_status(control(&client.me, 1, relative), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Job_control_nb(&client.me, 1, relative.data(), relative.size(), nullptr, nullptr),
               PMIX_ERR_BAD_PARAM);
  Infos list, both, proper;
  list.text(PMIX_REGISTER_CLEANUP, "/tmp/never/there,relative");
  check_status(control(&client.me, 1, list), PMIX_ERR_BAD_PARAM);
  both.text(PMIX_REGISTER_CLEANUP, "/tmp/never/there").flag(PMIX_JOB_CTRL_PAUSE);
  check_status(control(&client.me, 1, both), PMIX_ERR_NOT_SUPPORTED);
  proper.text(PMIX_REGISTER_CLEANUP, "/tmp/never/there");
  const auto other = proc_of(client.me.nspace, client.me.rank + 1);
  check_status(control(&other, 1, proper), PMIX_ERR_NOT_FOUND);
  check_status(control(&client.me, 1, proper), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Registers what its words say for clean-up. "then" and how it ends.
int registers_cleanup(const Words& words) {
  Client client;
  Infos infos;
  std::string end;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    if (words[i] == "file") infos.text(PMIX_REGISTER_CLEANUP, words[i + 1]);
    if (words[i] == "dir") infos.text(PMIX_REGISTER_CLEANUP_DIR, words[i + 1]);
    if (words[i] == "ignore") infos.text(PMIX_CLEANUP_IGNORE, words[i + 1]);
    if (words[i] == "flag") infos.flag(words[i + 1].c_str());
    if (words[i] == "then") end = words[i + 1];
  }
  if (end == "refused") return refuses_job_control(client, infos);
  check_status(PMIx_Job_control_nb(&client.me, 1, infos.data(), infos.size(), nullptr, nullptr),
               PMIX_SUCCESS);
  if (end == "kill") ::kill(::getpid(), SIGKILL);  // at once: what was registered must not be lost
  if (end == "exit") return 0;
  Waiter waiter;
  const auto on_info = [](pmix_status_t status, pmix_info_t*, size_t, void* self, pmix_release_cbfunc_t,
                          void*) { Waiter::on_status(status, self); };
  check_status(PMIx_Job_control_nb(nullptr, 0, infos.data(), infos.size(), on_info, &waiter), PMIX_SUCCESS);
  check_status(waiter.wait(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Registers a file, and finalizes twice: each time it says so and waits for a word.
int runs_on_after_its_clean_up(const Words& words) {
  for (int round = 0; round < 2; ++round) {
    Client client;
    Infos infos;
    infos.text(PMIX_REGISTER_CLEANUP, words.at(0));
    check_status(PMIx_Job_control_nb(&client.me, 1, infos.data(), infos.size(), nullptr, nullptr),
                 PMIX_SUCCESS);
    client.finalize();
    say("finalized");
    await("go on");
  }
  return 0;
}

}  // namespace

void add_event_programs(Programs& programs) {
  programs.add("every_rank_tells", every_rank_tells);
  programs.add("keeps_to_itself", keeps_to_itself);
  programs.add("hears_what_has_come", hears_what_has_come);
  programs.add("raises_for_the_host", raises_for_the_host);
  programs.add("declares_model", declares_model);
  programs.add("starts_often", starts_often);
  programs.add("registers_under_a_lock", registers_under_a_lock);
  programs.add("completes_under_a_lock", completes_under_a_lock);
  programs.add("tells_of_its_phases", tells_of_its_phases);
  programs.add("watches_peers", watches_peers);
  programs.add("just_waits", just_waits);
  programs.add("finalizes_in_the_middle", finalizes_in_the_middle);
  programs.add("registers_cleanup", registers_cleanup);
  programs.add("runs_on_after_its_clean_up", runs_on_after_its_clean_up);
}

// ---- tests

class EventTest : public Multiproc, public ::testing::WithParamInterface<Segment> {};
INSTANTIATE_TEST_SUITE_P(Segment, EventTest, ::testing::ValuesIn(ways({Segment::mapped, Segment::mixed})),
                         [](const auto& way) { return name_of(way.param); });

TEST_P(EventTest, every_rank_hears_of_it) {
  all_run(GetParam(), 4, "every_rank_tells");
}
TEST_P(EventTest, process_local_range) {
  all_run(GetParam(), 3, "keeps_to_itself");
}
TEST_P(EventTest, later_handlers_hear_what_has_come) {
  all_run(GetParam(), 3, "hears_what_has_come");
}
TEST_P(EventTest, ranges_that_reach_no_client) {
  all_run(GetParam(), 3, "raises_for_the_host");
}
TEST_P(EventTest, model_declared) {
  all_run(GetParam(), 2, "declares_model");
}
TEST_P(EventTest, what_has_come_runs_in_the_librarys_thread) {
  all_run(GetParam(), 2, "registers_under_a_lock");
}
TEST_P(EventTest, what_follows_a_late_completion_runs_in_the_librarys_thread) {
  all_run(GetParam(), 2, "completes_under_a_lock");
}
TEST_P(EventTest, directives_of_every_init) {
  all_run(GetParam(), 2, "starts_often");
}
TEST_P(EventTest, model_phases) {
  all_run(GetParam(), 3, "tells_of_its_phases");
}
TEST_P(EventTest, finalize_in_the_middle) {
  all_run(GetParam(), 1, "finalizes_in_the_middle");
}

TEST_P(EventTest, a_peer_dies) {
  for (const char* style : {"callback", "waiting"}) {
    Host host;
    host.add_job("job", 3);
    std::vector<Child> watchers;
    for (pmix_rank_t r = 0; r < 2; ++r)
      watchers.push_back(host.start("job", r, "watches_peers", {style}, reach(GetParam(), r)));
    auto doomed = host.start("job", 2, "just_waits");
    for (auto& child : watchers) child.expect("ready");
    doomed.expect("ready");
    doomed.kill();
    EXPECT_EQ(doomed.wait(), SIGKILL);
    for (auto& child : watchers) child.expect("told");
    expect_success(watchers);
  }
}

class ServicesTest : public Multiproc {};

TEST_F(ServicesTest, the_host_tells_its_clients) {
  Host host;
  host.add_job("job", 3);
  std::vector<Child> watchers;
  for (pmix_rank_t r = 0; r < 2; ++r)
    watchers.push_back(host.start("job", r, "watches_peers", {"callback", "named"}));
  auto other = host.start("job", 2, "just_waits");
  for (auto& child : watchers) child.expect("ready");
  // An event as of a death on another node.
  const auto victim = proc_of("job", 2);
  Infos infos;
  infos.proc(PMIX_EVENT_AFFECTED_PROC, victim).flag(PMIX_EVENT_NON_DEFAULT);
  EXPECT_EQ(PMIx_Notify_event(PMIX_ERR_PROC_ABORTED, &victim, PMIX_RANGE_LOCAL, infos.data(), infos.size(),
                              nullptr, nullptr),
            PMIX_OPERATION_SUCCEEDED);
  for (auto& child : watchers) child.expect("told");
  expect_success(watchers);
  other.kill();
  other.wait();
}

class CleanupFiles : public Multiproc {
 protected:
  void make(const std::string& name) { std::ofstream(scratch_.path() + "/" + name) << "x"; }
  void make_dir(const std::string& name) { std::filesystem::create_directory(scratch_.path() + "/" + name); }
  bool there(const std::string& name) {
    return std::filesystem::exists(std::filesystem::symlink_status(scratch_.path() + "/" + name));
  }
  std::string at(const std::string& name) { return scratch_.path() + "/" + name; }

 private:
  Scratch scratch_;
};

/// How the process ends that registered.
class CleanupTest : public CleanupFiles, public ::testing::WithParamInterface<const char*> {
 protected:
  void run(Words words) {
    Host host;
    host.add_job("job", 1);
    words.insert(words.end(), {"then", GetParam()});
    auto child = host.start("job", 0, "registers_cleanup", words);
    const bool killed = GetParam() == std::string_view("kill");
    EXPECT_EQ(child.wait(), killed ? SIGKILL : 0);
    // The server sees the end a moment after us.
    host.remove_client(proc_of("job", 0));
    host.remove_job("job");
  }
};
INSTANTIATE_TEST_SUITE_P(End, CleanupTest, ::testing::Values("finalize", "exit", "kill"),
                         [](const auto& way) { return std::string(way.param); });

TEST_P(CleanupTest, files) {
  for (const char* name : {"one", "two", "three", "stays"}) make(name);
  run({"file", at("one") + "," + at("two"), "file", at("three"), "file", at("was never there")});
  EXPECT_FALSE(there("one") || there("two") || there("three"));
  EXPECT_TRUE(there("stays"));
}

TEST_P(CleanupTest, directories) {
  for (const char* name : {"flat", "flat/sub", "deep", "deep/sub", "deep/sub/sub", "top"}) make_dir(name);
  for (const char* name : {"flat/file", "flat/sub/file", "deep/file", "deep/sub/sub/file", "top/file"})
    make(name);
  run({"dir", at("deep"), "flag", PMIX_CLEANUP_RECURSIVE});
  EXPECT_FALSE(there("deep"));
  run({"dir", at("flat")});
  EXPECT_FALSE(there("flat/file")) << "files of the directory itself go";
  EXPECT_TRUE(there("flat/sub/file")) << "without recursion a directory below stays";
  run({"dir", at("top"), "flag", PMIX_CLEANUP_LEAVE_TOPDIR});
  EXPECT_TRUE(there("top"));
  EXPECT_FALSE(there("top/file"));
}

TEST_P(CleanupTest, what_is_to_stay) {
  for (const char* name : {"dir", "dir/keep", "dir/go", "full", "empty"}) make_dir(name);
  for (const char* name : {"dir/file", "dir/precious", "dir/keep/file", "full/file"}) make(name);
  run({"dir", at("dir"), "flag", PMIX_CLEANUP_RECURSIVE, "ignore",
       at("dir/precious") + "," + at("dir/keep")});
  EXPECT_TRUE(there("dir/precious"));
  EXPECT_TRUE(there("dir/keep/file"));
  EXPECT_FALSE(there("dir/file") || there("dir/go"));
  run({"dir", at("full") + "," + at("empty"), "flag", PMIX_CLEANUP_EMPTY});
  EXPECT_TRUE(there("full/file"));
  EXPECT_FALSE(there("empty"));
}

TEST_P(CleanupTest, links_are_not_followed) {
  for (const char* name : {"dir", "outside", "outside/deep"}) make_dir(name);
  for (const char* name : {"outside/file", "outside/deep/file"}) make(name);
  std::filesystem::create_symlink(at("outside"), at("dir/link to dir"));
  std::filesystem::create_symlink(at("outside/file"), at("dir/link to file"));
  std::filesystem::create_symlink(at("outside"), at("itself a link"));
  std::filesystem::create_symlink(at("outside/file"), at("a link to a file"));
  run({"dir", at("dir"), "dir", at("itself a link"), "file", at("a link to a file"), "flag",
       PMIX_CLEANUP_RECURSIVE});
  EXPECT_FALSE(there("dir"));
  EXPECT_TRUE(there("outside/file"));
  EXPECT_TRUE(there("outside/deep/file"));
}

/// Open MPI makes a file of the same name again in the next session of the same process.
TEST_F(CleanupFiles, stay_until_the_process_has_ended) {
  Host host;
  host.add_job("job", 3);
  for (const char* name : {"file", "mark 1", "mark 2"}) make(name);
  auto child = host.start("job", 0, "runs_on_after_its_clean_up", {at("file")});
  for (const pmix_rank_t rank : {1, 2}) {
    child.expect("finalized");
    // The server removes files in the order in which it has come to them.
    const auto mark = "mark " + std::to_string(rank);
    host.start("job", rank, "registers_cleanup", {"file", at(mark), "then", "exit"}).expect_success();
    EXPECT_TRUE(eventually([&] { return !there(mark); }));
    EXPECT_TRUE(there("file"));
    child.tell("go on");
  }
  child.expect_success();
  EXPECT_TRUE(eventually([&] { return !there("file"); })) << "the host has not said a word";
}

/// Neither the process nor the host has said that it has ended.
TEST_F(CleanupFiles, go_with_the_server_at_the_latest) {
  make("file");
  std::optional<Child> child;
  {
    Host host;
    host.add_job("job", 1);
    child.emplace(host.start("job", 0, "runs_on_after_its_clean_up", {at("file")}));
    child->expect("finalized");
  }
  EXPECT_FALSE(there("file"));
  child->kill();
  child->wait();
}

TEST_F(ServicesTest, job_control_does_all_of_a_call_or_nothing) {
  Host host;
  host.add_job("job", 1);
  auto child = host.start("job", 0, "registers_cleanup", {"file", "here", "then", "refused"});
  child.expect_success();
}

}  // namespace weft::test
