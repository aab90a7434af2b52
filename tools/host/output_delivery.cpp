// SPDX-License-Identifier: BSD-3-Clause
#include "tools/host/output_delivery.hpp"

#include <pmix.h>
#include <pmix_server.h>

#include <memory>
#include <utility>

#include "tools/host/calls.hpp"
#include "tools/host/info_list.hpp"

namespace weft::host {
namespace {

/// What the library reads until it calls back.
struct OpenDelivery {
  InfoList infos;
  std::function<void()> delivered;

  static void completed(pmix_status_t, void* self) {
    const std::unique_ptr<OpenDelivery> open(static_cast<OpenDelivery*>(self));
    open->delivered();
  }
};

pmix_iof_channel_t channel_of(job::Stream stream) {
  return stream == job::Stream::out ? PMIX_FWD_STDOUT_CHANNEL : PMIX_FWD_STDERR_CHANNEL;
}

}  // namespace

void deliver_output(const PulledFrom& from, const std::string& bytes, std::function<void()> delivered) {
  auto call = std::make_unique<OpenDelivery>(OpenDelivery{{}, std::move(delivered)});
  call->infos.add_proc(puller_key, proc_of(from.to.puller.nspace, from.to.puller.rank));
  call->infos.add_u64(pull_key, from.to.number);
  if (bytes.empty()) call->infos.add_bool(PMIX_IOF_COMPLETE, true);
  const auto source = proc_of(from.source.nspace, from.source.rank);
  const pmix_byte_object_t payload{const_cast<char*>(bytes.data()), bytes.size()};  // the library copies them
  OpenDelivery* const open = call.release();
  const auto status = PMIx_server_IOF_deliver(&source, channel_of(from.stream), &payload, open->infos.data(),
                                              open->infos.size(), &OpenDelivery::completed, open);
  if (status != PMIX_SUCCESS) OpenDelivery::completed(status, open);
}

void tell_dropped(const job::PullName& pull) {
  InfoList infos;
  infos.add_procs(PMIX_EVENT_CUSTOM_RANGE, {proc_of(pull.puller.nspace, pull.puller.rank)});
  infos.add_bool(PMIX_EVENT_NON_DEFAULT, true);
  infos.add_u64(pull_key, pull.number);
  raise_event(PMIX_ERR_IOF_FAILURE, nullptr, PMIX_RANGE_CUSTOM, infos);
}

}  // namespace weft::host
