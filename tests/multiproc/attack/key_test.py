# SPDX-License-Identifier: BSD-3-Clause
"""Where the key of a launch lies once the job runs: in weftrun and its daemons in pages of its own, in ranks
nowhere; as the text of the start message nowhere at all. TRANSPORTS names those that were built."""
import os
import re
import shutil
import tempfile
import unittest

from strangers import descendants, local_names
from weftrun_common import CLIENT, PYTHON, finish, kill_quietly, name_of, read_lines, start, wait_until

# An agent that writes down the start message, and hands it on.
AGENT = """#!{python} -ES
import os, sys
message = b""
while not message.endswith(b"\\nend\\n"):
    message += os.read(0, 65536)
with open("{folder}/message.new", "wb") as file:
    file.write(message)
os.rename("{folder}/message.new", "{folder}/message")
out, into = os.pipe()
if os.fork() == 0:  # as long as the launcher keeps the input open
    os.close(out)
    os.write(into, message)
    while os.read(0, 4096): pass
    os._exit(0)
os.dup2(out, 0)
os.close(out), os.close(into)
os.execv("/bin/sh", ["sh", "-c", " ".join(sys.argv[2:])])
"""


def places_of(pid, secret):
    """The mappings of a process that hold these bytes: their names with their flags, one for each place."""
    found, flags, name, bounds = [], {}, "", None
    with open(f"/proc/{pid}/smaps", encoding="utf-8", errors="replace") as table:
        for line in table:
            head = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+\s*(.*)", line)
            if head:
                bounds, name = (int(head[1], 16), int(head[2], 16), head[3]), head[4]
            elif line.startswith("VmFlags:") and bounds[2][0] == "r":
                flags[bounds[:2]] = (name, set(line.split()[1:]))
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for (first, last), what in flags.items():
            if what[0] in ("[vvar]", "[vvar_vclock]", "[vsyscall]") or "memfd:weft" in what[0]:
                continue  # the segment is of gigabytes, and its pages come when touched
            at = first
            rest = b""
            while at < last:
                try:
                    memory.seek(at)
                    piece = memory.read(min(1 << 20, last - at))
                except OSError:
                    break  # it has gone meanwhile
                if not piece:
                    break
                found += [what] * (rest + piece).count(secret)
                rest, at = piece[-len(secret) + 1:], at + len(piece)
    return found


@unittest.skipIf(os.environ.get("WEFT_TEST_SANITIZE"), "a sanitizer's shadow of the memory is too much to read")
class Key(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.agent = os.path.join(self.folder, "agent")
        with open(self.agent, "w", encoding="utf-8") as script:
            script.write(AGENT.format(python=PYTHON, folder=self.folder))
        os.chmod(self.agent, 0o755)

    def check(self, transport):
        go = os.path.join(self.folder, "go")
        job = start("--host", "localhost:1,no-such-host:1", "--agent", self.agent, "-n", "2",
                    CLIENT, "init", "fence", "pid", f"until:{go}", "fence", "finalize",
                    env=dict(os.environ, WEFT_TRANSPORT=transport))
        self.addCleanup(kill_quietly, job)
        ranks = [int(line.split()[1]) for line in read_lines(job.stdout, 2)]
        with open(os.path.join(self.folder, "message"), "rb") as file:
            text = re.search(rb"\nkey ([0-9a-f]{64})\n", file.read())[1]
        daemon, = [pid for pid in descendants(job.pid) if name_of(pid) == "weftd"]
        servers = {"weftrun": job.pid, "weftd": daemon}
        for name, pid in servers.items():
            self.assertTrue(local_names(pid), "a server")
            self.assertEqual(places_of(pid, text), [], f"the text of the key in {name}")
            places = places_of(pid, bytes.fromhex(text.decode()))
            self.assertGreaterEqual(len(places), 1, f"{name} has a key, or this test does not find it")
            self.assertLessEqual(len(places), 2, f"the tool's and the library's in {name}: {places}")
            for place in places:
                self.assertIn("dd", place[1], f"{name} has the key where core files reach: {places}")
        for rank in ranks:
            self.assertEqual(places_of(rank, text) + places_of(rank, bytes.fromhex(text.decode())), [])
        with open(go, "w", encoding="ascii"):
            pass
        status, _, err = finish(job)
        self.assertEqual(status, 0, err)
        os.unlink(go)

    def test_over_all_transports(self):
        for transport in [*os.environ["TRANSPORTS"].split(","), "tcp"]:
            with self.subTest(transport):
                self.check(transport)


if __name__ == "__main__":
    unittest.main()
