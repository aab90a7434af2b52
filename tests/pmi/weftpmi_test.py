# SPDX-License-Identifier: BSD-3-Clause
"""weftpmi as a program: every request of the wire form of PMI-1, and what a program may do instead of asking
for something."""
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "multiproc" / "harness"))
from weftrun_common import CLIENT, WATCHDOG, own_lines, python, run  # noqa: E402

WEFTPMI = os.environ["WEFTPMI"]
PUTS = os.environ["PMI1_PUTS"]
# What each rank runs: `ask` sends a line and returns the reply.
SPEAK = """
import os, socket, sys
rank, size = int(os.environ['PMI_RANK']), int(os.environ['PMI_SIZE'])
wire = socket.socket(fileno=int(os.environ['PMI_FD']))
replies = wire.makefile('r')
def say(text):
    wire.sendall(text if isinstance(text, bytes) else text.encode())
def ask(line):
    say(line + '\\n')
    return replies.readline().rstrip('\\n')
def init():
    assert ask('cmd=init pmi_version=1 pmi_subversion=1') == 'cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0'
    return ask('cmd=get_my_kvsname').split('kvsname=')[1]
"""


def speak(code, ranks=1, *options):
    return run(*options, "--oversubscribe", "-n", str(ranks), WEFTPMI, *python(SPEAK + code))


def pmi_lines(result):
    return [line for line in result.stderr.decode().splitlines() if line.startswith("weftpmi: ")]


