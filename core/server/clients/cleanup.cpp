// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/clients/cleanup.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "base/log_format.hpp"
#include "core/data/types/value.hpp"
#include "transport/shm/segment.hpp"

namespace weft::server {
namespace {

constexpr int max_depth = 64;

struct CloseDir {
  void operator()(DIR* d) const noexcept { ::closedir(d); }
};

class Remover {
 public:
  Remover(const CleanupOrder& order, uid_t owner, base::Worker::Steps& steps)
      : order_(order), owner_(owner), steps_(steps) {}

  void file(int parent, const std::string& name, const std::string& path) const {
    steps_.fetch_add(1, std::memory_order_relaxed);
    struct stat info {};
    if (ignored(path) || ::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (info.st_uid == owner_ && !S_ISDIR(info.st_mode)) (void)::unlinkat(parent, name.c_str(), 0);
  }

  void directory(int parent, const std::string& name, const std::string& path, bool top, int depth) const {
    steps_.fetch_add(1, std::memory_order_relaxed);
    if (ignored(path) || depth > max_depth) return;
    const int fd = ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return;
    std::unique_ptr<DIR, CloseDir> dir(::fdopendir(fd));
    if (!dir) return void(::close(fd));
    struct stat info {};
    if (::fstat(fd, &info) != 0 || info.st_uid != owner_) return;
    if (!order_.only_empty) contents(dir.get(), path, depth);
    if (!(top && order_.leave_top)) (void)::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
  }

 private:
  void contents(DIR* dir, const std::string& path, int depth) const {
    const int fd = ::dirfd(dir);
    while (const dirent* entry = ::readdir(dir)) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      struct stat info {};
      if (::fstatat(fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (!S_ISDIR(info.st_mode))
        file(fd, name, path + "/" + name);
      else if (order_.recursive)
        directory(fd, name, path + "/" + name, false, depth + 1);
    }
  }
  bool ignored(const std::string& path) const {
    return std::find(order_.ignored.begin(), order_.ignored.end(), path) != order_.ignored.end();
  }

  const CleanupOrder& order_;
  uid_t owner_;
  base::Worker::Steps& steps_;
};

/// Calls act(parent descriptor, last component) without following a link in the last component.
template <class Act>
void with_parent(const std::string& path, Act&& act) {
  const auto slash = path.find_last_of('/');
  const std::string parent = slash == 0 ? "/" : path.substr(0, slash);
  const shm::Fd fd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd && slash + 1 < path.size()) act(fd.get(), path.substr(slash + 1));
}

Result<void> add_paths(const pmix_info_t& info, std::vector<std::string>& to) {
  if (info.value.type != PMIX_STRING || info.value.data.string == nullptr)
    return fail(Errc::invalid, "clean-up path");
  // A list of names may be given, separated by commas.
  std::string_view rest = info.value.data.string;
  while (!rest.empty()) {
    const auto comma = std::min(rest.find(','), rest.size());
    std::string path(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (path.size() < 2 || path.front() != '/') return fail(Errc::invalid, "clean-up path is not absolute");
    to.push_back(std::move(path));
  }
  return {};
}

}  // namespace

Result<CleanupOrder> CleanupOrder::parse(const pmix_info_t* infos, std::size_t count) {
  CleanupOrder order;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view key = infos[i].key;
    const bool yes = data::is_true(infos[i].value);
    Result<void> ok;
    if (key == PMIX_REGISTER_CLEANUP)
      ok = add_paths(infos[i], order.files);
    else if (key == PMIX_REGISTER_CLEANUP_DIR)
      ok = add_paths(infos[i], order.directories);
    else if (key == PMIX_CLEANUP_IGNORE)
      ok = add_paths(infos[i], order.ignored);
    else if (key == PMIX_CLEANUP_RECURSIVE)
      order.recursive = yes;
    else if (key == PMIX_CLEANUP_EMPTY)
      order.only_empty = yes;
    else if (key == PMIX_CLEANUP_LEAVE_TOPDIR)
      order.leave_top = yes;
    if (!ok) return fail(ok.error());
  }
  return order;
}

void CleanupOrder::carry_out(uid_t owner, base::Worker::Steps& steps) const {
  const Remover remover(*this, owner, steps);
  for (const auto& path : files)
    with_parent(path, [&](int parent, const std::string& name) { remover.file(parent, name, path); });
  for (const auto& path : directories)
    with_parent(path,
                [&](int parent, const std::string& name) { remover.directory(parent, name, path, true, 0); });
}

std::size_t CleanupOrder::bytes() const noexcept {
  std::size_t out = sizeof *this;
  for (const auto* paths : {&files, &directories, &ignored})
    for (const auto& path : *paths) out += sizeof path + path.size();
  return out;
}

bool CleanupOrder::has(std::string_view key) noexcept {
  for (const std::string_view each :
       {PMIX_REGISTER_CLEANUP, PMIX_REGISTER_CLEANUP_DIR, PMIX_CLEANUP_RECURSIVE, PMIX_CLEANUP_EMPTY,
        PMIX_CLEANUP_IGNORE, PMIX_CLEANUP_LEAVE_TOPDIR})
    if (key == each) return true;
  return false;
}

CleanupBook::CleanupBook() : current_(std::make_shared<Current>()), worker_("weft-cleanup") {}

CleanupBook::~CleanupBook() {
  if (wait()) return;
  const std::lock_guard lock(current_->mutex);
  base::warn(base::LogPart::clients, "clean-up {} has not ended and is left to itself", current_->text);
}

bool CleanupBook::add(const pmix_proc_t& proc, CleanupOrder order, uid_t owner) {
  auto& orders = orders_[{proc.nspace, proc.rank}];
  const bool is_known = std::any_of(orders.kept.begin(), orders.kept.end(), [&](const Kept& kept) {
    return kept.owner == owner && kept.order == order;
  });
  if (is_known) return true;
  const auto bytes = order.bytes();
  if (orders.bytes + bytes > most_bytes) return false;
  orders.bytes += bytes;
  orders.kept.push_back({std::move(order), owner});
  return true;
}

void CleanupBook::carry_out(const pmix_proc_t& proc) {
  const auto found = orders_.find({proc.nspace, proc.rank});
  if (found == orders_.end()) return;
  auto orders = std::make_shared<const std::vector<Kept>>(std::move(found->second.kept));
  orders_.erase(found);
  const auto work = [current = current_, orders,
                     of = fmt::format("of rank {} of {}", proc.rank, proc.nspace)](auto& steps) {
    for (const auto& [order, owner] : *orders) {
      {
        const std::lock_guard lock(current->mutex);
        current->text = of + ", " + (order.files.empty() ? order.directories : order.files).front();
      }
      order.carry_out(owner, steps);
    }
  };
  if (!worker_.add(work))
    base::warn(base::LogPart::clients, "no thread can be started for the clean-up of rank {} of {}",
               proc.rank, proc.nspace);
}

}  // namespace weft::server
