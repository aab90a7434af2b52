// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Tools and Debuggers": forwarding of standard input and output. The host carries the
// bytes.
#include <memory>
#include <utility>

#include "base/log_format.hpp"
#include "core/abi/roles/requests.hpp"
#include "core/client/streams/output_writer.hpp"
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

class Sink final : public weft::client::Outputs::Sink {
 public:
  Sink(weft::client::OutputForm form, pmix_iof_cbfunc_t cbfunc)
      : writer_(std::move(form), handler_of(cbfunc)) {}
  void take(Output output) override { writer_.take(std::move(output)); }
  void finish() override { writer_.finish(); }

 private:
  static weft::client::OutputWriter::Handler handler_of(pmix_iof_cbfunc_t cbfunc) {
    if (cbfunc == nullptr) return {};
    return [cbfunc](Output output) {
      auto& bytes = output.bytes;
      // Observed: Python's module pmix takes the bytes for a C string, also the none at the end of a stream.
      bytes.push_back(std::byte{0});
      pmix_byte_object_t payload{reinterpret_cast<char*>(bytes.data()), bytes.size() - 1};
      cbfunc(output.handle, output.channel, &output.source, &payload, output.infos.data(),
             output.infos.size());
    };
  }
  weft::client::OutputWriter writer_;
};

bool is_set(const weft::data::Infos& directives, const char* key) {
  const auto* info = directives.find(key);
  return info != nullptr && weft::data::is_true(info->value);
}

/// From here on, to these targets. The library pushes behind what it has pushed before.
pmix_status_t push_own_input(const PushInput& message) {
  auto& pump = roles().requesting()->outputs()->input();
  const auto targets = message.targets;
  const bool has_begun = pump.start([targets](const std::string& bytes) {
    PushInput piece;
    piece.targets = targets;
    const auto all = weft::as_bytes(bytes);
    piece.bytes.assign(all.begin(), all.end());
    if (bytes.empty()) piece.directives.add(PMIX_IOF_COMPLETE, weft::data::Value::of(true));
    const auto status = weft::abi::ask(piece).status;
    if (status != PMIX_SUCCESS)
      weft::base::warn(weft::base::LogPart::events, "standard input is pushed no more: {}",
                       PMIx_Error_string(status));
    return status == PMIX_SUCCESS;
  });
  return has_begun ? PMIX_SUCCESS : PMIX_ERR_RESOURCE_BUSY;
}

}  // namespace

/// PMIx_IOF_pull: has the host forward to here what processes write.
///   procs [nprocs]  whose; PMIX_RANK_WILDCARD: all of that namespace
///   channel         PMIX_FWD_STDOUT_CHANNEL, _STDERR_CHANNEL
///   directives      for the server PMIX_IOF_CACHE_SIZE, _DROP_OLDEST, _DROP_NEWEST: what is not read beyond
///                   that is dropped; without them the host waits for this process. For this library, which
///                   gives the output its form: PMIX_IOF_TAG_OUTPUT, _TAG_DETAILED_OUTPUT and
///                   _TAG_FULLNAME_OUTPUT (as _TAG_OUTPUT), _RANK_OUTPUT, _TIMESTAMP_OUTPUT, _XML_OUTPUT,
///                   _MERGE_STDERR_STDOUT, _OUTPUT_TO_FILE, _FILE_PATTERN, _OUTPUT_TO_DIRECTORY, _FILE_ONLY,
///                   _BUFFERING_SIZE; with _BUFFERING_TIME nothing is held. The others for the host:
///                   PMIX_IOF_REDIRECT, _COPY
///   cbfunc          given each piece, on the library's thread, which reads on when it returns. A piece
///                   without bytes, with PMIX_IOF_COMPLETE, is the end of a stream. The bytes are the
///                   library's. NULL: it is written to this process's own descriptor of that name
///   regcbfunc       told how the host answered, and the handle; NULL: the call waits for that and returns
///                   the handle, or an error
///   Errors: PMIX_ERR_INIT, _BAD_PARAM, _UNREACH (no server), _LOST_CONNECTION, _OUT_OF_RESOURCE (more than
///   256 of a process), _NOT_SUPPORTED (standard input; no such stream; weftrun: the job writes into files),
///   _NOT_FOUND (weftrun: no such job)
///   Under weftrun a process that takes nothing for 3 seconds while ranks wait for it loses the pull, and
///   hears PMIX_ERR_IOF_FAILURE. docs/design/standard_io.md
///   Source: PMIx Standard, chapter "Tools and Debuggers". Tests: tests/multiproc/job/iof_test.py
pmix_status_t PMIx_IOF_pull(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* directives,
                            size_t ndirs, pmix_iof_channel_t channel, pmix_iof_cbfunc_t cbfunc,
                            pmix_hdlr_reg_cbfunc_t regcbfunc, void* regcbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    pmix_status_t status = PMIX_SUCCESS;
    PullOutput message;
    message.channels = channel;
    if (status = copy_procs(procs, nprocs, message.procs); status != PMIX_SUCCESS) return status;
    if (status = copy_infos(directives, ndirs, message.directives); status != PMIX_SUCCESS) return status;
    auto form = weft::client::OutputForm::of(message.directives);
    if (!form) return PMIX_ERR_BAD_PARAM;
    auto& outputs = *roles().requesting()->outputs();
    const auto handle = outputs.add(std::make_shared<Sink>(std::move(*form), cbfunc));
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

/// PMIx_IOF_deregister: ends a pull; what the library holds of it comes first. cbfunc: NULL: the call waits.
/// Errors: as PMIx_IOF_pull; PMIX_ERR_NOT_FOUND: no such handle.
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
///   bytes       NULL or none: the end of what this process pushes
///   directives  PMIX_IOF_COMPLETE: the end is behind the bytes. PMIX_IOF_PUSH_STDIN: the library reads this
///               process's own standard input and pushes it, until its end or until a push with
///               PMIX_IOF_COMPLETE; bytes have no meaning then
///   cbfunc      called when the targets have the bytes (weftrun), so that a caller that waits for it goes at
///               their pace. NULL: the call waits.
///   Errors: as PMIx_IOF_pull; _NOT_SUPPORTED (weftrun: a target takes no pushes: weftrun --stdin push,
///   PMIX_FWD_STDIN), _IOF_COMPLETE (weftrun: the input of a target has ended), _RESOURCE_BUSY (its standard
///   input is being pushed already)
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
    if (is_set(message.directives, PMIX_IOF_PUSH_STDIN)) {
      status = push_own_input(message);
      if (status == PMIX_SUCCESS && cbfunc != nullptr) return PMIX_OPERATION_SUCCEEDED;
      return status;
    }
    if (is_set(message.directives, PMIX_IOF_COMPLETE)) roles().requesting()->outputs()->input().stop();
    if (cbfunc == nullptr) return weft::abi::ask(message).status;
    return ask_later(message, cbfunc, cbdata);
  });
}
