# SPDX-License-Identifier: BSD-3-Clause
"""weftpmi as a program: every request of the wire form of PMI-2, by a small client of its own, on one node
and on virtual nodes."""
import os
import pathlib
import socket
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "multiproc" / "harness"))
from weftrun_common import own_lines, python, run  # noqa: E402

WEFTPMI = os.environ["WEFTPMI"]
# What each rank runs. `ask` sends a request and returns the reply as a dictionary; `say` takes any bytes.
SPEAK = """
import os, socket, sys
rank, size = int(os.environ['PMI_RANK']), int(os.environ['PMI_SIZE'])
wire = socket.socket(fileno=int(os.environ['PMI_FD']))
replies = wire.makefile('rb')
def say(text):
    wire.sendall(text if isinstance(text, bytes) else text.encode())
def frame(command, **fields):
    text = f'cmd={command};' + ''.join(f"{key}={str(value).replace(';', ';;')};" for key, value in fields.items())
    return f'{len(text.encode()):6}{text}'.encode()
def hear():
    header = replies.read(6)
    if not header: return None
    text = replies.read(int(header)).decode()
    assert text.endswith(';'), text
    fields = text[:-1].replace(';;', chr(0)).split(';')
    return dict(field.replace(chr(0), ';').split('=', 1) for field in fields)
def ask(command, **fields):
    say(frame(command, **fields))
    reply = hear()
    assert reply.pop('cmd') == command + '-response', reply
    return reply
def begin():
    say('cmd=init pmi_version=2 pmi_subversion=0\\n')
    line = replies.readline()
    assert line == b'cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\\n', line
def init(**fields):
    begin()
    reply = ask('fullinit', pmirank=rank, threaded='FALSE', **fields)
    assert (reply['rc'], reply['rank'], reply['size']) == ('0', str(rank), str(size)), reply
    return reply
good = {'rc': '0'}
def fence(): assert ask('kvs-fence') == good
def finalize():
    assert ask('finalize') == good
    print('done')
"""
FOUR_NODES = ("--virtual-nodes", "4:1")


def speak(code, ranks=1, *options):
    return run(*options, "--oversubscribe", "-n", str(ranks), WEFTPMI, *python(SPEAK + code))


