// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/worker.hpp"

#include <ucs/config/global_opts.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "transport/base/folder.hpp"
#include "transport/base/lent_environment.hpp"
#include "transport/base/locked_memory.hpp"
#include "transport/ucx/devices.hpp"

namespace weft::ucx {
namespace {

/// UCP has no call that lists the transports of a context, but prints them as "... -- rc_mlx5/mlx5_0:1". If a
/// later UCX prints them differently, none is recognised: that costs capabilities, not correctness.
Traits traits_of(ucp_context_h context) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* file = ::open_memstream(&text, &size);
  if (file == nullptr) return {};
  ucp_context_print_info(context, file);
  std::fclose(file);
  Traits out;
  const std::string_view all(text, size);
  constexpr std::string_view mark = "-- ";
  for (auto at = all.find(mark); at != all.npos; at = all.find(mark, at)) {
    at += mark.size();
    const auto name = all.substr(at, all.find('/', at) - at);
    const bool reads = name.starts_with("rc_") || name.starts_with("dc_");
    const bool is_network = reads || name.starts_with("ud_") || name.starts_with("tcp");
    out.reads_memory |= reads;
    out.network |= is_network;
    out.tcp |= name.starts_with("tcp");
    const auto slash = all.find('/', at);
    if (!is_network || slash == all.npos) continue;
    const std::string device(all.substr(slash + 1, all.find_first_of(" \n", slash) - slash - 1));
    if (std::find(out.devices.begin(), out.devices.end(), device) == out.devices.end())
      out.devices.push_back(device);
  }
  std::free(text);
  return out;
}

// UCX 1.13 tries for ever to fill it where so much may not be locked.
constexpr std::size_t first_receive_queue = std::size_t{20} << 20;

bool may_use_cards(std::string_view transports) {
  if (transport::names_in("/sys/class/infiniband").empty()) return false;
  if (transports.empty() || transports.starts_with('^')) return true;
  for (const std::string_view name : {"rc", "ud", "dc", "ib", "all"})
    if (transports.find(name) != transports.npos) return true;
  return false;
}

struct ConfigRelease {
  void operator()(ucp_config_t* config) const noexcept { ucp_config_release(config); }
};

}  // namespace

bool is_loss(ucs_status_t status) noexcept {
  switch (status) {
    case UCS_ERR_IO_ERROR:
    case UCS_ERR_UNREACHABLE:
    case UCS_ERR_CANCELED:
    case UCS_ERR_TIMED_OUT:
    case UCS_ERR_REJECTED:
    case UCS_ERR_NOT_CONNECTED:
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_ENDPOINT_TIMEOUT:
      return true;
    default:
      return UCS_IS_LINK_ERROR(status) || UCS_IS_ENDPOINT_ERROR(status);
  }
}

Error error_of(ucs_status_t status, const char* what) noexcept {
  if (is_loss(status)) return {Errc::peer_lost, 0, what};
  switch (status) {
    case UCS_ERR_NO_MEMORY:
      return {Errc::no_memory, 0, what};
    case UCS_ERR_INVALID_PARAM:
      return {Errc::os, EINVAL, what};
    case UCS_ERR_BUSY:
    case UCS_ERR_NO_RESOURCE:
      return {Errc::again, 0, what};
    default:
      return {Errc::os, EIO, what};
  }
}

