// SPDX-License-Identifier: BSD-3-Clause
// Launch information: what a launcher's server gathers for a job, and each node's server has done to the
// environment of its children. Source: RFC 0029 "Acquisition of Subsystem Launch Information"; Standard,
// PMIx_server_setup_application.
//
// It travels as one info, "weft.launch", a byte object (launch_blob.hpp).
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/server/launch/envar_patterns.hpp"
#include "core/server/launch/launch_blob.hpp"

namespace weft::server {

/// The launcher's side. Any thread.
class LaunchInfo {
 public:
  /// PMIx_Forward_envars: variables of this process whose names are among `patterns`, and not among
  /// `excluded` (which may be empty), travel with the job. Calls for one namespace add up. Errors: invalid,
  /// and `bad` is the pattern that is none; nothing is registered then.
  Result<void> forward(const std::string& nspace, std::string_view patterns, std::string_view excluded,
                       std::string& bad);
  /// The variables of `nspace`: what all applications of PMIX_PARENT_ID's namespaces were given, the
  /// variables that tune fabrics and Weft itself where PMIX_SETUP_APP_ENVARS or _ALL asks for them (or there
  /// are no directives), those that forward() and the user (PMIX_MCA_forward_envars, unless
  /// PMIX_SETUP_APP_ENVARS is false) name, and PMIX_SET_ENVAR and its like in their order. Errors: invalid: a
  /// directive that makes no sense, or `bad`, a pattern of the user's.
  Result<Envars> gather(const std::string& nspace, const pmix_info_t* infos, std::size_t count,
                        std::string& bad);
  /// The namespace has ended: its variables and patterns are forgotten.
  void forget(std::string_view nspace);

 private:
  struct Forward {
    EnvarPatterns wanted, excluded;
  };
  struct Of {
    std::vector<Forward> forwards;
    Envars given;
  };
  std::mutex mutex_;
  std::map<std::string, Of, std::less<>> of_;
};

/// As PMIx_server_setup_application hands it out: one info, or none where there is nothing to say.
data::Infos pack_launch_info(const LaunchBlob& blob);

/// A node's side: what pack_launch_info() packed for this namespace, and PMIX_SET_ENVAR and its like given as
/// they are. Of several, the last fabric counts. Errors: corrupt, invalid (of another namespace; a directive
/// that makes no sense); `what` says which.
Result<LaunchBlob> read_launch_info(std::string_view nspace, const pmix_info_t* infos, std::size_t count);

}  // namespace weft::server