class Requests(unittest.TestCase):
    maxDiff = None

    def check(self, result, out):
        self.assertEqual((result.returncode, result.stderr.decode()), (0, ""))
        self.assertEqual(sorted(result.stdout.decode().splitlines()), sorted(out))

    def on_one_node_and_on_four(self, code, ranks, out):
        self.check(speak(code, ranks), out)
        self.check(speak(code, ranks, *FOUR_NODES), out)

    def test_about_the_job(self):
        code = ("reply = init()\n"
                "assert 'spawner-jobid' not in reply\n"
                "print(reply['pmi-version'], reply['pmi-subversion'], reply['appnum'], reply['debugged'])\n"
                "job = ask('job-getid')['jobid']\n"
                "assert job.startswith('weft-'), job\n"
                "for key in ('universeSize', 'PMI_process_mapping', 'no-such'):\n"
                "    reply = ask('info-getjobattr', key=key)\n"
                "    print(key, reply['flag'], reply.get('value'), reply['rc'])\n"
                "finalize()\n")
        self.check(speak(code, 1, "-H", f"{socket.gethostname()}:3"),
                   ["2 0 0 FALSE", "universeSize TRUE 3 0", "PMI_process_mapping TRUE (vector,(0,1,1)) 0",
                    "no-such FALSE None 0", "done"])

    def test_the_mapping_of_four_nodes(self):
        code = "init()\nprint(ask('info-getjobattr', key='PMI_process_mapping')['value'])\nfinalize()\n"
        self.check(speak(code, 8, "--virtual-nodes", "4:2"), 8 * ["(vector,(0,4,2))", "done"])

    def test_values_of_all_ranks(self):
        """Any text is a value, with semicolons, ends of lines and equal signs in it; a hint that is wrong
        does no harm."""
        code = ("init()\n"
                "job = ask('job-getid')['jobid']\n"
                "for round in 'ab':\n"
                "    text = f'{round};;= of\\n{rank};'\n"
                "    assert ask('kvs-put', key=f'-card-{rank}', value=text) == good\n"
                "    fence()\n"
                "    for other in range(size):\n"
                "        for fields in ({}, {'jobid': job}, {'srcid': other}, {'srcid': (other + 1) % size}, {'srcid': -1}):\n"
                "            got = ask('kvs-get', key=f'-card-{other}', **fields)\n"
                "            assert got == {'flag': 'TRUE', 'found': 'TRUE', 'value': f'{round};;= of\\n{other};', 'rc': '0'}, got\n"
                "    fence()\n"
                "assert ask('kvs-get', key='no-such') == {'flag': 'FALSE', 'found': 'FALSE', 'rc': '0'}\n"
                "finalize()\n")
        self.on_one_node_and_on_four(code, 4, 4 * ["done"])

    def test_the_thread_of_a_request_is_the_reply_s(self):
        code = ("init()\n"
                "for thread in ('7', 'a;b', ''):\n"
                "    reply = ask('job-getid', thrid=thread)\n"
                "    assert reply.get('thrid', '') == thread and list(reply)[0] == ('thrid' if thread else 'jobid'), reply\n"
                "assert ask('no-such', thrid='x')['thrid'] == 'x'\n"
                "finalize()\n")
        self.check(speak(code), ["done"])

    def test_attributes_of_a_node(self):
        """Each node's own; a request that waits holds up no other thread of its process."""
        code = ("init()\n"
                "assert ask('info-getnodeattr', key='a')['flag'] == 'FALSE'\n"
                "fence()\n"
                "local = ask('info-getnodeattr', key='localRanks')['value'].split(',')\n"
                "assert ask('info-getnodeattr', key='localRanksCount')['value'] == str(len(local))\n"
                "say(frame('info-getnodeattr', thrid='w', key='a', wait='TRUE'))\n"
                "assert ask('info-getnodeattr', thrid='x', key='b')['flag'] == 'FALSE'\n"
                "fence()\n"
                "if str(rank) == local[0]: assert ask('info-putnodeattr', thrid='x', key='a', value=f'of {local[0]}')['rc'] == '0'\n"
                "found = hear()\n"
                "assert found == {'cmd': 'info-getnodeattr-response', 'thrid': 'w', 'flag': 'TRUE', 'found': 'TRUE', 'value': f'of {local[0]}', 'rc': '0'}, found\n"
                "fence()\n"
                "finalize()\n")
        self.check(speak(code, 3), 3 * ["done"])
        self.check(speak(code, 8, "--virtual-nodes", "4:2"), 8 * ["done"])

    def test_a_wait_ends_with_finalize(self):
        code = ("init()\n"
                "say(frame('info-getnodeattr', thrid='w', key='never', wait='TRUE') + frame('finalize', thrid='f'))\n"
                "first, second = hear(), hear()\n"
                "assert (first['thrid'], first['rc']) == ('w', '1') and (second['thrid'], second['rc']) == ('f', '0')\n")
        self.check(speak(code), [])

    def test_names_of_services(self):
        code = ("init()\n"
                "if rank == 0: assert ask('name-publish', name='s', port='tcp;7', infokeycount=0) == good\n"
                "fence()\n"
                "found = ask('name-lookup', name='s', infokeycount=0)\n"
                "assert found == {'port': 'tcp;7', 'flag': 'TRUE', 'found': 'TRUE', 'value': 'tcp;7', 'rc': '0'}, found\n"
                "assert ask('name-publish', name='s', port='tcp:8')['rc'] != '0'\n"
                "fence()\n"
                "if rank == size - 1: assert ask('name-unpublish', name='s')['rc'] != '0' or size == 1\n"
                "if rank == 0: assert ask('name-unpublish', name='s') == good\n"
                "fence()\n"
                "assert ask('name-lookup', name='s')['flag'] == 'FALSE'\n"
                "finalize()\n")
        self.on_one_node_and_on_four(code, 4, 4 * ["done"])

    CHILD = ("assert os.environ['PMI_SPAWNED'] == '1' and 'WEFT_PMI_PREPUT' not in os.environ\n"
             "reply = init()\n"
             "parent = reply['spawner-jobid']\n"
             "assert ask('info-getjobattr', key='PARENT_ROOT_PORT_NAME')['value'] == 'tag#0$a=b;, c'\n"
             "assert ask('kvs-get', key='PARENT_ROOT_PORT_NAME')['value'] == 'tag#0$a=b;, c'\n"
             "assert ask('kvs-get', jobid=parent, key='p')['rc'] == '3'\n"
             "assert ask('job-connect', jobid=parent) == {'kvscopy': 'FALSE', 'rc': '0'}\n"
             "assert ask('kvs-get', jobid=parent, key='p')['value'] == 'of the parent'\n"
             "assert ask('job-disconnect', jobid=parent) == good\n"
             "assert ask('job-disconnect', jobid=parent)['rc'] != '0'\n"
             "fence()\n"
             "if rank == 0: assert ask('name-publish', name=parent, port='read') == good\n"
             "print(sys.argv[1:], rank, size, reply['appnum'], os.getcwd())\n"
             "assert ask('finalize') == good\n")

    def spawn(self, folder, is_apart):
        """The code of a parent: two programs as one job, in the message or in messages of their own."""
        file = pathlib.Path(folder) / "child.py"
        file.write_text(SPEAK + self.CHILD)
        words = [sys.executable, "-E", str(file), "a b", "x;y"]
        first, last = ((WEFTPMI, *words), "") if is_apart else (tuple(words), WEFTPMI)
        return ("init()\n"
                "assert 'PMI_SPAWNED' not in os.environ\n"
                "assert ask('kvs-put', key='p', value='of the parent') == good\n"
                "fence()\n"
                f"words, name, is_apart = {first!r}, {last!r}, {is_apart!r}\n"
                "def double(text): return str(text).replace(';', ';;')\n"
                "def program(ranks):\n"
                "    fields = [] if is_apart else [('subcmd', name)]\n"
                "    fields += [('maxprocs', ranks), ('argc', len(words)), *((f'argv{i}', word) for i, word in enumerate(words))]\n"
                "    fields += [('infokeycount', 2), ('infokey0', 'wdir'), ('infoval0', '/'), ('infokey1', 'not-known'), ('infoval1', 'x')]\n"
                "    return ''.join(f'{key}={double(value)};' for key, value in fields)\n"
                "order = ('cmd=spawn;thrid=9;ncmds=2;preputcount=1;ppkey0=PARENT_ROOT_PORT_NAME;ppval0=' + double('tag#0$a=b;, c') + ';')\n"
                "texts = [order, *('cmd=spawn-cmd;thrid=9;' + program(n) for n in (1, 2))] if is_apart else [order + program(1) + program(2)]\n"
                "if rank == 0:\n"
                "    for text in texts: say(f'{len(text):6}{text}')\n"
                "    reply = hear()\n"
                "    assert (reply['cmd'], reply['thrid'], reply['rc'], reply['nerrs']) == ('spawn-response', '9', '0', '0'), reply\n"
                "    own = ask('job-getid')['jobid']\n"
                "    assert reply['jobid'] != own\n"
                "    while ask('name-lookup', name=own)['flag'] == 'FALSE': pass\n"
                "fence()\n"
                "finalize()\n")

    def test_spawn(self):
        children = [f"['a b', 'x;y'] {rank} 3 {program} /" for rank, program in enumerate([0, 1, 1])]
        with tempfile.TemporaryDirectory() as folder:
            for is_apart in (False, True):
                code = self.spawn(folder, is_apart)
                self.check(speak(code, 2), 2 * ["done"] + children)
                self.check(speak(code, 2, "--virtual-nodes", "4:2"), 2 * ["done"] + children)

    def test_a_spawn_that_starts_nothing(self):
        code = ("init()\n"
                "for fields in ({}, {'ncmds': 1, 'subcmd': ''}, {'ncmds': 2, 'subcmd': 'true'}, {'ncmds': 0}, {'ncmds': 'x'},\n"
                "               {'ncmds': 1, 'subcmd': 'true', 'maxprocs': -1}, {'ncmds': 1, 'subcmd': 'true', 'argc': 1},\n"
                "               {'ncmds': 1, 'subcmd': 'true', 'argv2': 'x'}, {'ncmds': 1, 'ppval0': 'x', 'subcmd': 'true'}):\n"
                "    reply = ask('spawn', **fields)\n"
                "    assert reply['rc'] == '3' and 'no programs' in reply['errmsg'], (fields, reply)\n"
                "assert ask('spawn', ncmds=1, subcmd='true', maxprocs=0)['rc'] == '14'\n"
                "assert ask('spawn', ncmds=1, subcmd='/no/such/program', maxprocs=1)['rc'] == '14'\n"
                "say(frame('spawn', ncmds=1))\n"
                "say(frame('spawn-cmd', thrid='other', maxprocs=1, argv0='true'))\n"
                "assert hear()['rc'] == '3'\n"
                "finalize()\n")
        result = speak(code)
        self.assertEqual((result.returncode, result.stdout), (0, b"done\n"), result.stderr)
        self.assertEqual(len(own_lines(result.stderr)), 1, result.stderr)
        self.assertIn("'/no/such/program' does not exist", own_lines(result.stderr)[0])

    def test_messages_in_parts(self):
        code = ("init()\n"
                "say(frame('kvs-put', key='a', concat=1) + frame('kvs-put', key='b', concat=2))\n"
                "say(frame('concat', concatid=2, value='of b') + frame('concat', concatid=1, concat=1))\n"
                "assert hear()['rc'] == '0'\n"
                "say(frame('concat', concatid=1, value='of a'))\n"
                "assert hear()['rc'] == '0'\n"
                "fence()\n"
                "for key in 'ab': assert ask('kvs-get', key=key)['value'] == 'of ' + key\n"
                "assert ask('concat', concatid=3)['rc'] == '14'\n"
                "finalize()\n")
        self.check(speak(code), ["done"])

    def test_lengths_as_the_client_of_mpich_counts_them(self):
        """Six too many, with as many bytes of any kind behind the message."""
        code = ("def frame(command, excess=b';a=b;;', **fields):\n"
                "    text = f'cmd={command};' + ''.join(f'{key}={value};' for key, value in fields.items())\n"
                "    return f'{len(text) + 6:<6}{text}'.encode() + excess\n"
                "begin()\n"
                "assert ask('fullinit', excess=bytes(6), pmirank=rank)['rc'] == '0'\n"
                "assert ask('kvs-put', key='a', value='b') == good\n"
                "assert ask('kvs-fence', excess=b'\\0;valu') == good\n"
                "assert ask('kvs-get', key='a', excess=b'\\x7f\\0= ;\\0')['value'] == 'b'\n"
                "finalize()\n")
        self.check(speak(code), ["done"])

    def test_a_program_may_begin_again(self):
        code = ("for round in range(3):\n"
                "    init()\n"
                "    fence()\n"
                "    finalize()\n")
        self.check(speak(code, 2), 6 * ["done"])

    def test_messages_in_one_write_and_in_many(self):
        code = ("init()\n"
                "say(frame('kvs-put', key='a', value='b') + frame('kvs-fence') + frame('kvs-get', key='a'))\n"
                "for byte in frame('finalize'): say(bytes([byte]))\n"
                "for _ in range(4): print(hear())\n")
        self.check(speak(code), ["{'cmd': 'kvs-put-response', 'rc': '0'}", "{'cmd': 'kvs-fence-response', 'rc': '0'}",
                                 "{'cmd': 'kvs-get-response', 'flag': 'TRUE', 'found': 'TRUE', 'value': 'b', 'rc': '0'}",
                                 "{'cmd': 'finalize-response', 'rc': '0'}"])


