# Seeing and signalling processes outside.
VICTIM, MARKER = FACTS["victim"], FACTS["marker"].encode()


def visible():
    for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
        try:
            if MARKER in read(f"/proc/{pid}/cmdline") and int(pid) != os.getpid():
                return pid
        except OSError:
            pass
    raise OSError(errno.ESRCH, "not there")


attempt("see victim", visible)
attempt("see victim by number", lambda: expect(MARKER in read(f"/proc/{VICTIM}/cmdline")))
attempt("see many", lambda: expect(len([p for p in os.listdir("/proc") if p.isdigit()]) > 6, "few"))
# What other numbers the victim might have, from any namespace's point of view.
for pid in {VICTIM, VICTIM + 1, 2**22 - 1}:
    if os.path.exists(f"/proc/{pid}"):
        continue
    attempt(f"signal kill {pid}", os.kill, pid, signal.SIGKILL)
    attempt(f"signal stop {pid}", os.kill, pid, signal.SIGSTOP)
    attempt(f"signal group {pid}", os.kill, -pid, signal.SIGKILL)
    attempt(f"signal pidfd {pid}", lambda: call("pidfd_send_signal", call("pidfd_open", pid, 0), 9, None, 0))
    attempt(f"signal ptrace {pid}", call, "ptrace", 16, pid, 0, 0)
    attempt(f"signal prlimit {pid}", call, "prlimit64", pid, 7, struct.pack("<QQ", 3, 3), None)
    attempt(f"signal affinity {pid}", os.sched_setaffinity, pid, {0})
    attempt(f"signal session {pid}", os.getsid, pid)
    attempt(f"signal priority {pid}", os.setpriority, os.PRIO_PROCESS, pid, 19)
    attempt(f"signal oom {pid}", write, f"/proc/{pid}/oom_score_adj", b"1000", os.O_WRONLY)
# By user: these work inside, and must not cross.
attempt("all of the user", in_child(lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19)))
attempt("all of the user io", in_child(lambda: call("ioprio_set", 3, os.getuid(), (3 << 13) | 7)))
# Process 1 inside stands between the attacker and the keeper.
attempt("first kill", lambda: (os.kill(1, signal.SIGKILL), os.kill(1, 0), (_ for _ in ()).throw(OSError(errno.EPERM, "survived"))))
attempt("first stop", lambda: (os.kill(1, signal.SIGSTOP), (_ for _ in ()).throw(OSError(errno.EPERM, "survived"))))
for name in ("mem", "environ", "maps", "syscall", "stack", "pagemap", "personality"):
    path = f"/proc/1/{name}"
    attempt(f"first {name}", lambda: expect(read(path), "empty"))
for name in ("exe", "cwd", "root", "ns/mnt", "ns/user", "ns/net"):
    attempt(f"first {name}", os.readlink, f"/proc/1/{name}")


# The numbers of its descriptors may be listed by root; what they are may not be known, nor opened.
def descriptors(act):
    for fd in os.listdir("/proc/1/fd"):
        act(f"/proc/1/fd/{fd}")


attempt("first descriptors named", descriptors, os.readlink)
attempt("first descriptors opened", descriptors, lambda path: os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK)))


# The other half: one's own children are seen and signalled.
def own():
    pid = os.fork()
    if pid == 0:
        signal.pause()
    expect(os.path.exists(f"/proc/{pid}"))
    os.kill(pid, signal.SIGTERM)
    _, status = os.waitpid(pid, 0)
    expect(os.WTERMSIG(status) == signal.SIGTERM)


attempt("plain children", own)
attempt("plain first", lambda: expect(b"init" in read("/proc/1/comm") or read("/proc/1/comm")))
print("attack over", flush=True)
# Everything that may be signalled at once; if that reaches outside, the victim is gone.
os.kill(-1, signal.SIGKILL)
