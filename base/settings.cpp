// SPDX-License-Identifier: BSD-3-Clause
#include "base/settings.hpp"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/log.hpp"

namespace weft::base {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
constexpr std::uint64_t tib = std::uint64_t{1} << 40;
constexpr std::uint64_t longest_seconds = 1'000'000'000;  // some thirty years: no clock overflows

// scripts/make_settings_docs reads the rows between the two lines of dashes: one member a line.
// ---- table
constexpr std::array<Setting, variable_count> table{{
    {.variable = Variable::card_bytes,
     .name = "WEFT_CARD_BYTES",
     .kind = Kind::number,
     .fallback = "16777216",
     .least = 1024,
     .most = tib,
     .readers = by_server,
     .text = "most bytes that one rank can commit (16 MiB); beyond it `PMIx_Put` says "
             "`PMIX_ERR_OUT_OF_RESOURCE`"},
    {.variable = Variable::collective,
     .name = "WEFT_COLLECTIVE",
     .kind = Kind::text,
     .fallback = "",
     .choices = "bruck, recursive_doubling, ring, tree[:arity[:chunks]], dissemination[:ports]",
     .readers = by_server,
     .text = "the algorithm that servers take for every collective that it can do; not set: by the number of "
             "nodes "
             "and bytes. All nodes of a job need the same"},
    {.variable = Variable::fence,
     .name = "WEFT_FENCE",
     .kind = Kind::choice,
     .fallback = "",
     .choices = "full|sparse",
     .readers = by_server,
     .text =
         "`full`: cards travel at every fence between nodes, so that every later Get is local; `sparse`: at "
         "none, and a Get fetches what it wants; not set: as the program asks in each fence "
         "(`PMIX_COLLECT_DATA`). All nodes of a job need the same"},
    {.variable = Variable::get_wait,
     .name = "WEFT_GET_WAIT",
     .kind = Kind::seconds,
     .fallback = "2",
     .most = longest_seconds * 1000,
     .takes_inf = true,
     .readers = by_client | by_server,
     .text =
         "how long a Get without `PMIX_TIMEOUT` waits for a key that its rank has not committed although it "
         "has committed others, before it says `PMIX_ERR_NOT_FOUND`; `inf`: as long as the rank lives, "
         "which is the Standard's letter; 0: not at all. A key missing from a card that a full fence brought "
         "is not waited for"},
    {.variable = Variable::launch_timeout,
     .name = "WEFT_LAUNCH_TIMEOUT",
     .kind = Kind::seconds,
     .fallback = "60",
     .least = 1,
     .most = 1'000'000'000,
     .readers = by_weftrun,
     .text = "how long weftrun waits for the daemons of other nodes, and for their ranks to be started; "
             "another value is a wrong command line"},
    {.variable = Variable::log,
     .name = "WEFT_LOG",
     .kind = Kind::text,
     .fallback = "",
     .choices = "level[:part] with commas between",
     .readers = by_all,
     .text = "what is told on standard error, then with time, level and part: a list of `level[:part]`, as "
             "in `info` or "
             "`debug:mesh,info:fences`. Levels are `off`, `error`, `warn`, `info`, `debug`; parts are `api`, "
             "`client`, "
             "`clients`, `events`, `fences`, `gets`, `jobs`, `launch`, `mesh`, `modex`, `settings`, "
             "`transport`. Not set: "
             "errors and warnings of all parts, with nothing before their text but the host"},
    {.variable = Variable::lost_after,
     .name = "WEFT_LOST_AFTER",
     .kind = Kind::seconds,
     .fallback = "30",
     .least = 1000,
     .most = longest_seconds * 1000,
     .readers = by_server,
     .text =
         "how long a node may be silent before it is lost, and its job ends or goes on without it: a network "
         "that comes back sooner costs nothing. A daemon that was killed is noticed at once; one that hangs, "
         "or "
         "a host that was switched off, after this time. weftrun's value counts for its daemons"},
    {.variable = Variable::module_path,
     .name = "WEFT_MODULE_PATH",
     .kind = Kind::text,
     .fallback = "",
     .choices = "directories with : between",
     .is_privileged = true,
     .readers = by_client | by_server,
     .text = "where modules (`topology.so`, `transport_*.so`) are looked for before `weft/` beside libpmix"},
    {.variable = Variable::munge_socket,
     .name = "WEFT_MUNGE_SOCKET",
     .kind = Kind::text,
     .fallback = "",
     .choices = "a path",
     .is_privileged = true,
     .readers = by_server,
     .text = "where the daemon of munge listens, for credentials (`PMIx_Get_credential`). Not set: where "
             "libmunge looks for it"},
    {.variable = Variable::net,
     .name = "WEFT_NET",
     .kind = Kind::text,
     .fallback = "",
     .choices = "networks with commas between",
     .is_privileged = true,
     .readers = by_server,
     .text =
         "networks that may be used between nodes: interfaces (`eth0`, `ib*`), devices (`mlx5_0`), addresses "
         "and subnets (`10.1.0.0/16`, `fd00::/8`); `^` before one excludes it: `10.0.0.0/8,^docker0`. What "
         "is "
         "excluded is never used; of the rest what is named, or all if nothing is. Where `UCX_NET_DEVICES` "
         "is "
         "set, UCX follows that"},
    {.variable = Variable::node,
     .name = "WEFT_NODE",
     .kind = Kind::text,
     .fallback = "",
     .is_internal = true,
     .readers = by_weftrun | by_weftd,
     .text = "the job and the node: what marks a process, and those that it starts, until the job's end"},
    {.variable = Variable::no_segment,
     .name = "WEFT_NO_SEGMENT",
     .kind = Kind::flag,
     .fallback = "0",
     .readers = by_client,
     .text =
         "1: a client does not map the segment and asks the server for everything: slower, for kernels or "
         "sandboxes that forbid shared mappings, and for tests"},
    {.variable = Variable::pmi_preput,
     .name = "WEFT_PMI_PREPUT",
     .kind = Kind::text,
     .fallback = "",
     .is_internal = true,
     .readers = by_client,
     .text = "a job that was spawned by PMI-1 or PMI-2: the keys that it finds in its space from the start"},
    {.variable = Variable::ports,
     .name = "WEFT_PORTS",
     .kind = Kind::text,
     .fallback = "",
     .choices = "a port, a range as 20000-20999, or none",
     .readers = by_server,
     .text = "where the transport `tcp` listens on each node, if that node's own environment does not say "
             "otherwise; not set: at a "
             "port that the kernel has free. `none`: nowhere, this node connects to the others, which have "
             "to listen; not for "
             "weftrun itself"},
    {.variable = Variable::segment,
     .name = "WEFT_SEGMENT",
     .kind = Kind::text,
     .fallback = "",
     .is_internal = true,
     .readers = by_client,
     .text = "the server's process, and its descriptors of its own memory and of that of the job's clients, "
             "which a "
             "client opens through /proc"},
    {.variable = Variable::segment_bytes,
     .name = "WEFT_SEGMENT_BYTES",
     .kind = Kind::number,
     .fallback = "68719476736",
     .least = mib,
     .most = 64 * tib,
     .readers = by_server,
     .text =
         "virtual size of the node segment (64 GiB, halved until it fits the address space); memory is taken "
         "only where data lies"},
    {.variable = Variable::server,
     .name = "WEFT_SERVER",
     .kind = Kind::text,
     .fallback = "",
     .is_internal = true,
     .readers = by_client,
     .text = "the server's socket (an abstract name: no file)"},
    {.variable = Variable::server_file,
     .name = "WEFT_SERVER_FILE",
     .kind = Kind::text,
     .fallback = "",
     .is_internal = true,
     .readers = by_client,
     .text = "the server's socket in `WEFT_SOCKET_DIR`, for a process that does not reach `WEFT_SERVER`"},
    {.variable = Variable::server_uid,
     .name = "WEFT_SERVER_UID",
     .kind = Kind::number,
     .fallback = "0",
     .most = 4294967295,
     .is_internal = true,
     .readers = by_client,
     .text = "the server's user, beside which a client speaks to servers of its own user and of root only"},
    {.variable = Variable::socket_dir,
     .name = "WEFT_SOCKET_DIR",
     .kind = Kind::text,
     .fallback = "",
     .choices = "a folder",
     .readers = by_server,
     .text = "a folder on each node where servers have a socket for ranks in network namespaces of their "
             "own, which see "
             "the folder under the same path; not set: ranks reach their server by an abstract name, within "
             "its network "
             "namespace only"},
    {.variable = Variable::ssh,
     .name = "WEFT_SSH",
     .kind = Kind::text,
     .fallback = "ssh",
     .choices = "a command",
     .readers = by_weftrun,
     .text = "what weftrun runs where it would run `ssh`; `--agent` goes before it"},
    {.variable = Variable::stuck_after,
     .name = "WEFT_STUCK_AFTER",
     .kind = Kind::number,
     .fallback = "60",
     .most = longest_seconds,
     .readers = by_server,
     .text = "seconds: a fence that waits longer is reported once, with the ranks that are missing and their "
             "pids, "
             "and goes on waiting; 0: never"},
    {.variable = Variable::tls_records,
     .name = "WEFT_TLS_RECORDS",
     .kind = Kind::choice,
     .fallback = "weft",
     .choices = "weft|openssl",
     .readers = by_server,
     .text = "whose code seals and opens what the transport `tcp` sends, once OpenSSL has shaken hands: "
             "`weft`, or `openssl`, with which a barrier between nodes takes a third more. What is on the "
             "network is the same, and servers of a job may differ"},
    {.variable = Variable::token,
     .name = "WEFT_TOKEN",
     .kind = Kind::text,
     .fallback = "",
     .is_internal = true,
     .readers = by_client,
     .text = "proves to the server that the process is that rank"},
    {.variable = Variable::topology,
     .name = "WEFT_TOPOLOGY",
     .kind = Kind::text,
     .fallback = "",
     .choices = "a description as hwloc takes it, or a file of lstopo",
     .readers = by_weftrun,
     .text = "what nodes are like, for `--dry-run` and `--explain` only"},
    {.variable = Variable::trace,
     .name = "WEFT_TRACE",
     .kind = Kind::text,
     .fallback = "",
     .choices = "a path",
     .readers = by_weftrun,
     .text =
         "a file that weftrun writes when the job has ended: the calls of its ranks, and what servers did "
         "for them, in the format of Chrome's traces, which Perfetto opens. A file that is there is "
         "replaced"},
    {.variable = Variable::transport,
     .name = "WEFT_TRANSPORT",
     .kind = Kind::text,
     .fallback = "",
     .choices = "name[:options]",
     .readers = by_server,
     .text =
         "what servers of several nodes talk to each other with: `ucx`, `ofi`, `shm` or a module's name; not "
         "set: the best that opens. Without effect on a job of one node"},
    {.variable = Variable::weftd,
     .name = "WEFT_WEFTD",
     .kind = Kind::text,
     .fallback = "",
     .choices = "a path",
     .readers = by_weftrun,
     .text = "where the daemon is on all nodes; `--weftd` goes before it; not set: beside weftrun"},
}};
// ---- end of the table

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (static_cast<std::size_t>(table[i].variable) != i) return false;
  return true;
}
static_assert(is_in_order(), "the rows stand in the order of Variable");