class Ends(unittest.TestCase):
    def test_abort_ends_the_job(self):
        for options in ((), FOUR_NODES):
            code = ("init()\n"
                    "if rank == 1: say(frame('abort', isworld='TRUE', msg='no more'))\n"
                    "say(frame('kvs-fence'))\n"
                    "while True: signal_never_comes = wire.recv(1)\n")
            result = speak(code, 4, *options)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertRegex(own_lines(result.stderr)[0], r"rank 1 on .* called PMIx_Abort .*no more")

    def test_an_abort_of_one_process_is_its_own_end(self):
        code = ("init()\n"
                "say(frame('abort', isworld='FALSE', msg='mine'))\n"
                "finalize()\n"
                "sys.stdout.flush()\n"
                "os._exit(7)\n")
        result = speak(code)
        self.assertEqual((result.returncode, result.stdout), (7, b"done\n"), result.stderr)

    def test_a_killed_rank_ends_the_job(self):
        code = ("init()\n"
                "if rank == 1: os.kill(os.getpid(), 9)\n"
                "say(frame('kvs-fence'))\n"
                "while True: wire.recv(1)\n")
        result = speak(code, 3)
        self.assertEqual(result.returncode, 128 + 9, result.stderr)
        self.assertIn("rank 1 on ", own_lines(result.stderr)[0])

    def test_an_end_within_a_message(self):
        result = speak("init()\nsay(frame('kvs-put', key='a', value='b')[:-3])\nos._exit(0)\n")
        self.assertEqual(result.returncode, 1)
        self.assertIn("rank 0", own_lines(result.stderr)[0])


