// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Get_credential and PMIx_Validate_credential where the host does not offer them. The loop's thread
// only.
//
// Types     "munge": munge certifies the user, and carries a run token (run_token.hpp) that names the
//           process. It is made for a process of the server's own user and group, because munge certifies the
//           process that asks it. Wherever munge's key is the credential is good for the user; which process
//           its owner is comes out in the same run alone.
//           "weft": the run token by itself, for any process of the run, and good in the run alone.
// Key       Of the run's servers, from the job key; a server that has no others has a key of its own.
// Munge     is asked on a thread of its own, for its daemon may take any time.
// Source: PMIx Standard, chapter "Security".
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/data/names/deadline.hpp"
#include "core/server/cluster/cluster.hpp"
#include "core/server/connections/requester.hpp"
#include "core/server/credentials/munge.hpp"
#include "core/server/credentials/run_token.hpp"
#include "core/server/loop/off_loop.hpp"

namespace weft::server {

class Credentials {
 public:
  static constexpr std::string_view munge_type = "munge", run_type = "weft";
  static constexpr const char* key_purpose = "credentials";

  /// munge_socket: as Munge.
  Credentials(Loop& loop, const Cluster& cluster, std::string munge_socket);
  ~Credentials();
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;

  void get(const Requester& from, const link::GetCredential& message);
  void validate(const Requester& from, const link::ValidateCredential& message);
  std::size_t open() const noexcept { return open_.size(); }

 private:
  /// A requester, until munge has answered or its time is over.
  struct Open {
    Requester from;
    std::unique_ptr<Timer> deadline{};
  };
  using Answer = std::function<void(const Requester& from)>;

  CredentialKey key() const;
  void get_by_munge(const Requester& from, data::Timeout timeout, const CredentialOwner& owner,
                    bool takes_run_token);
  void validate_run_token(const Requester& from, std::string_view text) const;
  void validate_by_munge(const Requester& from, data::Timeout timeout, std::string_view text);
  Result<CredentialOwner> check(std::string_view text) const;
  template <class Outcome>
  void ask_munge(const Requester& from, data::Timeout timeout, std::function<Outcome(Munge&)> ask,
                 std::function<void(const Requester&, const Outcome&)> answer);
  void answer(std::uint64_t number, const Answer& how);

  Loop& loop_;
  const Cluster& cluster_;
  CredentialKey own_key_;
  std::map<std::uint64_t, Open> open_;
  std::uint64_t last_number_ = 0;
  const std::shared_ptr<Munge> munge_;
  OffLoop off_loop_;
};

}  // namespace weft::server
