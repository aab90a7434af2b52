#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the business cards of Open MPI have in common, by the network that it takes: bytes of a card as a rank
puts it, as the fence of MPI_Init sends it (compressed, a node at a time) and as the other nodes keep it. Jobs
on virtual nodes, over the loopback interface.

usage: scripts/comparison/real_cards.py [--build DIR] [--nodes N] [--ranks 1,4,16]

"As kept" counts the cards of the other nodes at one of them. Exit status: 0; 1 = a job failed.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIMIT_S = 120
COMMON = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl_tcp_if_include": "lo",
          "UCX_NET_DEVICES": "lo", "FI_TCP_IFACE": "lo"}
NETWORKS = {"TCP (ob1, btl tcp and vader)": {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,vader,self"},
            "UCX (tcp, shared memory)": {"OMPI_MCA_pml": "ucx", "OMPI_MCA_osc": "ucx", "OMPI_MCA_opal_common_ucx_tls": "any",
                                         "OMPI_MCA_opal_common_ucx_devices": "any", "UCX_TLS": "tcp,sm,self"},
            "libfabric (cm, mtl ofi)": {"OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi",
                                        "OMPI_MCA_mtl_ofi_provider_include": "tcp;ofi_rxm"}}


def counters_of(options, program, network, ranks):
    """Those of one node, when all ranks are in MPI."""
    command = [options.build / "bin" / "weftrun", "--virtual-nodes", f"{options.nodes}:{ranks}", "-n", str(options.nodes * ranks),
               "--bind-to", "none", program]
    environment = {**os.environ, **COMMON, **NETWORKS[network]}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as job:
        try:
            if job.stdout.readline() != "up\n":
                sys.exit(f"real_cards: {network}, {ranks} ranks a node: no job")
            said = subprocess.run([options.build / "bin" / "weftinfo", "--json", str(job.pid)], capture_output=True, check=True, timeout=LIMIT_S)
            job.communicate("", timeout=LIMIT_S)
        finally:
            if job.poll() is None:
                job.kill()
    nodes = [node["counters"] for node in json.loads(said.stdout)["nodes"] if node.get("counters", {}).get("fences.bytes")]
    return nodes[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release", help="where bin/ is")
    parser.add_argument("--nodes", type=int, default=4, help="virtual nodes of the jobs")
    parser.add_argument("--ranks", default="1,4,16", help="of each node")
    options = parser.parse_args()
    options.build = options.build.resolve()
    print("| Open MPI over | ranks a node | a card, put | sent | kept, each with all of its own | kept |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "mpi_wait")
        subprocess.run(["mpicc.openmpi", "-O1", HERE / "mpi_wait.c", "-o", program], check=True)
        for network in NETWORKS:
            for ranks in (int(word) for word in options.ranks.split(",")):
                found = counters_of(options, program, network, ranks)
                there = (options.nodes - 1) * ranks
                print(f"| {network} | {ranks} | {found['fences.bytes'] / ranks:.0f} | {found['fences.packed'] / ranks:.0f} | "
                      f"{(found['cards.kept'] + found['cards.saved']) / there:.0f} | {found['cards.kept'] / there:.0f} |", flush=True)


if __name__ == "__main__":
    main()
