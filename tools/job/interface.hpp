// SPDX-License-Identifier: BSD-3-Clause
// How a program gets to its process manager, as its libraries tell.
#pragma once

#include <cstdint>
#include <string>

namespace weft::job {

/// --pmi: whether weftpmi stands in front of the programs; automatic: of those whose libraries need it.
enum class Pmi : std::uint8_t { automatic, always, never };

struct Interface {
  std::string
      mpi;  ///< the library that makes it a program of MPI or OpenSHMEM, "libmpich.so.12"; empty: none
  std::string pmix;          ///< the file of libpmix.so that it needs by itself; empty: none
  std::string server_pmix;   ///< the file of its server, where that is another; empty: the same, or not known
  bool is_wire = false;      ///< MPI that speaks PMI-1 or PMI-2 over PMI_FD
  bool has_weftpmi = false;  ///< weftpmi stands in front of it
};
template <class Archive>
void fields(Archive& archive, Interface& interface) {
  archive(interface.mpi);
  archive(interface.pmix);
  archive(interface.is_wire);
  archive(interface.has_weftpmi);
  archive(interface.server_pmix);
}

}  // namespace weft::job