class Requests(unittest.TestCase):
    def check(self, result, out):
        self.assertEqual((result.returncode, result.stderr.decode()), (0, ""))
        self.assertEqual(sorted(result.stdout.decode().splitlines()), sorted(out))

    def test_about_the_job(self):
        code = ("space = init()\n"
                "assert space.startswith('weft-'), space\n"
                "for line in ('get_maxes', 'get_appnum', 'get_universe_size', 'finalize'): print(ask('cmd=' + line))\n")
        self.check(speak(code, 1, "-H", f"{socket.gethostname()}:3"), ["cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024", "cmd=appnum appnum=0",
                                 "cmd=universe_size size=3", "cmd=finalize_ack"])

    def test_values_of_all_ranks(self):
        code = ("space = init()\n"
                "for round in 'ab':\n"
                "    put = ask(f'cmd=put kvsname={space} key=-card-{rank} value={round}=of {rank}')\n"
                "    assert put == 'cmd=put_result rc=0 msg=success', put\n"
                "    assert ask('cmd=barrier_in') == 'cmd=barrier_out'\n"
                "    for other in range(size):\n"
                "        got = ask(f'cmd=get kvsname={space} key=-card-{other}')\n"
                "        assert got == f'cmd=get_result rc=0 msg=success value={round}=of {other}', got\n"
                "    assert ask('cmd=barrier_in') == 'cmd=barrier_out'\n"
                "print(ask('cmd=finalize'))\n")
        self.check(speak(code, 3), 3 * ["cmd=finalize_ack"])

    def test_what_is_not_there(self):
        code = ("space = init()\n"
                "for line in (f'cmd=get kvsname={space} key=no-such', 'cmd=get kvsname=other key=PMI_process_mapping',\n"
                "             'cmd=put kvsname=other key=a value=b',\n"
                "             'cmd=unpublish_name service=s', 'cmd=lookup_name service=s'):\n"
                "    reply = ask(line)\n"
                "    assert ' rc=-1 ' in reply, reply\n"
                "    print(reply.split()[0])\n"
                "print(ask(f'cmd=get kvsname={space} key=PMI_process_mapping').split('value=')[1])\n"
                "print(ask('cmd=finalize'))\n")
        self.check(speak(code), ["cmd=get_result", "cmd=get_result", "cmd=put_result", "cmd=unpublish_result", "cmd=lookup_result", "(vector,(0,1,1))",
                                 "cmd=finalize_ack"])

    def test_names_of_services(self):
        code = ("init()\n"
                "if rank == 0: assert ask('cmd=publish_name service=s port=tcp:7') == "
                "'cmd=publish_result info=ok rc=0 msg=success'\n"
                "assert ask('cmd=barrier_in') == 'cmd=barrier_out'\n"
                "found = ask('cmd=lookup_name service=s')\n"
                "assert found == 'cmd=lookup_result info=ok rc=0 msg=success port=tcp:7', found\n"
                "assert ' rc=-1 ' in ask('cmd=publish_name service=s port=tcp:8')\n"
                "assert ask('cmd=barrier_in') == 'cmd=barrier_out'\n"
                "if rank == 0: assert ' rc=0 ' in ask('cmd=unpublish_name service=s')\n"
                "assert ask('cmd=barrier_in') == 'cmd=barrier_out'\n"
                "assert ' rc=-1 ' in ask('cmd=lookup_name service=s')\n"
                "print(ask('cmd=finalize'))\n")
        self.check(speak(code, 3), 3 * ["cmd=finalize_ack"])

    def test_spawn(self):
        """Two programs as one job, which speaks PMI-1 as well; both sides see the other's published name."""
        child = ("assert os.environ['PMI_SPAWNED'] == '1' and 'WEFT_PMI_PREPUT' not in os.environ\n"
                 "space = init()\n"
                 "got = ask(f'cmd=get kvsname={space} key=PARENT_ROOT_PORT_NAME')\n"
                 "assert got == 'cmd=get_result rc=0 msg=success value=tag#0$a=b, c', got\n"
                 "assert ' rc=-1 ' in ask(f'cmd=get kvsname={space} key=of-the-parent')\n"
                 "assert ask('cmd=barrier_in') == 'cmd=barrier_out'\n"
                 "print(sys.argv[1:], rank, size, ask('cmd=get_appnum'), os.getcwd())\n"
                 "ask('cmd=finalize')\n")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "child.py"
            file.write_text(SPEAK + child)
            program = "".join(f"arg{i + 1}={word}\\n" for i, word in enumerate([sys.executable, "-E", file, "a b", ""]))
            block = ("mcmd=spawn\\nnprocs={}\\nexecname=" + WEFTPMI + "\\ntotspawns=2\\nspawnssofar={}\\n" + program +
                     "argcnt=5\\npreput_num=1\\npreput_key_0=PARENT_ROOT_PORT_NAME\\npreput_val_0=tag#0$a=b, c\\n"
                     "info_num=2\\ninfo_key_0=wdir\\ninfo_val_0=/\\ninfo_key_1=not-known\\ninfo_val_1=x\\nendcmd\\n")
            code = ("space = init()\n"
                    "assert 'PMI_SPAWNED' not in os.environ\n"
                    "ask(f'cmd=put kvsname={space} key=of-the-parent value=x')\n"
                    f"say('{block.format(1, 1)}')\n"
                    f"print(ask('{block.format(2, 2)}'.rstrip('\\n')))\n"
                    "ask('cmd=finalize')\n")
            result = speak(code)
        self.check(result, ["cmd=spawn_result rc=0"] +
                   [f"['a b', ''] {rank} 3 cmd=appnum appnum={program} /" for rank, program in enumerate([0, 1, 1])])

    def test_a_spawn_that_starts_nothing(self):
        code = ("init()\n"
                "for line in ('nprocs=1\\nexecname=/no/such/program', 'nprocs=0\\nexecname=true'):\n"
                "    reply = ask('mcmd=spawn\\n' + line + '\\nendcmd')\n"
                "    assert reply.startswith('cmd=spawn_result rc=-1 '), reply\n"
                "print(ask('cmd=finalize'))\n")
        result = speak(code)
        self.assertEqual((result.returncode, result.stdout), (0, b"cmd=finalize_ack\n"))
        self.assertEqual(len(own_lines(result.stderr)), 1, result.stderr)
        self.assertIn("'/no/such/program' does not exist", own_lines(result.stderr)[0])

    def test_another_version(self):
        code = ("print(ask('cmd=init pmi_version=3 pmi_subversion=0'))\n"
                "init()\n"
                "print(ask('cmd=finalize'))\n")
        self.check(speak(code), ["cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1", "cmd=finalize_ack"])

    def test_a_program_may_begin_again(self):
        code = ("for round in range(3):\n"
                "    init()\n"
                "    assert ask('cmd=barrier_in') == 'cmd=barrier_out'\n"
                "    print(ask('cmd=finalize'))\n")
        self.check(speak(code, 2), 6 * ["cmd=finalize_ack"])

    def test_requests_in_one_write_and_in_many(self):
        code = ("space = init()\n"
                "say(f'cmd=put kvsname={space} key=a value=b\\ncmd=barrier_in\\ncmd=get kvsname={space} key=a\\n')\n"
                "for byte in b'cmd=finalize\\n': say(bytes([byte]))\n"
                "for line in replies: \n"
                "    print(line.rstrip('\\n'))\n"
                "    if 'finalize' in line: break\n")
        self.check(speak(code), ["cmd=put_result rc=0 msg=success", "cmd=barrier_out",
                                 "cmd=get_result rc=0 msg=success value=b", "cmd=finalize_ack"])

    def test_a_value_that_would_end_its_line(self):
        """Another rank may put any bytes, by other calls than these: they are no lines of the agent's, and no
        longer than it said."""
        puts = ["a", "x\ncmd=get_result rc=0 msg=success value=INJECTED", "b", "1\t2", "c", 1023 * "c"]
        gets = ("space = init()\n"
                "assert ask('cmd=barrier_in') == 'cmd=barrier_out'\n"
                "for key in 'abc': print(ask(f'cmd=get kvsname={space} key={key}'))\n"
                "print(ask('cmd=finalize'))\n")
        script = 'agent=$1 python=$2 program=$3; shift 3; [ "$PMIX_RANK" = 0 ] && exec "$0" "$@"; exec "$agent" "$python" -c "$program"'
        result = run("--oversubscribe", "-n", "2", "sh", "-c", script, PUTS, WEFTPMI, sys.executable, SPEAK + gets, *puts)
        unknown = "cmd=get_result rc=-1 msg=key_not_found value=unknown"
        self.check(result, [unknown, unknown, "cmd=get_result rc=0 msg=success value=" + 1023 * "c", "cmd=finalize_ack"])


