// SPDX-License-Identifier: BSD-3-Clause
// Messages about a group that other servers have already, and this one has not yet: its construct is still
// with the other nodes, or processes here have accepted an invitation and wait for its end. The loop's thread
// only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/server/groups/open/open_operations.hpp"
#include "core/server/groups/table/group_table.hpp"

namespace weft::server {

class EarlyMessages {
 public:
  struct Message {
    std::string group;
    std::function<void()> take;
    std::optional<Group> changed{};  ///< of a change of the group: what it is then
  };
  /// While it is held that group may have been made elsewhere, and is not known here.
  using Expected = std::shared_ptr<const std::string>;

  EarlyMessages(GroupTable& table, const OpenOperations& operations)
      : table_(table), operations_(operations) {}

  Expected expect(const std::string& group);
  /// What comes for that group now comes too early.
  bool is_expected(const std::string& group) const;
  void keep(Message message) { kept_.push_back(std::move(message)); }
  /// It is made here now, or is not: what has come for it is taken.
  void take(const std::string& group);
  const std::vector<Message>& kept() const noexcept { return kept_; }

 private:
  GroupTable& table_;
  const OpenOperations& operations_;
  std::vector<std::weak_ptr<const std::string>> expected_;
  std::vector<Message> kept_;
};

}  // namespace weft::server
