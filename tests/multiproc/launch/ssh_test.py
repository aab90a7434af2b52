#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs over pretend hosts (scripts/hosts), each with an sshd of OpenSSH: ssh, in a tree, is what starts the
daemons.

The hosts have their network and /run for themselves, the files in common. The user's shell there has the
environment that sshd gives it, and none of this one's. Exit status 77: skipped; the reason is printed.
"""
import base64
import collections
import ctypes
import os
import pwd
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from weftrun_common import CLIENT, HOSTS_SCRIPT, WATCHDOG, WEFTRUN, finish, hosts, kill_quietly, left_on, on_hosts, own_lines, \
    parent, python, read_lines, wait_until

WEFTD = os.environ["WEFTD"]
SET = f"w{os.getpid()}s"
# The first is weftrun's own; with arity 2 it starts the second and the third, which starts the fourth.
HOSTS = [f"{SET}{number}" for number in range(4)]
PORT = 2222
LIBC = ctypes.CDLL(None)


def ends_with_us():
    """In a child before its program: whatever ends this test, ends it."""
    LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def read(path):
    """Of a file of /proc, nothing when the process has gone."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def network_of(pid):
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except OSError:
        return None


def words_of(pid):
    return read(f"/proc/{pid}/cmdline").decode(errors="replace").split("\0")[:-1]


class Site:
    """The hosts, and what ssh needs there: keys, settings and one sshd a host, all in one folder."""

    def __init__(self, folder):
        self.folder = folder
        self.sshd = {}
        self.kept = {words[0].split(":")[1]: int(pid) for pid in filter(str.isdigit, os.listdir("/proc"))
                     if (words := words_of(pid)) and words[0].startswith(f"weft-host:{SET}")}
        self.networks = {host: network_of(self.kept[host]) for host in HOSTS}
        for name in ("host_key", "user_key", "other_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", self.path(name)],
                           check=True, stdin=subprocess.DEVNULL)
        public = read(self.path("host_key.pub")).decode()
        self.write("known_hosts", "".join(f"[{host}]:{PORT} {public}" for host in HOSTS))
        self.config = self.write("ssh_config", f"""
            Port {PORT}
            User {pwd.getpwuid(os.geteuid()).pw_name}
            IdentityFile {self.path('user_key')}
            IdentitiesOnly yes
            UserKnownHostsFile {self.path('known_hosts')}
            GlobalKnownHostsFile /dev/null
            StrictHostKeyChecking yes
            BatchMode yes
            ConnectTimeout 20
            SendEnv ASAN_OPTIONS
            """)
        for host in HOSTS:
            made = hosts("run", host, "sh", "-c", "mount -t tmpfs -o mode=755 tmpfs /run && mkdir /run/sshd")
            if made.returncode != 0:
                raise AssertionError(made.stderr)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)
        return self.path(name)

    def start(self, host, users_key="user_key"):
        """sshd there, which lets in the owner of that key; returns when it listens."""
        config = self.write(f"sshd_config.{host}", f"""
            Port {PORT}
            ListenAddress {host}
            HostKey {self.path('host_key')}
            AuthorizedKeysFile {self.path(users_key + '.pub')}
            PidFile none
            UsePAM no
            StrictModes no
            PermitRootLogin prohibit-password
            PasswordAuthentication no
            KbdInteractiveAuthentication no
            PermitUserRC no
            PrintMotd no
            AcceptEnv ASAN_OPTIONS
            LogLevel VERBOSE
            """)
        with open(self.path(f"log.{host}"), "wb") as log:
            # The script and nsenter execute each other: the pid is sshd's.
            self.sshd[host] = subprocess.Popen(
                [HOSTS_SCRIPT, "run", host, shutil.which("sshd"), "-D", "-e", "-f", config], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, preexec_fn=ends_with_us)
        # Both addresses that a host's name has.
        wait_until(lambda: self.log(host).count(b"Server listening") == 2 or self.sshd[host].poll() is not None,
                   f"sshd of {host}: {self.log(host)}")
        if self.sshd[host].poll() is not None:
            raise AssertionError(self.log(host))

    def log(self, host):
        return read(self.path(f"log.{host}"))

    def stop(self, host):
        kill_quietly(self.sshd.pop(host))

    def processes(self):
        """By host, all but the sshd that listens and what keeps the host alive: pids."""
        known = set(self.kept.values()) | {process.pid for process in self.sshd.values()}
        found = {host: [] for host in HOSTS}
        by_network = {network: host for host, network in self.networks.items()}
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            host = by_network.get(network_of(pid))
            if host is not None and pid not in known:
                found[host].append(pid)
        return found