class BadBytes(unittest.TestCase):
    def test_requests_that_are_refused(self):
        """Each has a reply that says why, and the conversation goes on."""
        code = ("init()\n"
                "def refused(text, code, why):\n"
                "    say(f'{len(text):6}{text}')\n"
                "    reply = hear()\n"
                "    assert (reply['rc'], reply['errmsg']) == (code, why), (text[:80], reply)\n"
                "refused('cmd=no-such;', '14', 'the command is not known')\n"
                "refused('cmd=kvs-put;key=a;', '3', 'there is no value')\n"
                "refused('cmd=kvs-put;value=a;', '3', 'there is no key')\n"
                "refused('cmd=kvs-put;key=;value=a;', '3', 'there is no key')\n"
                "refused('cmd=kvs-put;key=' + 64 * 'k' + ';value=a;', '5', 'the key is too long')\n"
                "refused('cmd=kvs-put;key=k;value=' + 1024 * 'v' + ';', '7', 'the value is too long')\n"
                "refused('cmd=kvs-put;key=k;value=a\\0b;', '6', 'a text has a zero in it')\n"
                "refused('cmd=kvs-put;key;value=a;', '3', \"a field has no '='\")\n"
                "refused('cmd=kvs-put;=k;value=a;', '3', \"a field's name is none\")\n"
                "refused('cmd=kvs-put;' + 65 * 'k' + '=k;value=a;', '3', \"a field's name is none\")\n"
                "refused('cmd=kvs-get;key=a;jobid=' + 256 * 'j' + ';', '8', 'the jobid is too long')\n"
                "refused('cmd=kvs-get;key=a;jobid=other;', '3', 'the job is not connected')\n"
                "refused('cmd=name-publish;name=' + 256 * 's' + ';port=p;', '8', 'the name is too long')\n"
                "refused('cmd=name-publish;name=s;', '3', 'there is no port')\n"
                "refused('cmd=job-connect;', '3', 'there is no jobid')\n"
                "refused('cmd=kvs-put;' + 65536 * 'a=;' + 'key=k;', '3', 'too many fields')\n"
                "assert ask('job-connect', jobid='no-such-job')['rc'] == '14'\n"
                "fence()\n"
                "finalize()\n")
        result = speak(code)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"done\n", b""))

    def test_a_request_before_fullinit(self):
        result = speak("begin()\nprint(ask('job-getid'))\n")
        self.assertEqual(result.stdout.decode(), "{'rc': '1', 'errmsg': 'a request before fullinit'}\n")

    def test_what_is_no_frame(self):
        for text in ("b'GET / HTTP/1.1'", "b'     0'", "b'    -1'", "b'+00001'", "b'      '", "b'     4abcd'", "b'     4cmd='",
                     "b'    10cmd=a b;c='", "bytes(range(256))", "f'{70:6}cmd=' + 66 * 'x'"):
            result = speak(f"begin()\nsay({text})\nprint(repr(replies.read()))\n")
            self.assertEqual(result.stdout.decode(), "b''\n")  # the end, and no reply
            lines = result.stderr.decode().splitlines()
            self.assertEqual(len(lines), 1, lines)
            self.assertRegex(lines[0], r"^weftpmi: rank 0 on [^ ]+: the program wrote '.*' to PMI_FD, which is no request of PMI-2")


if __name__ == "__main__":
    unittest.main()
