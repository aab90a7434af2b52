// SPDX-License-Identifier: BSD-3-Clause
#include "tools/host/launch_info.hpp"

#include <pmix.h>
#include <pmix_server.h>

#include <cstdint>
#include <future>
#include <utility>

#include "tools/host/info_list.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"

namespace weft::host {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

/// A launch has a few; a larger number is none.
constexpr std::size_t most_infos = 64;

/// Frees what it holds.
struct Buffer {
  pmix_data_buffer_t held{};
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { PMIx_Data_buffer_destruct(&held); }
};

void add_setting(InfoList& app, const job::EnvironmentSetting& setting) {
  using How = job::EnvironmentSetting::How;
  if (setting.how == How::unset) return app.add_string(PMIX_UNSET_ENVAR, setting.name);
  if (!setting.value) return;
  const char* key = setting.how == How::set_if_new ? PMIX_ADD_ENVAR
                    : setting.how == How::prepend  ? PMIX_PREPEND_ENVAR
                    : setting.how == How::append   ? PMIX_APPEND_ENVAR
                                                   : PMIX_SET_ENVAR;
  app.add_variable(key, setting.name, *setting.value, setting.separator);
}

/// The directives of PMIx_server_setup_application. The ranks have all of weftrun's environment, so nothing
/// of it is harvested.
InfoList directives_of(const std::vector<job::App>& apps, Servers servers) {
  InfoList all;
  all.add_bool(PMIX_SETUP_APP_ENVARS, false);
  all.add_bool(PMIX_SETUP_APP_NONENVARS, servers == Servers::included);
  for (std::size_t number = 0; number < apps.size(); ++number) {
    InfoList app;
    app.add_u32(PMIX_APPNUM, static_cast<std::uint32_t>(number));
    for (const auto& setting : apps[number].settings) add_setting(app, setting);
    if (app.size() > 1) all.add_array(PMIX_APP_INFO_ARRAY, std::move(app));
  }
  return all;
}

/// How many, then all of them. Errors: those of PMIx_Data_pack.
pmix_status_t pack(pmix_info_t infos[], std::size_t count, std::string& out) {
  if (count == 0) return PMIX_SUCCESS;
  Buffer buffer;
  auto status = PMIx_Data_pack(nullptr, &buffer.held, &count, 1, PMIX_SIZE);
  if (status == PMIX_SUCCESS)
    status = PMIx_Data_pack(nullptr, &buffer.held, infos, static_cast<std::int32_t>(count), PMIX_INFO);
  if (status == PMIX_SUCCESS) out.assign(buffer.held.base_ptr, buffer.held.bytes_used);
  return status;
}

/// The infos that unpack() has read; frees them.
struct Unpacked {
  std::vector<pmix_info_t> infos;
  ~Unpacked() {
    for (auto& info : infos) PMIX_INFO_DESTRUCT(&info);
  }
};

/// Exactly what pack() made.
bool unpack(const std::string& bytes, Unpacked& out) {
  Buffer buffer;
  const pmix_byte_object_t payload{const_cast<char*>(bytes.data()), bytes.size()};
  std::size_t count = 0;
  std::int32_t one = 1;
  if (PMIx_Data_embed(&buffer.held, &payload) != PMIX_SUCCESS ||
      PMIx_Data_unpack(nullptr, &buffer.held, &count, &one, PMIX_SIZE) != PMIX_SUCCESS || one != 1 ||
      count == 0 || count > most_infos)
    return false;
  out.infos.assign(count, pmix_info_t{});
  auto read = static_cast<std::int32_t>(count);
  if (PMIx_Data_unpack(nullptr, &buffer.held, out.infos.data(), &read, PMIX_INFO) != PMIX_SUCCESS)
    return false;
  return static_cast<std::size_t>(read) == count &&
         buffer.held.unpack_ptr == buffer.held.base_ptr + buffer.held.bytes_used;
}

/// The result that a call hands to its callback, on the library's thread.
struct Gathered {
  std::promise<pmix_status_t> status;
  std::string bytes;
  static void completed(pmix_status_t status, pmix_info_t infos[], std::size_t count, void* self,
                        pmix_op_cbfunc_t release, void* released) {
    auto& gathered = *static_cast<Gathered*>(self);
    if (status == PMIX_SUCCESS) status = pack(infos, count, gathered.bytes);
    if (release != nullptr) release(PMIX_SUCCESS, released);
    gathered.status.set_value(status);
  }
};

}  // namespace

std::string gather_launch_info(const std::string& nspace, const std::vector<job::App>& apps,
                               Servers servers) {
  auto directives = directives_of(apps, servers);
  Gathered gathered;
  auto status = PMIx_server_setup_application(nspace.c_str(), directives.data(), directives.size(),
                                              &Gathered::completed, &gathered);
  if (status == PMIX_SUCCESS) status = gathered.status.get_future().get();
  if (status != PMIX_SUCCESS)
    throw Stop(exit_status::own_failure,
               messages::server_failed("PMIx_server_setup_application", PMIx_Error_string(status)));
  return std::move(gathered.bytes);
}

void take_launch_info(const std::string& nspace, const std::string& bytes) {
  if (bytes.empty()) return;
  Unpacked unpacked;
  auto status = unpack(bytes, unpacked) ? PMIX_SUCCESS : PMIX_ERR_UNPACK_FAILURE;
  // Without a callback the call waits.
  if (status == PMIX_SUCCESS)
    status = PMIx_server_setup_local_support(nspace.c_str(), unpacked.infos.data(), unpacked.infos.size(),
                                             nullptr, nullptr);
  if (status == PMIX_ERR_UNREACH) throw Stop(exit_status::own_failure, messages::nodes_out_of_reach());
  if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
    throw Stop(exit_status::own_failure, messages::launch_info_refused(PMIx_Error_string(status)));
}

}  // namespace weft::host
