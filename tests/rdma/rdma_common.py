# SPDX-License-Identifier: BSD-3-Clause
"""What the tests on cards share. They run in a guest of scripts/rdma_lab, with the environment of
tests/multiproc."""
import os
import pathlib
import subprocess
import sys

MULTIPROC = pathlib.Path(__file__).resolve().parents[1] / "multiproc"
sys.path[:0] = [str(MULTIPROC / "faults"), str(MULTIPROC / "harness")]
from weftrun_common import wait_until  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
from weftrun_faults_driver import Job, Shape, process_state  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import

# Nothing here takes so long: an emulated machine, on a busy one.
LONGEST = 300
CARD = "rxe0"
# Two hosts: lab0, where the tests run, and lab1, where `ssh` starts weftd.
HOSTS, AGENT = ("--host", "lab0:1,lab1:1"), ("--agent", "ssh")
# The transports, as a user asks for them.
FABRICS = {"ofi": "ofi", "ucx": "ucx:^tcp"}


def has_card():
    return os.path.isdir(f"/sys/class/infiniband/{CARD}")


def on_lab1(*words):
    subprocess.run(["ssh", "lab1", *words], check=True, stdin=subprocess.DEVNULL, timeout=LONGEST)


def job(fabric, nodes, words, env=(), options=(), ranks=None, prefix=()):
    """A job of a rank a node, of virtual nodes, which speak by the fabric."""
    shape = Shape(("--virtual-nodes", str(nodes)), (("WEFT_TRANSPORT", FABRICS.get(fabric, fabric)), *dict(env).items()))
    return Job(shape, words, options=options, ranks=ranks or nodes, prefix=prefix)


def good_end(test, of_job):
    """The job ends well, and with nothing left behind."""
    outcome = of_job.finish(LONGEST)
    test.assertEqual(outcome.status, 0, outcome)
    test.assertEqual(of_job.left(), [])
    return outcome
