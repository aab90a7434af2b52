// SPDX-License-Identifier: BSD-3-Clause
// What the rooms of a server have open that a lost node may leave undecided, beside collectives: each room says
// what it has, and takes what the servers that are left have agreed on (views.hpp).
//
// A room that waits for a word of a node of which it knows that it is lost takes no other word for it than that
// of a view: what it reports is all that any later word could rest on.
#pragma once

#include <cstdint>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/wire.hpp"
#include "transport/mesh/node.hpp"

namespace weft::server {

class ViewRoom {
 public:
  using Reports = std::map<mesh::NodeNumber, std::vector<std::byte>>;

  virtual bool has_undecided() const = 0;
  /// What is undecided here, and what has been decided here and may be undecided elsewhere.
  virtual std::vector<std::byte> report() const = 0;
  /// At the leader: what all of these reports make of what one of them has not decided. Empty: nothing is
  /// undecided.
  virtual std::vector<std::byte> decide(const Reports& reports) const = 0;
  /// What decide() has returned at the leader.
  virtual void install(Bytes decisions) = 0;

 protected:
  ~ViewRoom() = default;
};

/// A list that travels.
template <class Item>
struct ViewItems {
  static constexpr std::uint16_t wire_version = 1;
  std::vector<Item> items;
};
template <class Archive, class Item>
void fields(Archive& archive, ViewItems<Item>& m) {
  archive(m.items);
}

/// A room that reports items. Item has `is_open` (undecided at a server that reports it), key(), by which the
/// items of several servers are the same one, and add(other), of a server with a higher number.
template <class Item>
class ViewRoomOf : public ViewRoom {
 public:
  std::vector<std::byte> report() const final { return base::encode(ViewItems<Item>{items()}); }

  std::vector<std::byte> decide(const Reports& reports) const final {
    auto out = decided(reports);
    return out.empty() ? std::vector<std::byte>() : base::encode(ViewItems<Item>{std::move(out)});
  }

  void install(Bytes decisions) final {
    if (auto decided = base::decode<ViewItems<Item>>(decisions)) settle(std::move(decided->items));
  }

  static std::vector<Item> decided(const Reports& reports) {
    std::map<std::decay_t<decltype(std::declval<const Item&>().key())>, Item> all;
    for (const auto& [node, bytes] : reports) {
      auto said = base::decode<ViewItems<Item>>(bytes);
      if (!said) continue;
      for (auto& item : said->items) {
        const auto [known, is_new] = all.try_emplace(item.key(), item);
        if (is_new) continue;
        const bool is_open = known->second.is_open || item.is_open;
        known->second.add(std::move(item));
        known->second.is_open = is_open;
      }
    }
    std::vector<Item> out;
    for (auto& [key, item] : all)
      if (item.is_open) out.push_back(std::move(item));
    return out;
  }

 protected:
  ~ViewRoomOf() = default;

 private:
  virtual std::vector<Item> items() const = 0;
  virtual void settle(std::vector<Item> decided) = 0;
};

}  // namespace weft::server