class Ends(unittest.TestCase):
    """However a program ends, its own status is the rank's, and no process is left: weftrun waits for all."""

    def test_a_program_that_asks_for_nothing(self):
        result = run("--oversubscribe", "-n", "3", WEFTPMI, "echo", "hello")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, 3 * b"hello\n", b""))

    def test_a_program_of_pmix(self):
        result = run("--oversubscribe", "-n", "2", WEFTPMI, CLIENT, "init", "fence", "finalize")
        self.assertEqual((result.returncode, result.stderr.decode()), (0, ""))

    def test_the_status_is_the_program_s(self):
        result = run("-n", "1", WEFTPMI, "sh", "-c", "exit 23")
        self.assertEqual(result.returncode, 23)
        result = run("-n", "1", WEFTPMI, "sh", "-c", "kill -9 $$")
        self.assertEqual(result.returncode, 128 + signal.SIGKILL)

    def test_an_end_without_finalize_is_a_failure(self):
        result = speak("init()\nsys.stdout.flush()\nos._exit(0)\n")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(len(own_lines(result.stderr)), 1, result.stderr)
        self.assertIn("rank 0", own_lines(result.stderr)[0])

    def test_abort_ends_the_job_with_its_status(self):
        code = ("init()\n"
                "if rank == 1: say('cmd=abort exitcode=9\\n')\n"
                "ask('cmd=barrier_in')\n"
                "while True: signal_never_comes = wire.recv(1)\n")
        result = speak(code, 3)
        self.assertEqual(result.returncode, 9, result.stderr)
        self.assertRegex(own_lines(result.stderr)[0], r"rank 1 on .* called PMIx_Abort .* with status 9")

    def test_a_killed_rank_ends_the_job(self):
        code = ("init()\n"
                "if rank == 1: os.kill(os.getpid(), 9)\n"
                "ask('cmd=barrier_in')\n"
                "while True: wire.recv(1)\n")
        result = speak(code, 3)
        self.assertEqual(result.returncode, 128 + signal.SIGKILL, result.stderr)
        self.assertIn("rank 1 on ", own_lines(result.stderr)[0])

    def test_a_child_that_keeps_the_socket_keeps_nothing_else(self):
        code = ("init()\n"
                "print(ask('cmd=finalize'), flush=True)\n"
                "if os.fork() == 0:\n"
                "    os.set_inheritable(wire.fileno(), True)\n"
                "    for fd in (0, 1, 2): os.close(fd)\n"
                "    import time\n"
                "    while True: time.sleep(1)\n")
        result = speak(code)
        self.assertEqual((result.returncode, result.stdout), (0, b"cmd=finalize_ack\n"))

    def test_the_program_has_no_child_and_no_other_descriptor(self):
        code = ("try: print(os.waitpid(-1, 0))\n"
                "except ChildProcessError: print('none')\n"
                "print(sorted(fd for fd in map(int, os.listdir('/proc/self/fd')) if os.path.exists(f'/proc/self/fd/{fd}')"
                " and fd != wire.fileno()))\n")
        result = speak(code)
        self.assertEqual(result.stdout.decode(), "none\n[0, 1, 2]\n")


