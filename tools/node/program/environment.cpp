// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/program/environment.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <pmix.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string_view>

namespace weft::node {
namespace {

std::string_view name_part(std::string_view assignment) {
  return assignment.substr(0, assignment.find('='));
}

const std::string* find(const Variables& variables, std::string_view name) {
  const auto same = [name](const std::string& variable) { return name_part(variable) == name; };
  const auto at = std::find_if(variables.begin(), variables.end(), same);
  return at == variables.end() ? nullptr : &*at;
}

bool is_default_directory(std::string_view directory) {
  constexpr std::array<std::string_view, 6> searched = {
      "/lib", "/usr/lib", "/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"};
  return std::find(searched.begin(), searched.end(), directory) != searched.end();
}

std::string with_library_path(const Variables& variables, const std::string& directory) {
  const auto others = value_of(variables, "LD_LIBRARY_PATH");
  return fmt::format("LD_LIBRARY_PATH={}{}{}", directory, others.empty() ? "" : ":", others);
}

/// The address of any function of the library leads to the file that it was loaded from.
std::string loaded_from() {
  Dl_info found{};
  if (::dladdr(reinterpret_cast<const void*>(&PMIx_Get_version), &found) == 0) return {};
  return found.dli_fname == nullptr ? std::string() : std::string(found.dli_fname);
}

}  // namespace

bool belongs_to_another_job(const char* variable) noexcept {
  // PMIX_MCA_* stays: a user's own settings of an OpenPMIx library have that form.
  constexpr std::array<std::string_view, 23> prefixes = {"PMIX_NAMESPACE=",  "PMIX_RANK=",
                                                         "PMIX_ID=",         "PMIX_SERVER_",
                                                         "PMIX_DSTORE_",     "PMIX_VERSION=",
                                                         "PMIX_HOSTNAME=",   "PMIX_SECURITY_MODE=",
                                                         "PMIX_GDS_MODULE=", "PMIX_BFROP_BUFFER_TYPE=",
                                                         "PMIX_PTL_MODULE=", "OMPI_COMM_WORLD_",
                                                         "OMPI_MCA_orte_",   "OMPI_MCA_ess",
                                                         "WEFT_NODE=",       "PMI_FD=",
                                                         "PMI_PORT=",        "PMI_ID=",
                                                         "PMI_RANK=",        "PMI_SIZE=",
                                                         "PMI_SPAWNED=",     "PMI_JOBID=",
                                                         "WEFT_PMI_PREPUT="};
  const std::string_view text(variable);
  const auto starts = [text](std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; };
  return std::any_of(prefixes.begin(), prefixes.end(), starts);
}

void forget_other_jobs() {
  std::vector<std::string> names;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    if (belongs_to_another_job(*at)) names.emplace_back(name_part(*at));
  }
  for (const auto& name : names) ::unsetenv(name.c_str());
}

std::string library_file() {
  std::array<char, PATH_MAX> resolved;
  const std::string given = loaded_from();
  return given.empty() || ::realpath(given.c_str(), resolved.data()) == nullptr ? std::string()
                                                                                : resolved.data();
}

std::string library_directory() {
  std::array<char, PATH_MAX> resolved;
  const std::string loaded = loaded_from();
  const std::string_view given(loaded);
  const auto slash = given.rfind('/');
  if (slash == std::string_view::npos) return {};
  // The directory is resolved and not the file: the ranks look for the name libpmix.so.2 in it.
  const std::string directory(given.substr(0, slash == 0 ? 1 : slash));
  if (::realpath(directory.c_str(), resolved.data()) == nullptr) return {};
  return is_default_directory(resolved.data()) || is_default_directory(directory)
             ? std::string()
             : std::string(resolved.data());
}

std::string value_of(const Variables& variables, std::string_view name) {
  const std::string* found = find(variables, name);
  return found == nullptr ? std::string() : found->substr(name.size() + 1);
}

