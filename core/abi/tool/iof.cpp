// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Tools and Debuggers": forwarding of standard input and output. The host carries the
// bytes.
#include <unistd.h>

#include "core/abi/roles/requests.hpp"
#include "pmix_tool.h"

using weft::abi::ask_later;
using weft::abi::copy_infos;
using weft::abi::copy_procs;
using weft::abi::guarded_ask;
using weft::abi::roles;
using weft::link::Output;
using weft::link::PullOutput;
using weft::link::PushInput;
using weft::link::StopOutput;

namespace {

/// To the descriptor of the same name here, as far as it takes bytes.
void print(const Output& output) {
  const int fd = (output.channel & PMIX_FWD_STDOUT_CHANNEL) != 0 ? STDOUT_FILENO : STDERR_FILENO;
  for (std::size_t at = 0; at < output.bytes.size();) {
    const auto n = ::write(fd, output.bytes.data() + at, output.bytes.size() - at);
    if (n <= 0) return;
    at += static_cast<std::size_t>(n);
  }
}

void call_back(const Output& output, pmix_iof_cbfunc_t cbfunc) {
  auto source = output.source;
  auto infos = weft::data::Infos::copy_of(output.infos.data(), output.infos.size());
  if (!infos) return;
  auto bytes = output.bytes;
  pmix_byte_object_t payload{reinterpret_cast<char*>(bytes.data()), bytes.size()};
  cbfunc(output.handle, output.channel, &source, &payload, infos->data(), infos->size());
}

}  // namespace

/// PMIx_IOF_pull: has the host forward to here what processes write.
///   procs [nprocs]  whose; channel: PMIX_FWD_STDOUT_CHANNEL and the like; directives for the host
///   cbfunc          given each piece, on the library's thread; NULL: it is written to this process's own
///                   descriptor of that name
///   regcbfunc       told how the host answered, and the handle; NULL: the call waits for that and returns
///                   the handle, or an error
///   Errors: PMIX_ERR_INIT, _BAD_PARAM, _UNREACH (no server), _LOST_CONNECTION, _OUT_OF_RESOURCE (more than
///   256 of a process), _NOT_SUPPORTED (the host forwards nothing: weftrun)
/// Not yet: PMIX_IOF_CACHE_SIZE, _DROP_OLDEST, _DROP_NEWEST and the directives of form are left to the host.
/// What is not read waits up to 64 MiB at the server; more is dropped, which the server's log says.
pmix_status_t PMIx_IOF_pull(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* directives,
                            size_t ndirs, pmix_iof_channel_t channel, pmix_iof_cbfunc_t cbfunc,
                            pmix_hdlr_reg_cbfunc_t regcbfunc, void* regcbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    pmix_status_t status = PMIX_SUCCESS;
    PullOutput message;
    message.channels = channel;
    if (status = copy_procs(procs, nprocs, message.procs); status != PMIX_SUCCESS) return status;
    if (status = copy_infos(directives, ndirs, message.directives); status != PMIX_SUCCESS) return status;
    auto& outputs = *roles().requesting()->outputs();
    const auto handle = outputs.add(
        [cbfunc](const Output& output) { cbfunc != nullptr ? call_back(output, cbfunc) : print(output); });
    message.handle = handle;
    if (regcbfunc == nullptr) {
      status = weft::abi::ask(message).status;
      if (status != PMIX_SUCCESS) (void)outputs.remove(handle);
      return status == PMIX_SUCCESS ? static_cast<pmix_status_t>(handle) : status;
    }
    return ask_later(message, [regcbfunc, regcbdata, handle, &outputs](const weft::link::Answer& answer) {
      if (answer.status != PMIX_SUCCESS) (void)outputs.remove(handle);
      regcbfunc(answer.status, handle, regcbdata);
    });
  });
}

/// PMIx_IOF_deregister: ends a pull. cbfunc: NULL: the call waits. Errors: as PMIx_IOF_pull;
/// PMIX_ERR_NOT_FOUND: no such handle.
pmix_status_t PMIx_IOF_deregister(size_t handle, const pmix_info_t* directives, size_t ndirs,
                                  pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    pmix_status_t status = PMIX_SUCCESS;
    StopOutput message{handle, {}};
    if (status = copy_infos(directives, ndirs, message.directives); status != PMIX_SUCCESS) return status;
    if (!roles().requesting()->outputs()->remove(handle)) return PMIX_ERR_NOT_FOUND;
    if (cbfunc == nullptr) return weft::abi::ask(message).status;
    return ask_later(message, cbfunc, cbdata);
  });
}

/// PMIx_IOF_push: sends bytes to the standard input of processes.
///   bytes  NULL: the end of the input, or what a directive says (PMIX_IOF_COMPLETE)
///   cbfunc NULL: the call waits. Errors: as PMIx_IOF_pull.
/// Not yet: PMIX_IOF_PUSH_STDIN (reading this process's own standard input).
pmix_status_t PMIx_IOF_push(const pmix_proc_t* targets, size_t ntargets, pmix_byte_object_t* bytes,
                            const pmix_info_t* directives, size_t ndirs, pmix_op_cbfunc_t cbfunc,
                            void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    PushInput message;
    auto status = copy_procs(targets, ntargets, message.targets);
    if (status == PMIX_SUCCESS) status = copy_infos(directives, ndirs, message.directives);
    if (status != PMIX_SUCCESS) return status;
    if (bytes != nullptr && bytes->bytes == nullptr && bytes->size != 0) return PMIX_ERR_BAD_PARAM;
    if (bytes != nullptr && bytes->bytes != nullptr) {
      const auto all = weft::as_bytes({bytes->bytes, bytes->size});
      message.bytes.assign(all.begin(), all.end());
    }
    if (cbfunc == nullptr) return weft::abi::ask(message).status;
    return ask_later(message, cbfunc, cbdata);
  });
}
