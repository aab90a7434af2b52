// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/connections/tokens.hpp"

#include "core/link/messages.hpp"

namespace weft::server {

link::Token Tokens::token_of(const pmix_proc_t& proc) {
  const std::lock_guard lock(mutex_);
  const auto [entry, made] = tokens_.try_emplace({std::string(link::nspace_of(proc)), proc.rank});
  if (made) entry->second = link::Token::random();
  return entry->second;
}

bool Tokens::accepts(std::string_view nspace, std::uint32_t rank, const link::Token& token) const {
  const std::lock_guard lock(mutex_);
  const auto found = tokens_.find({std::string(nspace), rank});
  return found != tokens_.end() && found->second.equals(token);
}

void Tokens::forget(std::string_view nspace) {
  const std::lock_guard lock(mutex_);
  std::erase_if(tokens_, [&](const auto& entry) { return entry.first.first == nspace; });
}

}  // namespace weft::server
