// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/launch/launch_info.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "base/settings.hpp"
#include "core/data/names/directive.hpp"
#include "core/link/messages.hpp"
#include "core/server/launch/user_parameter.hpp"

extern char** environ;

namespace weft::server {
namespace {

constexpr const char* launch_key = "weft.launch";
// What a user sets in the shell to steer a fabric has to reach every rank alike.
constexpr std::string_view prefixes[] = {"FI_", "UCX_", "WEFT_"};

/// What each process has of its own, and no other process's would do for.
bool may_travel(std::string_view name) {
  return !base::is_internal(name) && name != link::env_nspace && name != link::env_rank;
}

bool tunes_fabrics(std::string_view name) {
  for (const auto prefix : prefixes)
    if (name.substr(0, prefix.size()) == prefix) return true;
  return false;
}

template <class Wanted>
void harvest(const Wanted& wanted, Envars& out) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals == text.npos || equals == 0) continue;
    const auto name = text.substr(0, equals);
    if (may_travel(name) && wanted(name))
      out.push_back({EnvarChange::set, std::string(name), std::string(text.substr(equals + 1))});
  }
}

// ---- what travels

Result<LaunchBlob> unpack(const pmix_value_t& value) {
  const auto& object = value.data.bo;
  if (value.type != PMIX_BYTE_OBJECT || (object.bytes == nullptr && object.size != 0))
    return fail(Errc::corrupt, "it is no byte object");
  return decode_launch({reinterpret_cast<const std::byte*>(object.bytes), object.size});
}

bool is_denied(const pmix_info_t* infos, std::size_t count, std::string_view key) {
  for (std::size_t i = 0; i < count; ++i)
    if (data::key_of(infos[i]) == key && !data::is_true(infos[i].value)) return true;
  return false;
}

}  // namespace

Result<void> LaunchInfo::forward(const std::string& nspace, std::string_view patterns,
                                 std::string_view excluded, std::string& bad) {
  auto wanted = EnvarPatterns::parse(patterns, bad);
  if (!wanted) return fail(wanted.error());
  auto unwanted = excluded.empty() ? Result<EnvarPatterns>() : EnvarPatterns::parse(excluded, bad);
  if (!unwanted) return fail(unwanted.error());
  const std::lock_guard lock(mutex_);
  of_[nspace].forwards.push_back({std::move(*wanted), std::move(*unwanted)});
  return {};
}

Result<Envars> LaunchInfo::gather(const std::string& nspace, const pmix_info_t* infos, std::size_t count,
                                  std::string& bad) {
  const auto of_user =
      is_denied(infos, count, PMIX_SETUP_APP_ENVARS) ? std::string() : user_parameter("forward_envars");
  const auto users = of_user.empty() ? Result<EnvarPatterns>() : EnvarPatterns::parse(of_user, bad);
  if (!users) return fail(users.error());
  Envars own;
  if (count == 0 || data::is_set(infos, count, PMIX_SETUP_APP_ENVARS) ||
      data::is_set(infos, count, PMIX_SETUP_APP_ALL))
    harvest(tunes_fabrics, own);
  harvest([&](std::string_view name) { return users->match(name); }, own);
  const std::lock_guard lock(mutex_);
  auto& of = of_[nspace];
  for (const auto& each : of.forwards)
    harvest([&](std::string_view name) { return each.wanted.match(name) && !each.excluded.match(name); },
            own);
  if (auto read = read_envars(infos, count, own); !read) return fail(read.error());
  Envars all;
  for (std::size_t i = 0; i < count; ++i) {
    if (data::key_of(infos[i]) != PMIX_PARENT_ID) continue;
    if (infos[i].value.type != PMIX_PROC || infos[i].value.data.proc == nullptr)
      return fail(Errc::invalid, "PMIX_PARENT_ID");
    const auto parent = of_.find(link::nspace_of(*infos[i].value.data.proc));
    if (parent == of_.end()) continue;
    // The number of an application is one of its own job's.
    std::copy_if(parent->second.given.begin(), parent->second.given.end(), std::back_inserter(all),
                 [](const Envar& each) { return !each.application; });
  }
  all.insert(all.end(), own.begin(), own.end());
  of.given = all;
  return all;
}

void LaunchInfo::forget(std::string_view nspace) {
  const std::lock_guard lock(mutex_);
  if (const auto found = of_.find(nspace); found != of_.end()) of_.erase(found);
}

data::Infos pack_launch_info(const LaunchBlob& blob) {
  data::Infos out;
  if (!blob.envars.empty() || blob.fabric || !blob.contacts.empty())
    out.add(launch_key, data::Value::of_bytes(encode_launch(blob)));
  return out;
}

Result<LaunchBlob> read_launch_info(std::string_view nspace, const pmix_info_t* infos, std::size_t count) {
  LaunchBlob out;
  out.nspace = nspace;
  for (std::size_t i = 0; i < count; ++i) {
    if (data::key_of(infos[i]) != launch_key) {
      if (auto read = read_envars(infos + i, 1, out.envars); !read) return fail(read.error());
      continue;
    }
    auto packed = unpack(infos[i].value);
    if (!packed) return fail(packed.error());
    if (packed->nspace != nspace) return fail(Errc::invalid, "it is of another namespace");
    out.envars.insert(out.envars.end(), std::make_move_iterator(packed->envars.begin()),
                      std::make_move_iterator(packed->envars.end()));
    if (packed->fabric) out.fabric = std::move(packed->fabric);
    if (packed->costs) out.costs = packed->costs;
    out.contacts.insert(out.contacts.end(), std::make_move_iterator(packed->contacts.begin()),
                        std::make_move_iterator(packed->contacts.end()));
  }
  return out;
}

}  // namespace weft::server
