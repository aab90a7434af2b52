// SPDX-License-Identifier: BSD-3-Clause
// What a rank's program writes to PMI_FD, and the headers of its file.
#include <algorithm>

#include "pmi/job/job.hpp"
#include "pmi/spawn/preput.hpp"
#include "pmi/wire.hpp"
#include "pmi/wire2/frames.hpp"
#include "pmi/wire2/requests.hpp"
#include "pmi/wire2/spawn_fields.hpp"
#include "tests/fuzz/decoders.hpp"
#include "tests/unit/tools/libraries/elf_file.hpp"
#include "tools/libraries/elf.hpp"

namespace weft::fuzz {
namespace {

bool requests(Bytes bytes) {
  pmi::RequestReader reader;
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  bool is_any = false;
  while (!rest.empty()) {
    const auto before = rest.size();
    const auto [request, is_error, line] = reader.next(rest);
    if (is_error) {
      require(line.size() <= pmi::RequestReader::longest_line);
      return false;
    }
    require(rest.size() < before);
    if (!request) continue;
    is_any = true;
    require(request->space.size() < pmi::name_room && request->key.size() < pmi::key_room &&
            request->value.size() < pmi::value_room);
    require(request->spawn.commands.size() <= pmi::most_spawn_commands);
    for (const auto& [key, value] : request->spawn.preput)
      require(key.size() < pmi::key_room && value.size() < pmi::value_room);
    const auto preput = pmi::encode_preput(request->spawn.preput);
    if (preput) require(pmi::decode_preput(*preput) == request->spawn.preput);
  }
  return is_any;
}

std::string framed(std::string_view text) {
  const auto length = std::to_string(text.size());
  return std::string(6 - length.size(), ' ') + length + std::string(text);
}

/// Messages of PMI-2 and what is read from them; replies that are made of their texts are messages again.
bool messages(Bytes bytes) {
  pmi::wire2::FrameReader reader;
  pmi::wire2::SpawnFields spawn;
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  bool is_any = false;
  while (!rest.empty()) {
    const auto before = rest.size();
    const auto [message, is_error, text] = reader.next(rest);
    if (is_error) return false;
    require(rest.size() < before);
    if (!message) continue;
    const auto thread = pmi::wire2::thread_of(*message);
    const auto value = message->fields.empty() ? text : message->fields.front().value;
    const auto reply =
        pmi::wire2::Reply(pmi::wire2::answered_command(*message), thread).add("value", value).end(0);
    const auto read_back = pmi::wire2::read_message(std::string_view(reply).substr(6));
    require(read_back.has_value() && read_back->fault.empty());
    require(thread.empty() || *read_back->find("thrid") == thread);
    require(*read_back->find("value") == value);
    const auto [request, code, why] = pmi::wire2::read_request(*message);
    if (!request) continue;
    is_any = true;
    require(request->key.size() < pmi::key_room && request->value.size() < pmi::value_room &&
            request->job.size() < pmi::name_room && request->service.size() < pmi::service_room &&
            request->port.size() < pmi::port_room);
    if (request->command == pmi::wire2::Command::spawn) (void)spawn.begin(*message);
    if (request->command == pmi::wire2::Command::spawn_command) (void)spawn.add(*message);
    if (spawn.is_open()) continue;
    const auto order = spawn.release();
    require(order.commands.size() <= pmi::most_spawn_commands);
    for (const auto& command : order.commands) require(!command.program.empty());
  }
  return is_any;
}

bool preput(Bytes bytes) {
  const auto pairs = pmi::decode_preput({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return pairs.has_value();
}

bool elf(Bytes bytes) {
  const auto needs = libraries::read_needs([&](std::uint64_t offset, std::size_t length) {
    require(length <= 64 * 1024);
    if (offset >= bytes.size()) return Encoded();
    const auto part =
        bytes.subspan(offset, std::min(length, bytes.size() - static_cast<std::size_t>(offset)));
    return Encoded(part.begin(), part.end());
  });
  return needs.has_value();
}

}  // namespace

void add_pmi(Decoders& to) {
  Decoder decoder{"pmi_requests", {}, requests, true};
  for (const char* sample :
       {"cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_maxes\ncmd=get_my_kvsname\n",
        "cmd=put kvsname=weft-n1-17 key=-bc-0 value=2F6465\ncmd=barrier_in\ncmd=get kvsname=weft-n1-17 "
        "key=-bc-0\n",
        "mcmd=spawn\nnprocs=2\nexecname=a.out\nendcmd\ncmd=abort exitcode=7\ncmd=finalize\n",
        "mcmd=spawn\nnprocs=1\nexecname=a.out\ntotspawns=2\nspawnssofar=1\narg1=x\nargcnt=1\npreput_num=1\n"
        "preput_key_0=PARENT_ROOT_PORT_NAME\npreput_val_0=tag#0$\ninfo_num=1\ninfo_key_0=wdir\ninfo_val_0=/"
        "\nendcmd\nmcmd=spawn\nnprocs=3\nexecname=b\ntotspawns=2\nspawnssofar=2\nargcnt=0\nendcmd\n"})
    decoder.samples.push_back(encoded(sample));
  to.push_back(std::move(decoder));
  Decoder frames{"pmi_messages", {}, messages, true};
  for (const auto& sample :
       {framed("cmd=kvs-put;thrid=1;key=-bc-0;value=2F;;6465=;infokey0=a;") +
            framed("cmd=kvs-get;key=a;srcid=3;"),
        framed("cmd=name-publish;thrid=7;name=s;concat=1;") + framed("cmd=concat;concatid=1;port=p;;;") +
            framed("cmd=finalize;"),
        framed(
            "cmd=spawn;thrid=2;ncmds=1;ppkey0=a;ppval0=b;subcmd=a.out;maxprocs=2;argc=1;argv0=x;infokey0=wd;"
            "infoval0=/;"),
        framed("cmd=spawn;thrid=2;ncmds=1;") +
            framed("cmd=spawn-cmd;thrid=2;maxprocs=1;argc=1;argv0=a.out;")})
    frames.samples.push_back(encoded(sample));
  to.push_back(std::move(frames));
  to.push_back({"pmi_preput", {encoded("3:key,5:value,1:k,0:,")}, preput, true});
  to.push_back({"elf",
                {libraries::elf_file({"libmpi.so.40", "libc.so.6"}, "/opt/a:$ORIGIN", "/opt/b"),
                 libraries::elf_file({})},
                elf,
                true});
}

}  // namespace weft::fuzz
