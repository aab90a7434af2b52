// SPDX-License-Identifier: BSD-3-Clause
#include "core/events/handler.hpp"

#include <algorithm>
#include <cstring>

#include "core/data/names/call_attributes.hpp"

namespace weft::events {
namespace {

using data::is_true;

struct PlaceName {
  std::string_view key;
  Position position;
};
constexpr PlaceName place_names[] = {
    {PMIX_EVENT_HDLR_FIRST, Position::first},
    {PMIX_EVENT_HDLR_LAST, Position::last},
    {PMIX_EVENT_HDLR_FIRST_IN_CATEGORY, Position::first_in_category},
    {PMIX_EVENT_HDLR_LAST_IN_CATEGORY, Position::last_in_category},
    {PMIX_EVENT_HDLR_PREPEND, Position::prepend},
    {PMIX_EVENT_HDLR_APPEND, Position::append},
};

Result<std::string> text_of(const pmix_value_t& value) {
  if (value.type != PMIX_STRING || value.data.string == nullptr) return fail(Errc::invalid, "not a string");
  return std::string(value.data.string);
}

Result<void> set_text(std::string& out, const pmix_value_t& value) {
  auto text = text_of(value);
  if (!text) return fail(text.error());
  out = std::move(*text);
  return {};
}

Result<void> set_range(HandlerSpec& spec, const pmix_value_t& value) {
  const auto number =
      value.type == PMIX_DATA_RANGE ? Result<std::uint64_t>(value.data.range) : data::as_unsigned(value);
  if (!number || *number > PMIX_RANGE_PROC_LOCAL) return fail(Errc::invalid, "not a range");
  spec.source_range = static_cast<pmix_data_range_t>(*number);
  return {};
}

// The array itself makes the range a custom one, with or without PMIX_RANGE beside it.
Result<void> set_custom_range(HandlerSpec& spec, const pmix_value_t& value) {
  auto procs = procs_in(value);
  if (!procs) return fail(procs.error());
  spec.custom_range = std::move(*procs);
  return {};
}

Result<void> add_affected(HandlerSpec& spec, const pmix_value_t& value) {
  const auto procs = procs_in(value);
  if (!procs) return fail(procs.error());
  if (!spec.affected) spec.affected.emplace();
  spec.affected->insert(spec.affected->end(), procs->begin(), procs->end());
  return {};
}

// Rejects two different positions, and a position at an edge together with a named neighbour: both cannot be
// kept.
class PlaceChoice {
 public:
  Result<void> add(Position position) {
    if (chosen_ && *chosen_ != position) return fail(Errc::invalid, "places that exclude each other");
    chosen_ = position;
    return {};
  }
  Result<void> apply(HandlerSpec& spec) const {
    if (chosen_) spec.position = *chosen_;
    const bool has_neighbour = !spec.before.empty() || !spec.after.empty();
    const bool fixed = spec.position != Position::prepend && spec.position != Position::append;
    if (has_neighbour && fixed) return fail(Errc::invalid, "places that exclude each other");
    return {};
  }

 private:
  std::optional<Position> chosen_;
};

Result<void> read_directive(HandlerSpec& spec, PlaceChoice& position, const pmix_info_t& info) {
  const auto key = data::key_of(info);
  const auto& value = info.value;
  for (const auto& known : place_names) {
    if (key == known.key) return is_true(value) ? position.add(known.position) : Result<void>{};
  }
  if (key == PMIX_EVENT_HDLR_NAME) return set_text(spec.name, value);
  if (key == PMIX_EVENT_HDLR_BEFORE) return set_text(spec.before, value);
  if (key == PMIX_EVENT_HDLR_AFTER) return set_text(spec.after, value);
  if (key == PMIX_RANGE) return set_range(spec, value);
  if (key == PMIX_EVENT_CUSTOM_RANGE) return set_custom_range(spec, value);
  if (key == PMIX_EVENT_AFFECTED_PROC || key == PMIX_EVENT_AFFECTED_PROCS) return add_affected(spec, value);
  if (key == PMIX_EVENT_RETURN_OBJECT) {
    if (value.type != PMIX_POINTER) return fail(Errc::invalid, "not a pointer");
    spec.return_object = value.data.ptr;
    return {};
  }
  if (key == PMIX_EVENT_ONESHOT) {
    spec.one_shot = is_true(value);
    return {};
  }
  return {};
}

}  // namespace

Result<HandlerSpec> read_spec(std::span<const pmix_status_t> codes, std::span<const pmix_info_t> infos,
                              pmix_notification_fn_t call) {
  if (call == nullptr) return fail(Errc::invalid, "no handler function");
  if (data::first_not_understood("PMIx_Register_event_handler", infos.data(), infos.size()) != nullptr)
    return fail(Errc::not_supported, "required attribute of a handler");
  HandlerSpec spec;
  spec.call = call;
  spec.codes.assign(codes.begin(), codes.end());
  spec.category = codes.empty()       ? Category::any_code
                  : codes.size() == 1 ? Category::one_code
                                      : Category::several_codes;
  PlaceChoice position;
  for (const auto& info : infos) {
    if (const auto read = read_directive(spec, position, info); !read) return fail(read.error());
  }
  if (spec.custom_range) spec.source_range = PMIX_RANGE_CUSTOM;
  if (const auto placed = position.apply(spec); !placed) return fail(placed.error());
  return spec;
}

bool HandlerSpec::matches(const Event& event, const Identity& identity) const {
  if (codes.empty()) {
    if (!is_for_default_handlers(event)) return false;
  } else if (std::find(codes.begin(), codes.end(), event.code) == codes.end()) {
    return false;
  }
  const auto custom =
      custom_range ? std::span<const pmix_proc_t>(*custom_range) : std::span<const pmix_proc_t>();
  if (!is_source_wanted(source_range, custom, event.source, identity)) return false;
  if (!affected) return true;
  const auto hit = affected_by(event);
  return std::any_of(hit.begin(), hit.end(), [&](const auto& proc) { return covers(*affected, proc); });
}

}  // namespace weft::events