void set_variable(Variables& variables, const std::string& assignment) {
  const auto name = name_part(assignment);
  const auto same = [name](const std::string& variable) { return name_part(variable) == name; };
  const auto at = std::find_if(variables.begin(), variables.end(), same);
  if (at == variables.end())
    variables.push_back(assignment);
  else
    *at = assignment;
}

Variables without_other_jobs(const Variables& inherited) {
  Variables variables;
  std::copy_if(inherited.begin(), inherited.end(), std::back_inserter(variables),
               [](const std::string& variable) { return !belongs_to_another_job(variable.c_str()); });
  return variables;
}

Variables additions_to(const Variables& environment, const std::string& library_path, bool oversubscribed) {
  Variables additions;
  const auto add_unless_set = [&](const char* assignment) {
    if (find(environment, name_part(assignment)) == nullptr) additions.emplace_back(assignment);
  };
  if (!library_path.empty()) additions.push_back(with_library_path(environment, library_path));
  // Open MPI 4 asks its "schizo" layer how it was launched, and becomes N jobs of one rank if that does not
  // know. This variable makes it answer "direct launch by a PMIx server"; nothing else in Open MPI reads it.
  add_unless_set("JSM_JSRUN_PORT=0");
  // mpirun sets this when it oversubscribes: waiting ranks then yield instead of spinning on a core that
  // the rank they wait for needs.
  if (oversubscribed) add_unless_set("OMPI_MCA_mpi_oversubscribe=1");
  return additions;
}

Variables openmp_variables(const Variables& environment, std::uint32_t threads, job::BindTo bind) {
  Variables variables;
  const auto is_set = [&](std::string_view name) { return find(environment, name) != nullptr; };
  if (!is_set("OMP_NUM_THREADS")) variables.push_back(fmt::format("OMP_NUM_THREADS={}", threads));
  // Those of the compilers say the same in words of their own, and one that finds both warns in every rank.
  constexpr std::array<std::string_view, 4> ways = {"OMP_PLACES", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY",
                                                    "KMP_AFFINITY"};
  if (bind == job::BindTo::none || std::any_of(ways.begin(), ways.end(), is_set)) return variables;
  variables.emplace_back(bind == job::BindTo::hwthread ? "OMP_PLACES=threads" : "OMP_PLACES=cores");
  variables.emplace_back("OMP_PROC_BIND=close");
  return variables;
}

std::string working_directory_variable(const std::string& directory, const std::string& from) {
  std::filesystem::path path = std::filesystem::path(from) / directory;
  const auto has_dots = [](const std::filesystem::path& part) { return part == "." || part == ".."; };
  std::error_code error;
  if (std::any_of(path.begin(), path.end(), has_dots)) {
    auto resolved = std::filesystem::canonical(path, error);
    if (!error) path = std::move(resolved);
  }
  std::string text = path.string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return "PWD=" + text;
}

Variables rank_environment(const RankIdentity& identity) {
  return {fmt::format("OMPI_COMM_WORLD_RANK={}", number(identity.rank)),
          fmt::format("OMPI_COMM_WORLD_SIZE={}", identity.size),
          fmt::format("OMPI_COMM_WORLD_LOCAL_RANK={}", identity.local_rank),
          fmt::format("OMPI_COMM_WORLD_LOCAL_SIZE={}", identity.local_size),
          fmt::format("OMPI_COMM_WORLD_NODE_RANK={}", identity.local_rank)};
}

std::vector<char*> make_envp(const Variables& shared, const Variables& own) {
  std::vector<char*> envp;
  envp.reserve(shared.size() + own.size() + 1);
  std::vector<std::string_view> names;
  names.reserve(own.size());
  for (const auto& variable : own) names.push_back(name_part(variable));
  // execve takes char* and does not write to the strings.
  for (const auto& variable : shared) {
    const bool replaced = std::find(names.begin(), names.end(), name_part(variable)) != names.end();
    if (!replaced) envp.push_back(const_cast<char*>(variable.c_str()));
  }
  for (const auto& variable : own) envp.push_back(const_cast<char*>(variable.c_str()));
  envp.push_back(nullptr);
  return envp;
}

}  // namespace weft::node
