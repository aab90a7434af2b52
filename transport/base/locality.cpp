// SPDX-License-Identifier: BSD-3-Clause
#include "transport/base/locality.hpp"

#include <sched.h>

#include <cstdio>
#include <memory>

namespace weft::transport {
namespace {

constexpr unsigned same = 10, beside = 11, elsewhere = 20;

struct Close {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

bool is_file_name(std::string_view name) noexcept {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string_view::npos;
}

}  // namespace

int Locality::read_node(const std::string& file) const {
  const File in(std::fopen((root_ + file).c_str(), "re"));
  int node = unknown;
  return in && std::fscanf(in.get(), "%d", &node) == 1 && node >= 0 ? node : unknown;
}

int Locality::node_of_pci(std::string_view address) const {
  return is_file_name(address) ? read_node("/bus/pci/devices/" + std::string(address) + "/numa_node")
                               : unknown;
}

int Locality::node_of_device(std::string_view name) const {
  if (!is_file_name(name)) return unknown;
  for (const char* kind : {"/class/net/", "/class/infiniband/"})
    if (const int node = read_node(kind + std::string(name) + "/device/numa_node"); node != unknown)
      return node;
  return unknown;
}

unsigned Locality::distance(int from, int to) const {
  if (from == unknown || to == unknown) return beside;
  const auto file = root_ + "/devices/system/node/node" + std::to_string(from) + "/distance";
  const File in(std::fopen(file.c_str(), "re"));
  unsigned value = 0;
  // One number for each online node; correct while node numbers have no gaps, as is nearly always the case.
  for (int node = 0; in && std::fscanf(in.get(), "%u", &value) == 1; ++node)
    if (node == to) return value;
  return from == to ? same : elsewhere;
}

int own_numa_node() noexcept {
  unsigned processor = 0, node = 0;
  return ::getcpu(&processor, &node) == 0 ? static_cast<int>(node) : Locality::unknown;
}

}  // namespace weft::transport
