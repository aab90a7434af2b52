// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <memory>
#include <mutex>
#include <utility>

#include "base/host_name.hpp"
#include "base/log_thread.hpp"
#include "base/settings.hpp"
#include "base/threads/worker.hpp"

namespace weft::base {
namespace {

constexpr std::array<std::string_view, 5> level_names = {"off", "error", "warn", "info", "debug"};
constexpr std::array<std::string_view, log_part_count> part_names = {
    "api",  "client", "clients", "events", "fences",   "gets",
    "jobs", "launch", "mesh",    "modex",  "settings", "transport"};

template <std::size_t n>
std::optional<std::size_t> index_of(const std::array<std::string_view, n>& names, std::string_view name) {
  for (std::size_t i = 0; i < n; ++i)
    if (names[i] == name) return i;
  return std::nullopt;
}

template <std::size_t n>
std::string list_of(const std::array<std::string_view, n>& names) {
  std::string out;
  for (const auto name : names) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

struct Configured {
  LogLevels levels;
  bool is_set = false;  ///< then lines say when, how bad, and from where
};

/// Process-wide, as standard error is: every line of this copy of the code goes by it, also from a thread
/// that no role knows. A wrong value is the default here; the server says so (base::complaints).
const Configured& configured() noexcept {
  static const Configured once = [] {
    const auto text = read(Variable::log).text;
    std::string why;
    const auto levels = LogLevels::parse(text, why);
    return levels && !text.empty() ? Configured{*levels, true} : Configured{};
  }();
  return once;
}

/// Process-wide for the same reason. Never destroyed: threads may log while the process exits.
struct Host {
  std::mutex mutex;
  std::string name = host_name();
};
Host& host() {
  static Host* const only = new Host;
  return *only;
}

std::string current_host() {
  const std::lock_guard lock(host().mutex);
  return host().name;
}

std::string time_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm local{};
  ::localtime_r(&now.tv_sec, &local);
  char text[32];
  std::snprintf(text, sizeof text, "%02d:%02d:%02d.%06ld", local.tm_hour, local.tm_min, local.tm_sec,
                now.tv_nsec / 1000);
  return text;
}

void write_all(std::string_view text) noexcept {
  while (!text.empty()) {
    const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {  // the process has made it not block, for writers of its own
      pollfd room{STDERR_FILENO, POLLOUT, 0};
      (void)::poll(&room, 1, -1);
      continue;
    }
    if (written <= 0) return;  // closed or full: there is no other place to say it
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// The writer that LogThread has set up. Never destroyed, as Host.
struct Background {
  /// Shared with the tasks, which may outlive the worker.
  struct Waiting {
    std::atomic<std::size_t> bytes{0};
  };
  std::mutex mutex;
  unsigned users = 0;
  std::unique_ptr<Worker> worker;
  std::shared_ptr<Waiting> waiting;
  std::uint64_t dropped = 0;
};
Background& background() {
  static Background* const only = new Background;
  return *only;
}

/// lock: of `to`, which has a worker.
bool queue(Background& to, std::string line) {
  if (to.dropped != 0)
    line.insert(0, "weft: " + std::to_string(std::exchange(to.dropped, 0)) +
                       " lines are missing here: standard error was not read\n");
  const auto size = line.size();
  to.waiting->bytes.fetch_add(size, std::memory_order_relaxed);
  return to.worker->add([waiting = to.waiting, line = std::move(line), size](Worker::Steps&) {
    write_all(line);
    waiting->bytes.fetch_sub(size, std::memory_order_relaxed);
  });
}

/// False: the caller writes by itself.
bool write_later(const std::string& line) {
  auto& to = background();
  const std::lock_guard lock(to.mutex);
  if (!to.worker) return false;
  if (to.waiting->bytes.load(std::memory_order_relaxed) + line.size() > LogThread::most_waiting)
    return ++to.dropped != 0;
  return queue(to, line);
}

}  // namespace

LogThread::LogThread() {
  const std::lock_guard lock(background().mutex);
  if (background().users++ != 0) return;
  background().worker = std::make_unique<Worker>("weft-log");
  background().waiting = std::make_shared<Background::Waiting>();
  background().dropped = 0;
}

LogThread::~LogThread() {
  std::unique_ptr<Worker> worker;
  {
    const std::lock_guard lock(background().mutex);
    if (--background().users != 0) return;
    if (background().dropped != 0) (void)queue(background(), {});
    worker = std::move(background().worker);
  }
  (void)worker->wait(patience, patience);
}

void LogThread::flush() {
  Worker* worker = nullptr;  // which stays as long as this object
  {
    const std::lock_guard lock(background().mutex);
    worker = background().worker.get();
  }
  (void)worker->wait(patience, patience);
}

std::string_view to_text(LogLevel level) noexcept {
  return level_names[static_cast<std::size_t>(level)];
}

std::string_view to_text(LogPart part) noexcept {
  return part_names[static_cast<std::size_t>(part)];
}

std::optional<LogLevels> LogLevels::parse(std::string_view text, std::string& why) {
  LogLevels out;
  // Words for all parts are read first, so that the order of the words does not matter.
  for (const bool of_parts : {false, true}) {
    for (auto left = text; !left.empty();) {
      const auto entry = left.substr(0, left.find(','));
      left.remove_prefix(std::min(left.size(), entry.size() + 1));
      const auto colon = entry.find(':');
      const auto level = index_of(level_names, entry.substr(0, colon));
      if (!level) {
        why = "'" + std::string(entry.substr(0, colon)) + "' is no level: " + list_of(level_names);
        return std::nullopt;
      }
      if (of_parts != (colon != std::string_view::npos)) continue;
      if (!of_parts) {
        out.levels_.fill(static_cast<LogLevel>(*level));
        continue;
      }
      const auto part = index_of(part_names, entry.substr(colon + 1));
      if (!part) {
        why = "'" + std::string(entry.substr(colon + 1)) + "' is no part: " + list_of(part_names);
        return std::nullopt;
      }
      out.levels_[*part] = static_cast<LogLevel>(*level);
    }
  }
  return out;
}

bool is_logged(LogLevel level, LogPart part) noexcept {
  return configured().levels.includes(level, part);
}

std::string log_line(LogLevel level, LogPart part, std::string_view of_host, std::string_view time,
                     std::string_view message) {
  std::string line = "weft: [";
  line.append(of_host).append("] ");
  if (!time.empty()) {
    line.append(time).append(" ").append(to_text(level)).append(" ").append(to_text(part)).append(": ");
  }
  line.append(message);
  if (!line.ends_with('\n')) line += '\n';
  return line;
}

void log(LogLevel level, LogPart part, std::string_view message) noexcept {
  if (!is_logged(level, part)) return;
  try {
    const auto time = configured().is_set ? time_now() : std::string();
    const auto line = log_line(level, part, current_host(), time, message);
    if (!write_later(line)) write_all(line);
  } catch (...) {  // no memory for the line: the text alone
    write_all(message);
  }
}

void set_log_host(std::string_view name) {
  const std::lock_guard lock(host().mutex);
  host().name = name;
}

}  // namespace weft::base
