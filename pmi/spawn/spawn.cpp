// SPDX-License-Identifier: BSD-3-Clause
#include "pmi/spawn/spawn.hpp"

#include <pmix.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <iterator>
#include <limits>
#include <string_view>
#include <vector>

#include "base/settings.hpp"
#include "pmi/spawn/preput.hpp"

namespace weft::pmi {
namespace {

struct InfoRow {
  std::string_view key;  ///< of MPI_Comm_spawn
  const char* attribute;
};
constexpr InfoRow info_rows[] = {
    {"host", PMIX_HOST}, {"hostfile", PMIX_HOSTFILE}, {"wdir", PMIX_WDIR}, {"wd", PMIX_WDIR}};

/// The structures of PMIx_Spawn over texts that this object owns.
class Applications {
 public:
  Applications(const SpawnOrder& order, const std::string& preput) {
    for (const auto& command : order.commands) add(command, preput);
  }
  Applications(const Applications&) = delete;
  Applications& operator=(const Applications&) = delete;

  const std::vector<pmix_app_t>& get() const noexcept { return apps_; }

 private:
  using Pointers = std::vector<char*>;

  char* text(std::string_view from) { return texts_.emplace_back(from).data(); }

  void add(const SpawnCommand& command, const std::string& preput) {
    auto& app = apps_.emplace_back();
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = text(command.program);
    auto& words = pointers_.emplace_back();
    words.push_back(app.cmd);
    for (const auto& argument : command.arguments) words.push_back(text(argument));
    words.push_back(nullptr);
    app.argv = words.data();
    auto& variables = pointers_.emplace_back();
    variables.push_back(text(base::setting_of(base::Variable::pmi_preput).name + ("=" + preput)));
    variables.push_back(nullptr);
    app.env = variables.data();
    app.maxprocs = static_cast<int>(command.ranks);
    auto& infos = infos_.emplace_back();
    for (const auto& pair : command.infos) add(pair, infos);
    app.info = infos.data();
    app.ninfo = infos.size();
  }

  /// Keys that say nothing here are ignored, as MPI has it.
  void add(const KeyValue& pair, std::vector<pmix_info_t>& infos) {
    if (pair.key == "path") return add_path(pair.value, infos);
    const auto* row = std::find_if(std::begin(info_rows), std::end(info_rows),
                                   [&](const InfoRow& each) { return each.key == pair.key; });
    if (row == std::end(info_rows)) return;
    auto& info = infos.emplace_back();
    PMIX_INFO_CONSTRUCT(&info);
    std::strncpy(info.key, row->attribute, PMIX_MAX_KEYLEN);
    info.value.type = PMIX_STRING;
    info.value.data.string = text(pair.value);
  }

  /// Where to look for the program. The children have the folders in their PATH, too.
  void add_path(const std::string& folders, std::vector<pmix_info_t>& infos) {
    auto& info = infos.emplace_back();
    PMIX_INFO_CONSTRUCT(&info);
    std::strncpy(info.key, PMIX_PREPEND_ENVAR, PMIX_MAX_KEYLEN);
    info.value.type = PMIX_ENVAR;
    info.value.data.envar = {text("PATH"), text(folders), ':'};
  }

  std::deque<std::string> texts_;  // their bytes stay where they are
  std::deque<Pointers> pointers_;
  std::deque<std::vector<pmix_info_t>> infos_;
  std::vector<pmix_app_t> apps_;
};

bool is_possible(const SpawnOrder& order) {
  const auto is_command = [](const SpawnCommand& command) {
    return !command.program.empty() && command.ranks > 0 &&
           command.ranks <= static_cast<std::uint32_t>(std::numeric_limits<int>::max());
  };
  return !order.commands.empty() && order.commands.size() <= most_spawn_commands &&
         std::all_of(order.commands.begin(), order.commands.end(), is_command);
}

}  // namespace

Spawned spawn(const SpawnOrder& order) {
  if (!is_possible(order)) return {PMIX_ERR_BAD_PARAM, {}};
  const auto preput = encode_preput(order.preput);
  if (!preput) return {PMIX_ERR_OUT_OF_RESOURCE, {}};
  const Applications applications(order, *preput);
  const auto& apps = applications.get();
  pmix_nspace_t job{};
  const auto status = PMIx_Spawn(nullptr, 0, apps.data(), apps.size(), job);
  if (status != PMIX_SUCCESS) return {status, {}};
  return {PMIX_SUCCESS, std::string(job, ::strnlen(job, PMIX_MAX_NSLEN))};
}

}  // namespace weft::pmi
