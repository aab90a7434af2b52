// SPDX-License-Identifier: BSD-3-Clause
#include "tools/host/requests/spawn_call.hpp"

#include <pmix.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "tools/host/requests/process_names.hpp"

namespace weft::host {
namespace {

using Words = std::vector<std::string>;
using How = job::EnvironmentSetting::How;

/// Where an attribute's value goes in the words.
enum class Kind {
  flag,     ///< the option alone, if true
  text,     ///< option and value
  number,   ///< the same
  ppr,      ///< "2:node" as "ppr:2:node"
  ranks,    ///< the option, for all ranks, none, or those that the value names
  ignored,  ///< has no meaning here, or it is so anyway
};

struct Row {
  const char* key;
  Kind kind;
  const char* option = nullptr;
  const char* value = nullptr;  ///< of a flag
};

constexpr Row table[] = {
    {PMIX_HOST, Kind::text, "--host"},
    {PMIX_HOSTFILE, Kind::text, "--hostfile"},
    {PMIX_ADD_HOST, Kind::text, "--add-host"},
    {PMIX_ADD_HOSTFILE, Kind::text, "--add-hostfile"},
    {PMIX_WDIR, Kind::text, "--wdir"},
    {PMIX_PSET_NAME, Kind::text, "--pset"},
    {PMIX_MAPBY, Kind::text, "--map-by"},
    {PMIX_RANKBY, Kind::text, "--rank-by"},
    {PMIX_BINDTO, Kind::text, "--bind-to"},
    {PMIX_PPR, Kind::ppr, "--map-by"},
    {PMIX_CPUS_PER_PROC, Kind::number, "--cpus-per-rank"},
    {PMIX_CPU_LIST, Kind::text, "--cpu-list"},
    {PMIX_TAG_OUTPUT, Kind::flag, "--tag-output"},
    {PMIX_TIMESTAMP_OUTPUT, Kind::flag, "--timestamp-output"},
    {PMIX_MERGE_STDERR_STDOUT, Kind::flag, "--merge-stderr-to-stdout"},
    {PMIX_OUTPUT_TO_DIRECTORY, Kind::text, "--output-dir"},
    {PMIX_IOF_TAG_OUTPUT, Kind::flag, "--tag-output"},
    {PMIX_IOF_RANK_OUTPUT, Kind::flag, "--tag-output"},
    {PMIX_IOF_TIMESTAMP_OUTPUT, Kind::flag, "--timestamp-output"},
    {PMIX_IOF_MERGE_STDERR_STDOUT, Kind::flag, "--merge-stderr-to-stdout"},
    {PMIX_IOF_OUTPUT_TO_DIRECTORY, Kind::text, "--output-dir"},
    {PMIX_SPAWN_PTY, Kind::flag, "--pty"},
    {PMIX_REPORT_BINDINGS, Kind::flag, "--report-bindings"},
    {PMIX_JOB_RECOVERABLE, Kind::flag, "--on-failure", "continue"},
    {PMIX_JOB_CONTINUOUS, Kind::flag, "--on-failure", "continue"},
    {PMIX_JOB_TIMEOUT, Kind::number, "--timeout"},
    {PMIX_DEBUG_STOP_ON_EXEC, Kind::ranks, "--stop-on-exec"},
    {PMIX_DEBUG_STOP_IN_INIT, Kind::ranks, "--stop-in-init"},
    {PMIX_DEBUG_STOP_IN_APP, Kind::ranks, "--stop-in-app"},
    // Of the parent's job, or as it is anyway: each process of the run may listen to the ends of its jobs.
    {PMIX_NOTIFY_COMPLETION, Kind::ignored},
    {PMIX_SPAWNED, Kind::ignored},
    {PMIX_PARENT_ID, Kind::ignored},
    {PMIX_REQUESTOR_IS_TOOL, Kind::ignored},
    {PMIX_REQUESTOR_IS_CLIENT, Kind::ignored},
    {PMIX_USERID, Kind::ignored},
    {PMIX_GRPID, Kind::ignored},
    {PMIX_PERSONALITY, Kind::ignored},
    {PMIX_PREFIX, Kind::ignored},
    {PMIX_WDIR_USER_SPECIFIED, Kind::ignored},
    {PMIX_SET_SESSION_CWD, Kind::ignored},
    {PMIX_ENVARS_HARVESTED, Kind::ignored},
    {PMIX_FWD_STDDIAG, Kind::ignored},
    {PMIX_ABORT_NON_ZERO_TERM, Kind::ignored},
};

std::string_view key_of(const pmix_info_t& info) {
  return {info.key, ::strnlen(info.key, PMIX_MAX_KEYLEN)};
}

std::optional<std::string> text_of(const pmix_value_t& value) {
  if (value.type != PMIX_STRING || value.data.string == nullptr) return std::nullopt;
  return std::string(value.data.string);
}

std::optional<bool> truth_of(const pmix_value_t& value) {
  if (value.type == PMIX_UNDEF) return true;
  if (value.type == PMIX_BOOL) return value.data.flag;
  return std::nullopt;
}

std::optional<std::uint32_t> number_of(const pmix_value_t& value) {
  std::int64_t number = 0;
  pmix_status_t status = PMIX_SUCCESS;
  PMIX_VALUE_GET_NUMBER(status, &value, number, std::int64_t);
  const bool is_right =
      status == PMIX_SUCCESS && number >= 0 && number <= std::numeric_limits<std::int32_t>::max();
  return is_right ? std::optional(static_cast<std::uint32_t>(number)) : std::nullopt;
}

std::optional<std::string> written_number(const pmix_value_t& value) {
  const auto number = number_of(value);
  return number ? std::optional(std::to_string(*number)) : std::nullopt;
}

/// A rank, or that of a process; PMIX_RANK_WILDCARD: all.
std::optional<pmix_rank_t> rank_of(const pmix_value_t& value) {
  if (value.type == PMIX_PROC_RANK) return value.data.rank;
  if (value.type == PMIX_PROC && value.data.proc != nullptr) return value.data.proc->rank;
  if (value.type == PMIX_UINT32) return value.data.uint32;
  return std::nullopt;
}

/// Ranks that the parent is going to push to, as words. Nothing: the value is none.
std::optional<Words> pushes_to(const pmix_value_t& value) {
  if (const auto truth = truth_of(value)) return *truth ? Words{"--stdin", "push"} : Words();
  const auto rank = rank_of(value);
  if (!rank) return std::nullopt;
  return Words{"--stdin", *rank == PMIX_RANK_WILDCARD ? "push" : "push:" + std::to_string(*rank)};
}

/// A rank that is named counts more than that there are pushes at all.
void set_pushes(const Words& pushes, bool names_rank, Words& words) {
  const auto before = std::find(words.begin(), words.end(), "--stdin");
  if (before != words.end() && !names_rank) return;
  if (before != words.end()) words.erase(before, before + 2);
  words.insert(words.end(), pushes.begin(), pushes.end());
}

std::string listed(const pmix_rank_t* ranks, std::size_t count, std::size_t stride) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    const auto rank =
        *reinterpret_cast<const pmix_rank_t*>(reinterpret_cast<const char*>(ranks) + i * stride);
    if (rank == PMIX_RANK_WILDCARD) return "all";
    out += (out.empty() ? "" : ",") + std::to_string(rank);
  }
  return out.empty() ? "none" : out;
}

