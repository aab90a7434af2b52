// SPDX-License-Identifier: BSD-3-Clause
#include "tools/host/requests/standard_io_call.hpp"

#include <pmix.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "tools/host/output_delivery.hpp"
#include "tools/host/requests/process_names.hpp"

namespace weft::host {
namespace {

const pmix_value_t* find(std::span<const pmix_info_t> infos, std::string_view key) {
  const auto at = std::find_if(infos.begin(), infos.end(), [key](const pmix_info_t& info) {
    return key == std::string_view(info.key, ::strnlen(info.key, PMIX_MAX_KEYLEN));
  });
  return at == infos.end() ? nullptr : &at->value;
}

/// A directive that is merely there counts as true.
bool is_set(std::span<const pmix_info_t> infos, std::string_view key) {
  const auto* const value = find(infos, key);
  return value != nullptr && (value->type == PMIX_UNDEF || (value->type == PMIX_BOOL && value->data.flag));
}

bool are_ranks(std::span<const pmix_proc_t> procs) {
  return !procs.empty() && std::all_of(procs.begin(), procs.end(), [](const pmix_proc_t& proc) {
    return proc.rank == PMIX_RANK_WILDCARD || proc.rank <= PMIX_RANK_VALID;
  });
}

}  // namespace

pmix_status_t read_pull_call(std::span<const pmix_proc_t> procs, std::span<const pmix_info_t> directives,
                             pmix_iof_channel_t channels, job::PullRequest& out) {
  const auto* const puller = find(directives, puller_key);
  const auto* const number = find(directives, pull_key);
  if (puller == nullptr || puller->type != PMIX_PROC || puller->data.proc == nullptr || number == nullptr ||
      number->type != PMIX_UINT64 || !are_ranks(procs))
    return PMIX_ERR_BAD_PARAM;
  out.name = {name_of(*puller->data.proc), number->data.uint64};
  out.ends = is_set(directives, PMIX_IOF_STOP);
  out.targets = targets_of(procs);
  out.out = (channels & PMIX_FWD_STDOUT_CHANNEL) != 0;
  out.error = (channels & PMIX_FWD_STDERR_CHANNEL) != 0;
  out.redirects = is_set(directives, PMIX_IOF_REDIRECT);
  if (out.redirects && is_set(directives, PMIX_IOF_COPY)) return PMIX_ERR_BAD_PARAM;
  return out.out || out.error ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t read_push_call(const pmix_proc_t& from, std::span<const pmix_proc_t> targets,
                             std::span<const pmix_info_t> directives, const pmix_byte_object_t* bytes,
                             job::PushRequest& out) {
  if (!are_ranks(targets)) return PMIX_ERR_BAD_PARAM;
  out.from = name_of(from);
  out.targets = targets_of(targets);
  if (bytes != nullptr && bytes->bytes != nullptr) out.bytes.assign(bytes->bytes, bytes->size);
  out.ends = out.bytes.empty() || is_set(directives, PMIX_IOF_COMPLETE);
  return PMIX_SUCCESS;
}

}  // namespace weft::host
