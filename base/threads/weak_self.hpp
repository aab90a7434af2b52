// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

namespace weft::base {

/// For callbacks that may come after their owner has ended: a member of the owner,
/// `const base::WeakSelf<Owner> weak_self_{this};`. A callback captures `self = weak_self_.get()` and asks
/// `if (Owner* owner = self())`. All of this is for one thread: the owner does
/// not end while a callback runs, unless by that callback.
template <class Owner>
class WeakSelf {
 public:
  explicit WeakSelf(Owner* owner) : owner_(std::make_shared<Owner*>(owner)) {}
  WeakSelf(const WeakSelf&) = delete;
  WeakSelf& operator=(const WeakSelf&) = delete;

  class Reference {
   public:
    explicit Reference(std::weak_ptr<Owner*> owner) noexcept : owner_(std::move(owner)) {}
    /// NULL: it has ended.
    Owner* operator()() const noexcept {
      const auto owner = owner_.lock();
      return owner ? *owner : nullptr;
    }

   private:
    std::weak_ptr<Owner*> owner_;
  };
  Reference get() const noexcept { return Reference(owner_); }

 private:
  std::shared_ptr<Owner*> owner_;
};

}  // namespace weft::base