constexpr std::string_view our_prefix = "WEFT_";
constexpr std::string_view prefix_of_tests = "WEFT_TEST_";

bool is_one_of(std::string_view value, std::string_view choices) {
  while (!choices.empty()) {
    const auto bar = choices.find('|');
    if (choices.substr(0, bar) == value) return true;
    choices.remove_prefix(bar == std::string_view::npos ? choices.size() : bar + 1);
  }
  return false;
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(number) : std::nullopt;
}

/// "2.5" is 2500. Not by std::from_chars of a double: that would bring 100 KB of it into every client.
std::optional<std::uint64_t> milliseconds_in(std::string_view text) {
  const auto point = text.find('.');
  const auto seconds = whole_number(text.substr(0, point));
  if (!seconds || *seconds > longest_seconds) return std::nullopt;
  std::uint64_t milliseconds = *seconds * 1000;
  if (point == std::string_view::npos) return milliseconds;
  const auto decimals = text.substr(point + 1);
  if (decimals.empty() || decimals.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  std::uint64_t weight = 100;
  for (const char digit : decimals.substr(0, 3)) {
    milliseconds += weight * static_cast<std::uint64_t>(digit - '0');
    weight /= 10;
  }
  // The user asked for a limit, and 0 may mean another thing.
  const bool is_above_zero = decimals.find_first_not_of('0') != std::string_view::npos;
  return milliseconds == 0 && is_above_zero ? 1 : milliseconds;
}

/// The value's number; nothing: it is none, or out of range.
std::optional<std::uint64_t> number_in(const Setting& setting, std::string_view text) {
  const auto number = setting.kind == Kind::seconds ? milliseconds_in(text) : whole_number(text);
  return number && *number >= setting.least && *number <= setting.most ? number : std::nullopt;
}

/// Nothing: it is neither yes nor no.
std::optional<bool> flag_in(std::string_view text) {
  if (is_one_of(text, "1|yes|on|true")) return true;
  if (is_one_of(text, "0|no|off|false")) return false;
  return std::nullopt;
}

/// Takes `text` if the setting accepts it.
bool take(const Setting& setting, std::string_view text, Reading& into) {
  into.text = text;
  switch (setting.kind) {
    case Kind::text:
      return true;
    case Kind::choice:
      return is_one_of(text, setting.choices);
    case Kind::flag: {
      const auto flag = flag_in(text);
      into.number = flag.value_or(false) ? 1 : 0;
      into.text = std::to_string(into.number);
      return flag.has_value();
    }
    case Kind::seconds:
    case Kind::number:
      break;
  }
  if (setting.takes_inf && text == "inf") return into.is_infinite = true;
  const auto number = number_in(setting, text);
  into.number = number.value_or(0);
  return number.has_value();
}

std::string in_seconds(std::uint64_t milliseconds) {
  auto text = std::to_string(milliseconds / 1000);
  if (const auto rest = milliseconds % 1000; rest != 0) text += "." + std::to_string(1000 + rest).substr(1);
  return text;
}

/// Edits (a letter more, less, another, or two exchanged) from one word to another.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::vector<std::size_t>> rows(from.size() + 1, std::vector<std::size_t>(to.size() + 1));
  for (std::size_t i = 0; i <= from.size(); ++i) rows[i][0] = i;
  for (std::size_t j = 0; j <= to.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i)
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t other = from[i - 1] == to[j - 1] ? 0 : 1;
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + other});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  return rows[from.size()][to.size()];
}