Result<std::unique_ptr<Worker>> Worker::open(const Options& options, std::string& why_not) {
  ucp_config_t* read = nullptr;
  if (ucp_config_read(nullptr, nullptr, &read) != UCS_OK)
    return fail(Errc::os, "UCX cannot read its configuration", EIO);
  const std::unique_ptr<ucp_config_t, ConfigRelease> config(read);
  // UCX's shared-memory transports do not report a lost peer, so UCX does not use them for these connections,
  // but opens them all the same: 4 MiB, and a file that stays behind when the process is killed.
  const bool is_chosen = !options.transports.empty() || std::getenv("UCX_TLS") != nullptr;
  const auto transports = is_chosen ? options.transports : "^posix,sysv";
  if (!transports.empty() && ucp_config_modify(read, "TLS", transports.c_str()) != UCS_OK)
    return fail(Errc::not_found, "not a list of UCX transports");
  const char* const from_environment = std::getenv("UCX_TLS");
  const auto list =
      !transports.empty() || from_environment == nullptr ? transports : std::string(from_environment);
  if (lacks_wireup(list)) {
    why_not = "'" + list +
              "' has reliable connections (rc) and nothing that sets them up: add ud_verbs "
              "(rc_verbs,ud_verbs), or name rc, "
              "which brings it";
    return fail(Errc::invalid, why_not.c_str());
  }
  if (may_use_cards(list) && !transport::may_lock(first_receive_queue)) {
    why_not =
        "UCX cannot lock the 20 MiB of its first receive queue over a card" + transport::locked_memory_hint();
    return fail(Errc::no_memory, why_not.c_str());
  }
  // UCX reads this when the process creates its first context. If UCX rejects it, the modules are loaded.
  if (!is_chosen && std::getenv("UCX_MODULES") == nullptr)
    (void)ucs_global_opts_set_value("MODULES", useful_modules().c_str());

  std::unique_ptr<Worker> worker(new Worker);
  // Some transports (`self`) have no wakeup: then the worker does without. RMA is requested only where a
  // network card executes it (docs/decisions/0007-ucx-gets.md): a worker with RMA lets any peer that reaches
  // it read and write all of this process's memory.
  std::uint64_t features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  auto started = worker->start(read, features);
  if (!started) {
    worker->close();
    features = UCP_FEATURE_AM;
    started = worker->start(read, features);
  }
  if (!started) return fail(started.error());
  // A list that only leaves out would open on this process's own memory.
  if (!worker->traits_.network && list.starts_with('^')) {
    why_not = "UCX finds no network device here for '" + list +
              "': there is no card, or none with an active port (ibv_devinfo)";
    return fail(Errc::not_found, why_not.c_str());
  }
  if (!options.networks.empty()) {
    const auto devices = devices_for(worker->traits_.devices, options.networks, why_not);
    if (!devices) return fail(devices.error());
    if (!devices->empty()) {
      if (ucp_config_modify(read, "NET_DEVICES", devices->c_str()) != UCS_OK)
        return fail(Errc::os, "UCX rejects the list of devices", EIO);
      worker->close();
      started = worker->start(read, features);
      if (!started) return fail(started.error());
    }
  }
  if ((options.direct_gets && worker->traits_.network) || worker->traits_.reads_memory) {
    transport::LentEnvironment variables;
    if (worker->traits_.reads_memory) {
      // A peer that does not answer for so long while its connection is being set up makes UCX 1.13 abort
      // (UcxEndpoint::may_close).
      if (std::getenv("UCX_UD_VERBS_TIMEOUT") == nullptr) variables.set("UCX_UD_TIMEOUT", "864000s");
      // Else a region that was closed can still be read, while UCX keeps its registration for later.
      variables.set("UCX_IB_REG_METHODS", "direct");
    }
    worker->close();
    started = worker->start(read, features | UCP_FEATURE_RMA);
    if (!started) return fail(started.error());
    worker->direct_gets_ = true;
  }
  return worker;
}

Result<void> Worker::start(ucp_config_t* config, std::uint64_t features) {
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
  params.features = features;
  params.mt_workers_shared = 0;
  const auto begun = ucp_init(&params, config, &context_);
  if (begun != UCS_OK) {
    context_ = nullptr;
    if (begun == UCS_ERR_NO_MEMORY) return fail(Errc::no_memory);
    return fail(Errc::not_found, "UCX finds no device for these transports");
  }
  ucp_worker_params_t worker_params{};
  worker_params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_FLAGS;
  // One thread at a time, and not always the one that opened it: a server's loop has its own. UCX 1.18 of
  // Debian 13 ends a process where that is not said.
  worker_params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  worker_params.flags = UCP_WORKER_FLAG_IGNORE_REQUEST_LEAK;
  const auto created = ucp_worker_create(context_, &worker_params, &worker_);
  if (created != UCS_OK) {
    worker_ = nullptr;
    return fail(error_of(created, "UCX cannot create a worker on these transports"));
  }
  traits_ = traits_of(context_);
  // On shared memory alone, UCX 1.13 wakes a worker that has not connected to any peer once, and never again.
  if ((features & UCP_FEATURE_WAKEUP) != 0 && traits_.network) {
    int fd = -1;
    if (ucp_worker_get_efd(worker_, &fd) != UCS_OK)
      return fail(Errc::not_supported, "no descriptor to wait on");
    wait_fd_ = fd;
  }
  return {};
}

void Worker::close() noexcept {
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
  worker_ = nullptr;
  context_ = nullptr;
  wait_fd_.reset();
}

Result<std::vector<std::byte>> Worker::address() const {
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS;
  attributes.address_flags = traits_.network ? UCP_WORKER_ADDRESS_FLAG_NET_ONLY : 0;
  const auto asked = ucp_worker_query(worker_, &attributes);
  if (asked != UCS_OK) return fail(error_of(asked, "UCX cannot pack the address of its worker"));
  const auto* bytes = reinterpret_cast<const std::byte*>(attributes.address);
  std::vector<std::byte> out(bytes, bytes + attributes.address_length);
  ucp_worker_release_address(worker_, attributes.address);
  return out;
}

}  // namespace weft::ucx