SITE = None


class RealSsh(unittest.TestCase):
    def setUp(self):
        self.files = tempfile.TemporaryDirectory()
        self.env = {key: text for key, text in os.environ.items() if key not in ("WEFT_NET", "SSH_AUTH_SOCK")}
        self.env.update({"TMPDIR": self.files.name, "WEFT_SSH": shlex.join(["ssh", "-F", SITE.config])})
        self.job = None
        for host in HOSTS:
            if host not in SITE.sshd:
                SITE.start(host)

    def tearDown(self):
        if self.job is not None:
            kill_quietly(self.job)
        left = os.listdir(self.files.name)
        self.files.cleanup()
        self.assertEqual(left, [])

    def start(self, *args, arity=2):
        # As with sshd the pid is weftrun's.
        self.job = subprocess.Popen(
            [HOSTS_SCRIPT, "run", HOSTS[0], WEFTRUN, "--host", ",".join(f"{host}:2" for host in HOSTS), "--agent-arity",
             str(arity), "-n", "8", *args], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, preexec_fn=ends_with_us)
        return self.job

    def nothing_is_left(self):
        wait_until(lambda: not any(SITE.processes().values()), "the end of all processes on all hosts")
        for host in HOSTS:
            self.assertEqual(left_on(host), [], host)

    def targets(self):
        """By host, the hosts that an ssh there goes to."""
        return {host: sorted(words[-2] for words in map(words_of, pids) if words and words[0] == "ssh")
                for host, pids in SITE.processes().items()}

    def daemons(self):
        """By host; a daemon's guard process, which is called as it is, is its child."""
        found = {pid: host for host, pids in SITE.processes().items() for pid in pids if words_of(pid) == [WEFTD]}
        return {host: pid for pid, host in found.items() if parent(pid) not in found}

    def test_all_run_where_they_should_and_all_output_arrives(self):
        self.env["WEFT_TEST_WORD"] = "of weftrun's environment"
        lines = 5000
        status, out, err = finish(self.start("--tag-output", *python(
            "import os, socket\n"
            f"for i in range({lines}):\n"
            "  print(i, os.environ['PMIX_RANK'], socket.gethostname(), os.getcwd(), os.environ['WEFT_TEST_WORD'])")))
        self.assertEqual((status, err), (0, b""))
        by_rank = collections.defaultdict(list)
        for line in out.decode().splitlines():
            rank, rest = line.split(" ", 1)
            by_rank[int(rank.strip("[]"))].append(rest)
        self.assertEqual(sorted(by_rank), list(range(8)))
        for rank, said in by_rank.items():
            where = f"{rank} {HOSTS[rank // 2]} {os.getcwd()} {self.env['WEFT_TEST_WORD']}"
            self.assertEqual(said, [f"{i} {where}" for i in range(lines)])
        self.nothing_is_left()

    def start_waiting(self, *args, **options):
        """A job whose ranks have met and then wait; returns when they do."""
        job = self.start(*args, CLIENT, "init", "fence", "wait", **options)
        self.assertEqual(read_lines(job.stdout, 8), ["waiting"] * 8)
        return job

    def end_it(self):
        self.job.send_signal(signal.SIGTERM)
        status, out, err = finish(self.job)
        self.assertEqual((status, out), (128 + signal.SIGTERM, b""), err)
        self.nothing_is_left()

    def test_ranks_meet(self):
        status, out, err = finish(self.start(CLIENT, "init", "fence", "keys", "fence", "finalize"))
        self.assertEqual((status, err), (0, b""))
        said = out.decode().splitlines()
        for host in HOSTS:
            self.assertEqual(said.count(f"hostname={host}"), 2, out)
        self.nothing_is_left()

    def test_the_daemons_start_in_a_tree(self):
        self.start_waiting()
        self.assertEqual(self.targets(), {HOSTS[0]: HOSTS[1:3], HOSTS[1]: [], HOSTS[2]: [HOSTS[3]], HOSTS[3]: []})
        self.assertEqual(sorted(self.daemons()), HOSTS[1:])
        self.end_it()

    def test_without_a_tree_weftrun_reaches_all(self):
        self.start_waiting(arity=0)
        self.assertEqual(self.targets(), {HOSTS[0]: HOSTS[1:], HOSTS[1]: [], HOSTS[2]: [], HOSTS[3]: []})
        self.end_it()

    def test_a_rank_that_fails_ends_all(self):
        for rank in (2, 7):  # of the first level of the tree, and of the second
            with self.subTest(rank=rank):
                status, out, err = finish(self.start(CLIENT, "init", "fence", f"only:{rank}", "exit:3", "all", "wait"))
                self.assertEqual(status, 3, err)
                own = own_lines(err)
                self.assertEqual(len(own), 1, err)
                self.assertIn(f"rank {rank} ", own[0])
                self.assertIn(HOSTS[rank // 2], own[0])
                self.nothing_is_left()

    def test_weftrun_is_killed(self):
        job = self.start_waiting()
        job.kill()
        finish(job)
        self.nothing_is_left()

    def refused(self, host, wants, lost):
        """A run in which ssh does not get to that host."""
        begin = time.monotonic()
        status, out, err = finish(self.start(CLIENT, "init", "fence", "finalize"))
        self.assertLess(time.monotonic() - begin, WATCHDOG / 2)
        self.assertEqual((status, out), (125, b""), err)
        own = own_lines(err)
        self.assertEqual(len(own), 1, err)
        self.assertIn(f"node '{host}'" + (f" and {lost} that it was to start" if lost else ""), own[0])
        self.assertIn(f"ssh -F {SITE.config} {host} {WEFTD}", own[0])
        self.assertIn(wants, own[0])
        # The last host is behind another one.
        here = "here" if host != HOSTS[3] else f"node '{HOSTS[2]}'"
        self.assertIn(f"What to do: see that 'ssh -F {SITE.config} {host} true' works from {here} without", own[0])
        self.nothing_is_left()

    def test_no_sshd_answers(self):
        for host, lost in ((HOSTS[2], 1), (HOSTS[3], 0)):
            with self.subTest(host=host):
                SITE.stop(host)
                try:
                    self.refused(host, "Connection refused", lost)
                finally:
                    SITE.start(host)

    def test_the_key_is_refused(self):
        for host, lost in ((HOSTS[1], 0), (HOSTS[3], 0)):
            with self.subTest(host=host):
                SITE.stop(host)
                SITE.start(host, users_key="other_key")
                try:
                    self.refused(host, "Permission denied (publickey)", lost)
                finally:
                    SITE.stop(host)
                    SITE.start(host)

    def test_an_sshd_that_is_stuck(self):
        """The kernel takes the connection, sshd says nothing."""
        self.env["WEFT_LAUNCH_TIMEOUT"] = "12"  # the other daemons come within it on a busy machine, too
        for host in HOSTS[2:]:
            with self.subTest(host=host):
                SITE.sshd[host].send_signal(signal.SIGSTOP)
                try:
                    status, out, err = finish(self.start(CLIENT, "init", "fence", "finalize"))
                finally:
                    SITE.sshd[host].send_signal(signal.SIGCONT)
                self.assertEqual((status, out), (125, b""), err)
                own = own_lines(err)
                self.assertEqual(len(own), 1, err)
                self.assertIn(f"node {host}: its daemon has not reported within 12 seconds", own[0])
                self.assertIn(f"tried: ssh -F {SITE.config} {host} {WEFTD}", own[0])
                self.nothing_is_left()

    def test_nothing_secret_is_on_a_command_line_or_in_an_environment(self):
        # What goes through standard input is kept by a copy beside the real ssh.
        wrapper = SITE.write("ssh_and_copy", f"""#!/bin/sh
umask 077
tee {SITE.folder}/start.$$ | ssh -F {SITE.config} "$@"
""")
        os.chmod(wrapper, 0o700)
        self.env["WEFT_SSH"] = wrapper
        seen, is_over, rounds = {}, threading.Event(), []

        def look():
            while not is_over.is_set():
                for host, pids in SITE.processes().items():
                    for pid in pids:
                        for name in ("cmdline", "environ"):
                            seen.setdefault((host, name), set()).add(read(f"/proc/{pid}/{name}"))
                rounds.append(None)

        watcher = threading.Thread(target=look)
        watcher.start()
        try:
            self.start_waiting()
            begun = len(rounds)
            wait_until(lambda: len(rounds) > begun + 1, "a look at all processes while the ranks wait")
            self.end_it()
        finally:
            is_over.set()
            watcher.join()
        told = [read(SITE.path(name)) for name in os.listdir(SITE.folder) if name.startswith("start.")]
        self.assertEqual(len(told), 3)
        secrets = set()
        for message in told:
            for word in (b"key", b"contact"):
                digits = re.search(rb"^" + word + rb" ([0-9a-f]{64,})$", message, re.MULTILINE).group(1)
                raw = bytes.fromhex(digits.decode())
                secrets |= {digits, digits.upper(), raw, base64.b64encode(raw).rstrip(b"=")}
        self.assertEqual(len(secrets), 8)  # of one key and one contact
        for host in HOSTS:
            lines = b"\n".join(seen[(host, "cmdline")])
            self.assertIn(CLIENT.encode(), lines)  # it was looked at the right place, at the right time
            if host != HOSTS[0]:
                self.assertIn(WEFTD.encode(), lines)
            if host in (HOSTS[0], HOSTS[2]):
                self.assertIn(b"ssh\0-F\0", lines)
            for text in (lines, b"\n".join(seen[(host, "environ")]), SITE.log(host)):
                for secret in secrets:
                    self.assertNotIn(secret, text)

    def test_daemons_have_the_launchers_settings(self):
        """sshd hands no variable on, but servers must agree on what these say."""
        for name, value in (("WEFT_FENCE", "full"), ("WEFT_FENCE", "sparse"), ("WEFT_COLLECTIVE", "ring")):
            with self.subTest(name=name, value=value):
                self.env[name] = value
                status, out, err = finish(self.start(CLIENT, "init", "fence", "fence", "finalize"))
                self.assertEqual((status, out, err), (0, b"", b""))
                del self.env[name]
        self.env["WEFT_SEGMENT_BYTES"] = str(1 << 30)
        self.start_waiting()
        daemons = self.daemons()
        self.assertEqual(sorted(daemons), HOSTS[1:])
        for host, pid in daemons.items():
            self.assertNotIn(b"WEFT_SEGMENT_BYTES", read(f"/proc/{pid}/environ"))
            maps = read(f"/proc/{pid}/maps").decode()
            segments = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) .*memfd:weft", maps, re.MULTILINE)
            sizes = [int(end, 16) - int(begin, 16) for begin, end in segments]
            self.assertEqual(max(sizes, default=0), 1 << 29, host)
        self.end_it()

    def test_what_ucx_complains_of_is_no_output_of_the_job(self):
        module = os.path.join(os.path.dirname(WEFTD), "..", "lib", "weft", "transport_ucx.so")
        if not os.path.exists(module):
            self.skipTest("built without UCX")
        self.env.update({"WEFT_TRANSPORT": "ucx", "UCX_LOG_LEVEL": "info"})
        status, out, err = finish(self.start("printenv", "UCX_LOG_FILE"))
        self.assertEqual((status, out), (1, b""), err)  # the ranks' own UCX is left as it is
        self.assertIn(b"UCX  INFO", err)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def main():
    os.environ["PATH"] = os.environ.get("PATH", os.defpath) + ":/usr/sbin"
    for program, package in (("sshd", "openssh-server"), ("ssh", "openssh-client"), ("ssh-keygen", "openssh-client")):
        if shutil.which(program) is None:
            skip(f"there is no program '{program}' (Debian: {package})")
    on_hosts(SET, len(HOSTS), run_tests)


def run_tests():
    global SITE
    with tempfile.TemporaryDirectory() as folder:
        SITE = Site(folder)
        unittest.main()


if __name__ == "__main__":
    main()