/// The setting for users whose name is nearest; "": none is near enough to have been meant.
std::string nearest_name(std::string_view name) {
  const auto rest = name.substr(our_prefix.size());
  std::size_t least = std::max<std::size_t>(2, rest.size() / 3) + 1;
  std::string nearest;
  for (const auto& setting : table) {
    if (setting.is_internal) continue;
    const auto edits = distance(rest, std::string_view(setting.name).substr(our_prefix.size()));
    if (edits >= least) continue;
    least = edits;
    nearest = setting.name;
  }
  return nearest;
}

const Setting* find_setting(std::string_view name) {
  const auto at =
      std::find_if(table.begin(), table.end(), [&](const Setting& one) { return one.name == name; });
  return at == table.end() ? nullptr : &*at;
}

std::string default_of(const Setting& setting) {
  return *setting.fallback == '\0' ? "without it" : std::string("with the default, ") + setting.fallback;
}

std::string complaint_of(const Setting& setting, std::string_view value, std::string_view why) {
  return std::string(setting.name) + "=" + std::string(value) + " is not accepted (" + std::string(why) +
         "); going on " + default_of(setting);
}

}  // namespace

std::span<const Setting> all_settings() noexcept {
  return table;
}

bool is_internal(std::string_view name) noexcept {
  const auto settings = all_settings();
  return std::any_of(settings.begin(), settings.end(),
                     [&](const Setting& setting) { return setting.is_internal && name == setting.name; });
}

