# SPDX-License-Identifier: BSD-3-Clause
"""What a frame may cost its server before it has come, and that a server without memory ends a client instead
of itself."""
import os
import pathlib
import unittest

from weftrun_common import CLIENT, PYTHON, run

HEADER = pathlib.Path(__file__).resolve().parents[3] / "core" / "link" / "frame.hpp"
# What a rank runs: it speaks to its server as tools do, and knows which process that is.
ATTACKER = f"""
import fcntl, os, re, socket, struct, sys, termios, time
version = int(re.search(r'wire_version = (\\d+);', open({str(HEADER)!r}).read())[1])
PUBLISH, HELLO_TOOL, WELCOME = 22, 18, 2
server = int(os.environ['WEFT_SEGMENT'].split(':')[0])
def header(kind, length, tag=1):
    return struct.pack('<IHHQ', length, kind, 0, tag)
def tool():
    out = socket.socket(socket.AF_UNIX)
    out.connect('\\0' + os.environ['WEFT_SERVER'])
    payload = struct.pack('<HBIII', version, 0, 0, 0, 0)
    out.sendall(header(HELLO_TOOL, len(payload)) + payload)
    reply = out.recv(16, socket.MSG_WAITALL)
    assert struct.unpack('<IHHQ', reply)[1] == WELCOME, reply
    return out
def resident():  # KiB that are the server's alone
    with open(f'/proc/{{server}}/status') as status:
        return next(int(line.split()[1]) for line in status if line.startswith('RssAnon:'))
def unread(connection):
    return struct.unpack('i', fcntl.ioctl(connection, termios.TIOCOUTQ, b'0000'))[0]
"""


class Frames(unittest.TestCase):
    def test_an_announced_length_is_not_taken(self):
        """Each announces 1 GiB, and sends nothing of it, or a little."""
        code = ATTACKER + """
import threading
threading.Timer(50, os._exit, [9]).start()
first = [tool() for _ in range(4)]
before = resident()
for number, connection in enumerate(first):
    connection.sendall(header(PUBLISH, 1 << 30) + number % 2 * 100 * b'x')
while any(map(unread, first)): pass
tool()  # its hello is read behind what the loop was at
grown = (resident() - before) // len(first)
print("at most a MiB" if grown <= 1024 else grown)
os._exit(sys.stdout.flush() or 0)
"""
        result = run("-n", "1", PYTHON, "-c", code)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"at most a MiB\n", b""))

    @unittest.skipIf(os.environ.get("WEFT_TEST_SANITIZE"), "sanitizers need the address space")
    def test_without_memory_a_client_ends(self):
        code = ATTACKER + """
greedy = tool()
greedy.settimeout(60)
greedy.sendall(header(PUBLISH, 1 << 30))
block, sent = bytes(1 << 20), 0
try:
    while sent < 1 << 10:
        greedy.sendall(block)
        sent += 1
    print('taken')
except (BrokenPipeError, ConnectionResetError):
    print('closed')
tool()
"""
        script = f'if [ "$PMIX_RANK" = 0 ]; then exec {PYTHON} -c "$1"; else exec "$0" init commit finalize; fi'
        words = ("-n", "2", "--oversubscribe", "sh", "-c", script, CLIENT, code)
        result = run(*words, before=("prlimit", "--as=700000000"))
        self.assertEqual((result.returncode, result.stdout), (0, b"closed\n"), result.stderr)
        self.assertIn(b"no memory is left for a publish", result.stderr)


if __name__ == "__main__":
    unittest.main()
