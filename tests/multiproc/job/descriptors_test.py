# SPDX-License-Identifier: BSD-3-Clause
"""Which descriptors the programs hold that weftrun and weftd start: their standard streams, what the user of
weftrun passed to it, and nothing of the fabrics. TRANSPORTS names those that were built."""
import ast
import os
import resource
import shutil
import tempfile
import unittest

from weftrun_common import CLIENT, PYTHON, python, run

# Prints what each descriptor refers to. The descriptor of the listing itself is closed by then and refers to
# nothing.
FIND = ("import os\n"
        "def target(fd):\n"
        "    try: return os.readlink('/proc/self/fd/' + fd)\n"
        "    except FileNotFoundError: return None\n"
        "found = {int(fd): target(fd) for fd in os.listdir('/proc/self/fd') if target(fd)}\n")
STREAMS = [0, 1, 2]


def transports():
    return os.environ["TRANSPORTS"].split(",")


class Descriptors(unittest.TestCase):
    """A run for each transport: what a fabric leaves open differs."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.agent = os.path.join(self.folder, "agent")
        with open(self.agent, "w", encoding="utf-8") as script:  # goes nowhere, and writes down what it holds
            script.write(f"#!{PYTHON} -ES\nimport sys\n{FIND}with open('{self.folder}/of.' + sys.argv[1], 'w') as file:\n"
                         "    print(found, file=file)\nos.execv('/bin/sh', ['sh', '-c', ' '.join(sys.argv[2:])])\n")
        os.chmod(self.agent, 0o755)

    def held(self, transport, *words, ranks, **options):
        """What each rank holds, by descriptor. With several nodes their servers have opened the transport."""
        env = dict(os.environ, WEFT_TRANSPORT=transport)
        result = run(*words, "-n", str(ranks), *python(FIND + "print(found)"), env=env, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        held = [ast.literal_eval(line) for line in result.stdout.decode().splitlines()]
        self.assertEqual(len(held), ranks)
        return held

    def check(self, *words, ranks, given=()):
        """That each rank holds its streams and these, with each transport."""
        for transport in transports():
            with self.subTest(transport=transport):
                for held in self.held(transport, *words, ranks=ranks, pass_fds=given):
                    self.assertEqual(sorted(held), sorted([*STREAMS, *given]), held)

    def agents(self):
        """Which descriptors each agent held, by the name of the host that it was to reach."""
        found = {}
        for name in os.listdir(self.folder):
            if name.startswith("of."):
                with open(os.path.join(self.folder, name), encoding="utf-8") as listing:
                    found[name[3:]] = sorted(ast.literal_eval(listing.read()))
        return found

    def test_the_table_of_the_server_has_room(self):
        """Its growth holds up what the server's threads accept, so it comes before they do."""
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        words = "import os, re\nprint(re.search(r'FDSize:\\s+(\\d+)', open(f'/proc/{os.getppid()}/status').read())[1])"
        for nodes in ([], ["--virtual-nodes", "2"]):
            result = run(*nodes, "-n", "2", *python(words))
            self.assertEqual(result.returncode, 0, result.stderr)
            for size in result.stdout.split():
                self.assertGreaterEqual(int(size), min(soft, 4096) - 1)

    def test_one_node(self):
        self.check(ranks=2)

    def test_ranks_of_daemons(self):
        self.check("--virtual-nodes", "2", ranks=3)

    def test_ranks_of_weftrun_beside_daemons(self):
        self.check("--host", "localhost:2,no-such-host:2", "--agent", self.agent, ranks=4)
        self.assertEqual(self.agents(), {"no-such-host": STREAMS})

    def test_agents_of_a_tree(self):
        names = [f"no-such-host-{i}" for i in range(5)]
        self.check("--host", ",".join(names), "--agent", self.agent, "--agent-arity", "2", ranks=5)
        self.assertEqual(self.agents(), {name: STREAMS for name in names})

    def test_of_a_client_there_are_a_socket_and_the_segment_too(self):
        for transport in transports():
            for words in ([], ["--virtual-nodes", "2"]):
                with self.subTest(transport=transport, words=words):
                    env = dict(os.environ, WEFT_TRANSPORT=transport)
                    result = run(*words, "-n", "2", CLIENT, "init", "descriptors", "finalize", env=env)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    held = result.stdout.decode().splitlines()
                    self.assertEqual([line.split(":")[0] for line in held], ["3 socket", "4 /memfd", "5 /memfd"] * 2, held)

    def test_what_the_user_passed_is_there(self):
        ends = [end for _ in range(2) for end in os.pipe()]
        given = [os.dup2(ends[0], 77), os.dup2(ends[1], 78), os.dup2(ends[2], 300), ends[3]]
        names = {fd: os.readlink(f"/proc/self/fd/{fd}") for fd in given}
        try:
            for words in ([], ["--virtual-nodes", "2"], ["--host", "localhost:2,no-such-host:2", "--agent", self.agent]):
                self.check(*words, ranks=2, given=given)
            for held in self.held(transports()[0], "--virtual-nodes", "2", ranks=2, pass_fds=given):
                self.assertEqual({fd: held[fd] for fd in given}, names)
        finally:
            for fd in set(ends + given):
                os.close(fd)


if __name__ == "__main__":
    unittest.main()