const Setting& setting_of(Variable variable) noexcept {
  return table[static_cast<std::size_t>(variable)];
}

std::optional<std::chrono::milliseconds> Reading::limit() const noexcept {
  if (is_infinite) return std::nullopt;
  return std::chrono::milliseconds(number);
}

std::string accepted_values(const Setting& setting) {
  switch (setting.kind) {
    case Kind::flag:
      return "0 or 1";
    case Kind::choice: {
      std::string text = setting.choices;
      for (auto bar = text.find('|'); bar != std::string::npos; bar = text.find('|'))
        text.replace(bar, 1, " or ");
      return text;
    }
    case Kind::number:
      return "a whole number, " + std::to_string(setting.least) + " to " + std::to_string(setting.most);
    case Kind::seconds:
      return "seconds, " + in_seconds(setting.least) + " to " + in_seconds(setting.most) +
             (setting.takes_inf ? ", or inf" : "");
    case Kind::text:
      break;
  }
  return *setting.choices == '\0' ? "text" : setting.choices;
}

Reading read(const Setting& setting, const char* value) {
  Reading fallback;
  (void)take(setting, setting.fallback, fallback);
  if (value == nullptr || *value == '\0') return fallback;
  Reading out;
  out.source = Reading::Source::environment;
  if (take(setting, value, out)) return out;
  fallback.source = Reading::Source::refused;
  fallback.complaint = complaint_of(setting, value, accepted_values(setting));
  return fallback;
}

