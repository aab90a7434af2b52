// SPDX-License-Identifier: BSD-3-Clause
#include "tests/multiproc/data/published_calls.hpp"

#include <cstring>

namespace weft::test {
namespace {

Infos& add(Infos& infos, const char* key, std::uint8_t value, pmix_data_type_t type) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, key, &value, type);
  infos.copy(info);
  PMIX_INFO_DESTRUCT(&info);
  return infos;
}

/// Takes what the library has filled in.
Sought taken(pmix_status_t status, pmix_pdata_t& data) {
  Sought out{status, 0, {}, data.proc};
  if (status != PMIX_SUCCESS && status != PMIX_ERR_PARTIAL_SUCCESS) return out;
  if (data.value.type == PMIX_UINT64) out.value = data.value.data.uint64;
  if (data.value.type == PMIX_BYTE_OBJECT)
    out.bytes.assign(data.value.data.bo.bytes, data.value.data.bo.size);
  return out;
}

}  // namespace

Infos in_range(pmix_data_range_t range) {
  Infos out;
  add(out, PMIX_RANGE, range, PMIX_DATA_RANGE);
  return out;
}
Infos in_range_of(const std::vector<pmix_proc_t>& procs) {
  auto out = in_range(PMIX_RANGE_CUSTOM);
  out.procs(PMIX_EVENT_CUSTOM_RANGE, procs);
  return out;
}
Infos that_persists(pmix_persistence_t persistence, pmix_data_range_t range) {
  auto out = in_range(range);
  add(out, PMIX_PERSISTENCE, persistence, PMIX_PERSIST);
  return out;
}
Infos waiting(int seconds, int keys) {
  Infos out;
  out.integer(PMIX_WAIT, keys);
  if (seconds != 0) out.integer(PMIX_TIMEOUT, seconds);
  return out;
}

pmix_status_t publish(std::string_view key, std::uint64_t value, Infos infos) {
  infos.unsigned64(std::string(key).c_str(), value);
  return PMIx_Publish(infos.data(), infos.size());
}
pmix_status_t publish_bytes(std::string_view key, const std::string& value, Infos infos) {
  infos.bytes(std::string(key).c_str(), value);
  return PMIx_Publish(infos.data(), infos.size());
}
pmix_status_t unpublish(std::string_view key, const Infos& infos) {
  std::string text(key);
  char* keys[] = {text.data(), nullptr};
  return PMIx_Unpublish(keys, infos.data(), infos.size());
}
pmix_status_t unpublish_all(const Infos& infos) {
  return PMIx_Unpublish(nullptr, infos.data(), infos.size());
}

Sought look_up(std::string_view key, const Infos& infos) {
  pmix_pdata_t data;
  PMIX_PDATA_CONSTRUCT(&data);
  PMIX_LOAD_KEY(data.key, std::string(key).c_str());
  auto out = taken(PMIx_Lookup(&data, 1, infos.data(), infos.size()), data);
  PMIX_PDATA_DESTRUCT(&data);
  return out;
}

pmix_status_t look_up(const std::vector<std::string>& keys, std::vector<pmix_data_type_t>& types,
                      const Infos& infos) {
  pmix_pdata_t* data = nullptr;
  PMIX_PDATA_CREATE(data, keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) PMIX_LOAD_KEY(data[i].key, keys[i].c_str());
  const auto status = PMIx_Lookup(data, keys.size(), infos.data(), infos.size());
  types.clear();
  for (std::size_t i = 0; i < keys.size(); ++i) types.push_back(data[i].value.type);
  PMIX_PDATA_FREE(data, keys.size());
  return status;
}

Lookup::Lookup(std::string_view key, const Infos& infos) {
  std::string text(key);
  char* keys[] = {text.data(), nullptr};
  check_status(PMIx_Lookup_nb(keys, infos.data(), infos.size(), on_found, this), PMIX_SUCCESS);
}

void Lookup::on_found(pmix_status_t status, pmix_pdata_t* data, std::size_t count, void* self) {
  auto& lookup = *static_cast<Lookup*>(self);
  lookup.found_.status = status;
  if (count != 0) lookup.found_ = taken(status, data[0]);
  Waiter::on_status(status, &lookup.waiter_);
}

Sought Lookup::wait() {
  const auto status = waiter_.wait();
  check_status(status, found_.status);
  return found_;
}

}  // namespace weft::test