/// The ranks that a debugger means, as the value of an option: of a bool, a rank, a process, or an array of
/// ranks or processes.
std::optional<std::string> ranks_in(const pmix_value_t& value) {
  if (const auto truth = truth_of(value)) return std::string(*truth ? "all" : "none");
  if (const auto rank = rank_of(value)) return listed(&*rank, 1, sizeof *rank);
  const auto* const array = value.type == PMIX_DATA_ARRAY ? value.data.darray : nullptr;
  if (array == nullptr || array->array == nullptr || array->size > job::most_ranks) return std::nullopt;
  if (array->type == PMIX_PROC_RANK)
    return listed(static_cast<const pmix_rank_t*>(array->array), array->size, sizeof(pmix_rank_t));
  if (array->type == PMIX_PROC)
    return listed(&static_cast<const pmix_proc_t*>(array->array)->rank, array->size, sizeof(pmix_proc_t));
  return std::nullopt;
}

/// False: the value is none of this kind.
bool add(const Row& row, const pmix_value_t& value, Words& words) {
  if (row.kind == Kind::ignored) return true;
  if (row.kind == Kind::flag) {
    const auto truth = truth_of(value);
    if (truth && *truth) words.emplace_back(row.option);
    if (truth && *truth && row.value != nullptr) words.emplace_back(row.value);
    return truth.has_value();
  }
  if (row.kind == Kind::ranks) {
    const auto ranks = ranks_in(value);
    if (ranks) words.push_back(row.option + ("=" + *ranks));
    return ranks.has_value();
  }
  auto text = row.kind == Kind::number ? written_number(value) : text_of(value);
  if (!text) return false;
  words.emplace_back(row.option);
  words.push_back(row.kind == Kind::ppr ? "ppr:" + *text : std::move(*text));
  return true;
}

