// SPDX-License-Identifier: BSD-3-Clause
#include <dirent.h>
#include <sched.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>

#include "core/topology/module.hpp"

namespace weft::topology::module {
namespace {

hwloc_const_bitmap_t as_bitmap(const void* cpuset) noexcept {
  return static_cast<hwloc_const_bitmap_t>(cpuset);
}

struct DirectoryClose {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

// Adds the processors where a thread may run; thread 0 is the caller. The kernel rejects a mask shorter than
// its own, so the mask grows until it is long enough.
Result<void> add_affinity(pid_t thread, hwloc_bitmap_t out) {
  for (std::size_t processors = 1024; processors <= max_processor + 1; processors *= 2) {
    const std::size_t bytes = CPU_ALLOC_SIZE(processors);
    const std::unique_ptr<cpu_set_t, decltype(&std::free)> mask(CPU_ALLOC(processors), &std::free);
    if (mask == nullptr) return fail(Errc::no_memory);
    if (::sched_getaffinity(thread, bytes, mask.get()) == 0) {
      for (std::size_t i = 0; i < processors; ++i) {
        if (CPU_ISSET_S(i, bytes, mask.get()) && hwloc_bitmap_set(out, static_cast<unsigned>(i)) != 0) {
          return fail(Errc::no_memory);
        }
      }
      return {};
    }
    if (errno != EINVAL) break;
  }
  return fail(Errc::os, "sched_getaffinity", errno);
}

Result<void> add_all_threads(hwloc_bitmap_t out) {
  const std::unique_ptr<DIR, DirectoryClose> tasks(::opendir("/proc/self/task"));
  if (tasks == nullptr) return fail(Errc::os, "/proc/self/task", errno);
  while (const dirent* const entry = ::readdir(tasks.get())) {
    const std::string_view name(entry->d_name);
    pid_t thread = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), thread).ec != std::errc{}) continue;
    const auto added = add_affinity(thread, out);
    // A thread may end while the list is read.
    if (!added && added.error().sys != ESRCH) return added;
  }
  return {};
}

// Weft's own parser, because hwloc's accepts garbage as an empty set and "0-" as an infinite one.
Result<void> set_list(hwloc_bitmap_t out, std::string_view list) {
  const char* at = list.data();
  const char* const end = at + list.size();
  const auto number = [&](unsigned& value) {
    const auto parsed = std::from_chars(at, end, value);
    at = parsed.ptr;
    return parsed.ec == std::errc{} && value <= max_processor;
  };
  while (at != end) {
    unsigned from = 0, to = 0;
    if (!number(from)) return fail(Errc::invalid, "bad processor in a cpuset");
    to = from;
    if (at != end && *at == '-') {
      ++at;
      if (!number(to) || to < from) return fail(Errc::invalid, "bad range in a cpuset");
    }
    if (hwloc_bitmap_set_range(out, from, static_cast<int>(to)) != 0) return fail(Errc::no_memory);
    if (at == end) return {};
    if (*at++ != ',' || at == end) return fail(Errc::invalid, "bad list in a cpuset");
  }
  return {};
}

}  // namespace

Result<Bitmap> new_bitmap() {
  Bitmap bitmap(hwloc_bitmap_alloc());
  if (bitmap == nullptr) return fail(Errc::no_memory);
  return bitmap;
}

Result<std::string> list_of(hwloc_const_bitmap_t bitmap) {
  char* text = nullptr;
  if (hwloc_bitmap_list_asprintf(&text, bitmap) < 0) return fail(Errc::no_memory);
  std::string out(text);
  std::free(text);
  return out;
}

Result<void*> parse_cpuset(std::string_view list) {
  auto bitmap = new_bitmap();
  if (!bitmap) return fail(bitmap.error());
  if (const auto set = set_list(bitmap->get(), list); !set) return fail(set.error());
  return static_cast<void*>(bitmap->release());
}

Result<std::string> format_cpuset(const void* cpuset) {
  return list_of(as_bitmap(cpuset));
}

Result<void*> copy_cpuset(const void* cpuset) {
  void* const copy = hwloc_bitmap_dup(as_bitmap(cpuset));
  if (copy == nullptr) return fail(Errc::no_memory);
  return copy;
}

bool equal_cpusets(const void* first, const void* second) noexcept {
  return hwloc_bitmap_isequal(as_bitmap(first), as_bitmap(second)) != 0;
}

void destroy_cpuset(void* cpuset) noexcept {
  hwloc_bitmap_free(static_cast<hwloc_bitmap_t>(cpuset));
}

// Reads from the kernel, not hwloc: that needs no topology, and the numbers are the same.
Result<void*> current_cpuset(bool of_whole_process) {
  auto bitmap = new_bitmap();
  if (!bitmap) return fail(bitmap.error());
  const auto read = of_whole_process ? add_all_threads(bitmap->get()) : add_affinity(0, bitmap->get());
  if (!read) return fail(read.error());
  return static_cast<void*>(bitmap->release());
}

}  // namespace weft::topology::module
