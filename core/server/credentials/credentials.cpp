// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/credentials/credentials.hpp"

#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/data/names/call_attributes.hpp"
#include "core/data/names/deadline.hpp"

namespace weft::server {
namespace {

WallTime wall_time() {
  return std::chrono::duration_cast<WallTime>(std::chrono::system_clock::now().time_since_epoch());
}

CredentialOwner owner_behind(const Requester& from) {
  return {from.connection->uid, from.connection->gid, std::string(link::nspace_of(from.proc())),
          from.proc().rank};
}

/// The words of a list in a string.
std::vector<std::string_view> words_of(std::string_view list) {
  std::vector<std::string_view> out;
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    if (comma != 0) out.push_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return out;
}

/// The types that a call accepts, the best first. Errors: type_mismatch.
Result<std::vector<std::string_view>> types_in(const data::Infos& directives) {
  for (const auto& info : std::span(directives.data(), directives.size())) {
    if (data::key_of(info) != PMIX_CRED_TYPE) continue;
    if (info.value.type != PMIX_STRING || info.value.data.string == nullptr) return fail(Errc::type_mismatch);
    return words_of(info.value.data.string);
  }
  return std::vector{Credentials::munge_type, Credentials::run_type};
}

data::Infos of_type(std::string_view type) {
  data::Infos out;
  out.add(PMIX_CRED_TYPE, data::Value::of(type));
  return out;
}

data::Infos results_of(const CredentialOwner& owner, std::string_view type) {
  auto out = of_type(type);
  out.add(PMIX_USERID, data::Value::of(owner.uid));
  out.add(PMIX_GRPID, data::Value::of(owner.gid));
  if (!owner.nspace.empty())
    out.add(PMIX_PROCID, data::Value::of_proc(link::make_proc(owner.nspace, owner.rank)));
  return out;
}

/// A call that a server serves itself refuses what it is required to obey and does not know.
pmix_status_t judge(const char* call, const data::Infos& directives) {
  const auto* unknown = data::first_not_understood(call, directives.data(), directives.size());
  return unknown == nullptr ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
}

void answer_run_token(const Requester& from, const std::vector<std::byte>& token) {
  from.answer({PMIX_SUCCESS, data::Value::of_bytes(token), of_type(Credentials::run_type)});
}

pmix_status_t status_of_refusal(const Error& error) {
  if (error.code == Errc::no_memory) return PMIX_ERR_NOMEM;
  return error.code == Errc::not_supported ? PMIX_ERR_NOT_SUPPORTED : PMIX_ERR_INVALID_CRED;
}

}  // namespace

Credentials::Credentials(Loop& loop, const Cluster& cluster, std::string munge_socket)
    : loop_(loop),
      cluster_(cluster),
      munge_(std::make_shared<Munge>(std::move(munge_socket))),
      off_loop_(loop, "weft-munge") {
  if (::sodium_init() < 0) throw std::runtime_error("libsodium has no random numbers");
  ::randombytes_buf(own_key_.data(), own_key_.size());
}

Credentials::~Credentials() {
  ::sodium_memzero(own_key_.data(), own_key_.size());
}

CredentialKey Credentials::key() const {
  return cluster_.key_for(key_purpose).value_or(own_key_);
}

/// A token that was made before the server had others is under its own key.
Result<CredentialOwner> Credentials::check(std::string_view text) const {
  const auto now = wall_time();
  auto owner = RunToken::check(text, now, key());
  if (!owner && owner.error().code == Errc::denied) owner = RunToken::check(text, now, own_key_);
  return owner;
}

// ---- get

void Credentials::get(const Requester& from, const link::GetCredential& message) {
  const auto types = types_in(message.directives);
  const auto timeout = data::timeout_in(message.directives);
  if (!types || !timeout) return from.answer({PMIX_ERR_BAD_PARAM, {}, {}});
  if (const auto status = judge("PMIx_Get_credential", message.directives); status != PMIX_SUCCESS)
    return from.answer({status, {}, {}});
  const auto owner = owner_behind(from);
  const bool is_of_server = owner.uid == ::geteuid() && owner.gid == ::getegid();
  const auto munge = is_of_server ? std::find(types->begin(), types->end(), munge_type) : types->end();
  const auto run = std::find(types->begin(), types->end(), run_type);
  if (munge == types->end() && run == types->end()) return from.answer({PMIX_ERR_NOT_SUPPORTED, {}, {}});
  if (run < munge) return answer_run_token(from, RunToken::make(owner, wall_time(), key()));
  get_by_munge(from, *timeout, owner, run != types->end());
}

void Credentials::get_by_munge(const Requester& from, data::Timeout timeout, const CredentialOwner& owner,
                               bool takes_run_token) {
  using Made = Result<std::string>;
  const auto token = RunToken::make(owner, wall_time(), key());
  ask_munge<Made>(
      from, timeout,
      [payload = std::string(text_of_credential(token))](Munge& munge) { return munge.encode(payload); },
      [token, takes_run_token](const Requester& to, const Made& made) {
        if (!made && takes_run_token) return answer_run_token(to, token);
        if (!made) return to.answer({PMIX_ERR_NOT_SUPPORTED, {}, {}});
        const auto bytes = as_bytes({made->c_str(), made->size() + 1});
        to.answer({PMIX_SUCCESS, data::Value::of_bytes(bytes), of_type(munge_type)});
      });
}

// ---- validate

void Credentials::validate(const Requester& from, const link::ValidateCredential& message) {
  const auto timeout = data::timeout_in(message.directives);
  if (!timeout) return from.answer({PMIX_ERR_BAD_PARAM, {}, {}});
  if (const auto status = judge("PMIx_Validate_credential", message.directives); status != PMIX_SUCCESS)
    return from.answer({status, {}, {}});
  const auto text = text_of_credential(message.credential);
  text.starts_with(Munge::prefix) ? validate_by_munge(from, *timeout, text) : validate_run_token(from, text);
}

void Credentials::validate_run_token(const Requester& from, std::string_view text) const {
  const auto owner = check(text);
  if (!owner) return from.answer({PMIX_ERR_INVALID_CRED, {}, {}});
  from.answer({PMIX_SUCCESS, {}, results_of(*owner, run_type)});
}

void Credentials::validate_by_munge(const Requester& from, data::Timeout timeout, std::string_view text) {
  using Decoded = Result<Munge::Decoded>;
  if (text.size() > Munge::most_bytes) return from.answer({PMIX_ERR_INVALID_CRED, {}, {}});
  ask_munge<Decoded>(
      from, timeout, [credential = std::string(text)](Munge& munge) { return munge.decode(credential); },
      [this](const Requester& to, const Decoded& decoded) {
        if (!decoded) return to.answer({status_of_refusal(decoded.error()), {}, {}});
        // Any process may have munge carry a token that it has seen: it names a process of that user only.
        auto owner = check(decoded->payload);
        if (!owner || owner->uid != decoded->uid || owner->gid != decoded->gid)
          owner = CredentialOwner{decoded->uid, decoded->gid, {}, 0};
        to.answer({PMIX_SUCCESS, {}, results_of(*owner, munge_type)});
      });
}

// ---- munge

template <class Outcome>
void Credentials::ask_munge(const Requester& from, data::Timeout timeout, std::function<Outcome(Munge&)> ask,
                            std::function<void(const Requester&, const Outcome&)> answer_with) {
  const auto number = ++last_number_;
  auto& open = open_.emplace(number, Open{from}).first->second;
  if (timeout)
    open.deadline =
        std::make_unique<Timer>(loop_, *data::deadline_after(timeout, loop_.now()), [this, number] {
          answer(number, [](const Requester& late) { late.answer({PMIX_ERR_TIMEOUT, {}, {}}); });
        });
  const bool is_asked =
      off_loop_.run([munge = munge_, ask = std::move(ask)] { return ask(*munge); },
                    [this, number, answer_with = std::move(answer_with)](const Outcome& outcome) {
                      answer(number, [&](const Requester& to) { answer_with(to, outcome); });
                    });
  if (!is_asked) answer(number, [](const Requester& to) { to.answer({PMIX_ERR_OUT_OF_RESOURCE, {}, {}}); });
}

void Credentials::answer(std::uint64_t number, const Answer& how) {
  auto open = open_.extract(number);
  if (open) how(open.mapped().from);
}

}  // namespace weft::server