std::optional<How> how_of(std::string_view key) {
  constexpr std::pair<const char*, How> all[] = {{PMIX_SET_ENVAR, How::set},
                                                 {PMIX_ADD_ENVAR, How::set_if_new},
                                                 {PMIX_UNSET_ENVAR, How::unset},
                                                 {PMIX_PREPEND_ENVAR, How::prepend},
                                                 {PMIX_APPEND_ENVAR, How::append}};
  for (const auto& [name, how] : all)
    if (key == name) return how;
  return std::nullopt;
}

std::optional<job::EnvironmentSetting> setting_of(How how, const pmix_value_t& value) {
  if (how == How::unset) {
    auto name = text_of(value);
    return name ? std::optional(job::EnvironmentSetting{std::move(*name), std::nullopt, how}) : std::nullopt;
  }
  const auto& variable = value.data.envar;
  if (value.type != PMIX_ENVAR || variable.envar == nullptr || variable.value == nullptr) return std::nullopt;
  return job::EnvironmentSetting{variable.envar, std::string(variable.value), how,
                                 variable.separator == '\0' ? ':' : variable.separator};
}

/// The words and changes of the environment that infos of the job, or of a program, come to.
class Infos {
 public:
  /// program: of the job, or of all of them.
  Infos(job::SpawnRequest::Program& program, Words& words, job::SpawnRequest& request)
      : words_(words), settings_(program.settings), program_(program), request_(request) {}

  pmix_status_t read(std::span<const pmix_info_t> infos) {
    for (const auto& info : infos)
      if (const auto status = read(info); status != PMIX_SUCCESS) return status;
    return PMIX_SUCCESS;
  }

 private:
  pmix_status_t read(const pmix_info_t& info) {
    const auto key = key_of(info);
    if (const auto how = how_of(key)) {
      auto setting = setting_of(*how, info.value);
      if (!setting) return PMIX_ERR_BAD_PARAM;
      settings_.push_back(std::move(*setting));
      return PMIX_SUCCESS;
    }
    if (key == PMIX_NOTIFY_JOB_EVENTS) {
      const auto truth = truth_of(info.value);
      request_.tells_start = truth.value_or(false);
      return truth ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
    }
    if (key == PMIX_TIMEOUT || key == PMIX_SPAWN_TIMEOUT) {
      const auto seconds = number_of(info.value);
      if (seconds) request_.start_seconds = *seconds;
      return seconds ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
    }
    if (key == PMIX_NO_OVERSUBSCRIBE) {
      const auto truth = truth_of(info.value);
      if (truth) request_.may_oversubscribe = !*truth;
      return truth ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
    }
    if (key == PMIX_FWD_STDIN || key == PMIX_STDIN_TGT) {
      const auto pushes = pushes_to(info.value);
      const bool names_rank = key == PMIX_STDIN_TGT || !truth_of(info.value);
      if (pushes) set_pushes(*pushes, names_rank, words_);
      return pushes ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
    }
    if (key == PMIX_FWD_STDOUT || key == PMIX_FWD_STDERR) {
      const auto truth = truth_of(info.value);
      (key == PMIX_FWD_STDOUT ? request_.keeps_output : request_.keeps_errors) |= truth.value_or(false);
      return truth ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
    }
    if (const auto status = read_debugger(key, info.value)) return *status;
    const auto* row =
        std::find_if(std::begin(table), std::end(table), [&](const Row& each) { return key == each.key; });
    if (row != std::end(table)) return add(*row, info.value, words_) ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
    return PMIX_INFO_IS_REQUIRED(&info) ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS;
  }

  /// Nothing: the key is about something else.
  std::optional<pmix_status_t> read_debugger(std::string_view key, const pmix_value_t& value) {
    auto& daemons = program_.daemons;
    const auto take = [](auto& out, const auto& read) {
      if (read) out = *read;
      return read ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
    };
    if (key == PMIX_DEBUGGER_DAEMONS) return take(daemons.are_meant, truth_of(value));
    if (key == PMIX_COSPAWN_APP) return take(program_.is_apart, truth_of(value));
    if (key == PMIX_DEBUG_DAEMONS_PER_NODE) return take(daemons.per_node, daemons_of(value));
    if (key == PMIX_DEBUG_DAEMONS_PER_PROC) return take(daemons.per_process, daemons_of(value));
    if (key != PMIX_DEBUG_TARGET) return std::nullopt;
    const bool is_process = value.type == PMIX_PROC && value.data.proc != nullptr;
    if (is_process) daemons.target = name_of(*value.data.proc);
    return is_process ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
  }
  static std::optional<std::uint32_t> daemons_of(const pmix_value_t& value) {
    const auto number = number_of(value);
    return number && *number <= job::most_ranks_a_node ? number : std::nullopt;
  }