Reading read(Variable variable) {
  const auto& setting = setting_of(variable);
  return read(setting, setting.is_privileged ? ::secure_getenv(setting.name) : ::getenv(setting.name));
}

std::string complaint(Variable variable, std::string_view value, std::string_view why) {
  return complaint_of(setting_of(variable), value, why);
}

std::vector<UnknownName> unknown_names(char* const* environment) {
  std::vector<UnknownName> out;
  for (char* const* at = environment; at != nullptr && *at != nullptr; ++at) {
    const std::string_view assignment(*at);
    const auto name = assignment.substr(0, assignment.find('='));
    if (!name.starts_with(our_prefix) || name.starts_with(prefix_of_tests) || find_setting(name) != nullptr)
      continue;
    out.push_back({std::string(name), nearest_name(name)});
  }
  return out;
}

std::vector<std::string> complaints(char* const* environment) {
  std::vector<std::string> out;
  for (char* const* at = environment; at != nullptr && *at != nullptr; ++at) {
    const std::string_view assignment(*at);
    const auto* setting = find_setting(assignment.substr(0, assignment.find('=')));
    if (setting == nullptr) continue;
    const char* const value = *at + std::string_view(setting->name).size() + 1;
    auto reading = read(*setting, value);
    if (!reading.complaint.empty()) out.push_back(std::move(reading.complaint));
    if (setting->variable != Variable::log) continue;
    if (std::string why; !LogLevels::parse(value, why)) out.push_back(complaint_of(*setting, value, why));
  }
  for (const auto& unknown : unknown_names(environment))
    out.push_back(unknown.name + " is no setting of Weft and has no effect" +
                  (unknown.nearest.empty() ? "; weftinfo --settings lists them all"
                                           : "; was " + unknown.nearest + " meant?"));
  return out;
}

}  // namespace weft::base
