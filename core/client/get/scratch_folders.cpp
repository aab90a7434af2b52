// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/get/scratch_folders.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "core/data/names/names.hpp"
#include "core/data/types/value.hpp"
#include "core/store/get/job_keys.hpp"

namespace weft::client {
namespace {

constexpr std::string_view folder_keys[] = {PMIX_TMPDIR, PMIX_NSDIR, PMIX_PROCDIR};

bool is_folder_key(std::string_view key) noexcept {
  return std::find(std::begin(folder_keys), std::end(folder_keys), key) != std::end(folder_keys);
}

/// The name of the topmost one cannot be guessed, and those below are where only this user can make folders.
Result<void> make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), S_IRWXU) == 0) return {};
  if (errno == EACCES || errno == EPERM) return fail(Errc::denied);
  struct stat status {};
  if (errno != EEXIST || ::lstat(path.c_str(), &status) != 0) return fail(Errc::no_space);
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid()) return fail(Errc::denied);
  return {};
}

/// PATH is TOP or below it; each folder on the way from TOP.
Result<void> make_path(std::string_view top, std::string_view path) {
  for (auto end = top.size(); end != path.npos; end = path.find('/', end + 1)) {
    if (auto ok = make_folder(std::string(path.substr(0, end))); !ok) return ok;
    if (end == path.size()) break;
  }
  return path == top ? Result<void>() : make_folder(std::string(path));
}

bool is_in(std::string_view top, std::string_view path) noexcept {
  return path.substr(0, top.size()) == top && (path.size() == top.size() || path[top.size()] == '/');
}

Result<void> make_named(std::string_view top, const pmix_value_t& value) {
  if (value.type == PMIX_STRING && value.data.string != nullptr) {
    const std::string_view path(value.data.string);
    return is_in(top, path) ? make_path(top, path) : Result<void>();
  }
  const auto* array = value.type == PMIX_DATA_ARRAY ? value.data.darray : nullptr;
  if (array == nullptr || array->type != PMIX_INFO) return {};
  const auto* infos = static_cast<const pmix_info_t*>(array->array);
  for (std::size_t i = 0; i < array->size; ++i)
    if (is_folder_key(data::key_of(infos[i])))
      if (auto ok = make_named(top, infos[i].value); !ok) return ok;
  return {};
}

}  // namespace

bool names_scratch_folders(std::string_view key) noexcept {
  for (const std::string_view array :
       {PMIX_SESSION_INFO_ARRAY, PMIX_JOB_INFO_ARRAY, PMIX_NODE_INFO_ARRAY, PMIX_PROC_INFO_ARRAY})
    if (key == array) return true;
  return key.empty() || is_folder_key(key);
}

Result<void> make_scratch_folders(const store::JobView& job, const pmix_value_t& value) {
  const auto top = store::scratch_folder(job);
  return top.empty() ? Result<void>() : make_named(top, value);
}

}  // namespace weft::client