  Words& words_;
  std::vector<job::EnvironmentSetting>& settings_;
  job::SpawnRequest::Program& program_;
  job::SpawnRequest& request_;
};

pmix_status_t read_variables(char* const* variables, std::vector<job::EnvironmentSetting>& out) {
  for (; variables != nullptr && *variables != nullptr; ++variables) {
    const std::string_view text(*variables);
    const auto equals = text.find('=');
    if (equals == 0 || equals == std::string_view::npos) return PMIX_ERR_BAD_PARAM;
    out.push_back({std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))});
  }
  return PMIX_SUCCESS;
}

/// of_all: what the job says for each program.
pmix_status_t read_program(const pmix_app_t& app, const job::SpawnRequest::Program& of_all,
                           job::SpawnRequest& request) {
  auto& program = request.programs.emplace_back(of_all);
  for (char** word = app.argv; word != nullptr && *word != nullptr; ++word) program.argv.emplace_back(*word);
  // The Standard lets argv begin with the program's name, and cmd say where it is.
  if (program.argv.empty()) program.argv.emplace_back();
  if (app.cmd != nullptr && app.cmd[0] != '\0') program.argv.front() = app.cmd;
  if (program.argv.front().empty()) return PMIX_ERR_JOB_NO_EXE_SPECIFIED;
  if (app.cwd != nullptr && app.cwd[0] != '\0') program.words = {"--wdir", app.cwd};
  const std::span infos(app.info, app.info == nullptr ? 0 : app.ninfo);
  auto status = Infos(program, program.words, request).read(infos);
  // How many daemons there are may follow from the processes that they are for.
  if (app.maxprocs <= 0 && !program.daemons.are_meant) return PMIX_ERR_BAD_PARAM;
  program.ranks = static_cast<std::uint32_t>(std::max(app.maxprocs, 1));
  if (status == PMIX_SUCCESS) status = read_variables(app.env, program.settings);
  return status;
}

/// Daemons alone are for a job that runs already; others are for that of the same request.
pmix_status_t check_daemons(const job::SpawnRequest& request) {
  const auto& all = request.programs;
  const bool are_alone =
      std::all_of(all.begin(), all.end(), [](const auto& program) { return program.daemons.are_meant; });
  const bool is_wrong = std::any_of(all.begin(), all.end(), [&](const auto& program) {
    const auto& daemons = program.daemons;
    return daemons.are_meant &&
           ((daemons.per_node != 0 && daemons.per_process != 0) || (are_alone && !daemons.target));
  });
  return is_wrong ? PMIX_ERR_BAD_PARAM : PMIX_SUCCESS;
}

}  // namespace

std::vector<std::string> spawn_attributes() {
  std::vector<std::string> out{PMIX_SET_ENVAR,
                               PMIX_ADD_ENVAR,
                               PMIX_UNSET_ENVAR,
                               PMIX_PREPEND_ENVAR,
                               PMIX_APPEND_ENVAR,
                               PMIX_NO_OVERSUBSCRIBE,
                               PMIX_NOTIFY_JOB_EVENTS,
                               PMIX_TIMEOUT,
                               PMIX_SPAWN_TIMEOUT,
                               PMIX_DEBUGGER_DAEMONS,
                               PMIX_DEBUG_TARGET,
                               PMIX_DEBUG_DAEMONS_PER_NODE,
                               PMIX_DEBUG_DAEMONS_PER_PROC,
                               PMIX_COSPAWN_APP};
  for (const auto& row : table)
    if (row.kind != Kind::ignored) out.emplace_back(row.key);
  return out;
}

pmix_status_t read_spawn_call(const pmix_proc_t& parent, const pmix_info_t infos[], std::size_t count,
                              const pmix_app_t apps[], std::size_t programs, job::SpawnRequest& out) {
  if (programs == 0 || apps == nullptr) return PMIX_ERR_BAD_PARAM;
  if (programs > most_spawned_programs) return PMIX_ERR_OUT_OF_RESOURCE;
  out.parent = {std::string(parent.nspace, ::strnlen(parent.nspace, PMIX_MAX_NSLEN)), job::Rank{parent.rank}};
  job::SpawnRequest::Program of_all;  // a program's own comes behind
  auto status = Infos(of_all, out.words, out).read({infos, infos == nullptr ? 0 : count});
  for (std::size_t i = 0; i < programs && status == PMIX_SUCCESS; ++i)
    status = read_program(apps[i], of_all, out);
  return status == PMIX_SUCCESS ? check_daemons(out) : status;
}

}  // namespace weft::host
