# Looks for the marks of another sandbox.
NAME = FACTS["name"]
for place in ("/dev/shm", "/tmp", "/run", "/var/tmp", "/run/lock", FACTS["home"], FACTS["project"]):
    attempt(f"find file {place}", lambda: os.stat(f"{place}/{NAME}"))


def connect(family, address):
    s = socket.socket(family)
    s.settimeout(2)
    s.connect(address)


attempt("find abstract", connect, socket.AF_UNIX, "\0" + NAME)
attempt("find abstract listed", lambda: expect(NAME.encode() in read("/proc/net/unix"), "not listed"))
attempt("find abstract taken", lambda: (socket.socket(socket.AF_UNIX).bind("\0" + NAME), (_ for _ in ()).throw(OSError(errno.ENOENT, "free"))))
attempt("find tcp", connect, socket.AF_INET, ("127.0.0.1", FACTS["port"]))
attempt("find shm", call, "shmget", FACTS["key"], 4096, 0)
attempt("find sem", call, "semget", FACTS["key"], 1, 0)
attempt("find msg", call, "msgget", FACTS["key"], 0)
attempt("find mqueue", lambda: call("mq_open", NAME, os.O_RDWR, 0, None))
attempt("find key", call, "request_key", "user", NAME, None, -4)
attempt("find key by search", lambda: call("keyctl", 10, -4, "user", NAME, 0))
attempt("find key listed", lambda: expect(NAME.encode() in read("/proc/keys"), "not listed"))


def locked(path):
    with open(path, "rb") as f:
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return "taken"
        raise OSError(errno.ENOENT, "free")


for path in FACTS["shared"]:
    attempt(f"find flock {path}", locked, path)


def watched(path):
    import select
    fd = libc.inotify_init1(os.O_NONBLOCK)
    expect(fd >= 0 and libc.inotify_add_watch(fd, path.encode(), 0x20) >= 0, "cannot watch")
    if select.select([fd], [], [], 0.3)[0]:
        return "seen"
    raise OSError(errno.ENOENT, "nothing seen")


for path in FACTS["shared"]:
    attempt(f"find opens of {path}", watched, path)
attempt("find locks listed", lambda: expect(read("/proc/locks").strip() != b"", "none"))

# The other half: each of these works within one sandbox.


def both_ends():
    shm = call("shmget", 77, 4096, 0o1666)
    expect(call("shmget", 77, 4096, 0) == shm)
    write("/dev/shm/own")
    os.stat("/dev/shm/own")


def own_lock():
    path = os.path.join(FACTS["project"], "own-lock")
    write(path)
    first, second = open(path), open(path)
    fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    raise RuntimeError("locks do not lock")


attempt("plain shared memory", both_ends)
attempt("plain locks", own_lock)