class BadBytes(unittest.TestCase):
    def check(self, code, expected):
        result = speak(code + "\nprint(repr(replies.read()))\n")
        self.assertEqual(result.stdout.decode(), "''\n")  # the end, and no reply
        lines = pmi_lines(result)
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertRegex(lines[0], r"^weftpmi: rank 0 on [^ ]+: " + expected)

    def test_what_is_no_request(self):
        for text in ("GET / HTTP/1.1\\n", "cmd=no_such\\n", "cmd=get\\n", "\\n", "cmd=put kvsname=a key=b\\n"):
            self.check(f"say('{text}')", "the program wrote '.*' to PMI_FD, which is no request of PMI-1")

    def test_what_is_no_spawn(self):
        for text in ("endcmd", "nprocs=1\\nendcmd", "nprocs=-1", "execname=", "arg2=x", "totspawns=0", "no word",
                     "nprocs=1\\nexecname=a\\ntotspawns=2\\nendcmd\\ncmd=get_maxes"):
            self.check(f"init()\nsay('mcmd=spawn\\n{text}\\n')", "the program wrote '.*' to PMI_FD")

    def test_a_line_without_end(self):
        self.check("say('x' * 4096)\nsay('x')", "the program wrote 'x+' to PMI_FD")

    def test_bytes_that_are_no_text(self):
        self.check("say(bytes(range(256)) + b'\\n')", r"the program wrote '[?]+' to PMI_FD")

    def test_a_request_before_init(self):
        self.check("say('cmd=get_maxes\\n')", "the program made a request of PMI-1 before cmd=init")


class CommandLine(unittest.TestCase):
    def run_alone(self, *words, **variables):
        env = {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "OMPI_COMM", "SLURM"))}
        return subprocess.run([WEFTPMI, *words], env={**env, **variables}, capture_output=True, timeout=WATCHDOG, text=True,
                              check=False)

    def test_without_a_launcher_there_are_no_singletons(self):
        result = self.run_alone("echo", "hello")
        self.assertEqual((result.returncode, result.stdout), (125, ""))
        self.assertIn("there is no launcher with PMIx", result.stderr)

    def test_the_rank_is_one_of_the_job(self):
        for rank, size in (("2", "2"), ("-1", "2"), ("x", "2"), ("0", "0"), ("0", "99999999999")):
            result = self.run_alone("echo", "hello", PMIX_RANK=rank, OMPI_COMM_WORLD_SIZE=size)
            self.assertEqual((result.returncode, result.stdout), (125, ""))

    def test_a_program_that_is_not_there(self):
        self.assertEqual(self.run_alone("/no/such", PMIX_RANK="0", OMPI_COMM_WORLD_SIZE="1").returncode, 127)
        self.assertEqual(self.run_alone("/", PMIX_RANK="0", OMPI_COMM_WORLD_SIZE="1").returncode, 126)

    def test_help_and_version(self):
        self.assertIn("Usage: weftpmi", self.run_alone("--help").stdout)
        self.assertIn("weftpmi ", self.run_alone("--version").stdout)
        self.assertEqual(self.run_alone().returncode, 2)


if __name__ == "__main__":
    unittest.main()
