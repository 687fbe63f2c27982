# Every way we know of writing outside. Much of it "works" harmlessly in the sandbox's own layers:
# the test outside compares what is really there.
HOME, OUTSIDE = FACTS["home"], FACTS["outside"]
# Where the attack may write: the project itself, or its copy in a tier that works on one.
PROJECT = os.getcwd()
PLACES = {"home": HOME, "project": FACTS["project"], "outside": OUTSIDE, "hosttmp": FACTS["hosttmp"], "hostshm": FACTS["hostshm"]}


def try_place(label, place):
    canary = os.path.join(place, "canary")
    attempt(f"{label} truncate", write, canary)
    attempt(f"{label} append", write, canary, b"x", os.O_WRONLY | os.O_APPEND)
    attempt(f"{label} create", write, os.path.join(place, "made-inside"))
    attempt(f"{label} chmod", os.chmod, canary, 0o777)
    attempt(f"{label} utime", os.utime, canary, (1, 1))
    attempt(f"{label} xattr", os.setxattr, canary, "user.attacked", b"1")
    attempt(f"{label} link", os.link, canary, os.path.join(place, "linked"))
    attempt(f"{label} write through link", write, os.path.join(place, "linked"))
    attempt(f"{label} symlink", os.symlink, canary, os.path.join(place, "pointed"))
    attempt(f"{label} write through symlink", write, os.path.join(place, "pointed"))
    attempt(f"{label} rename over", os.rename, os.path.join(place, "made-inside"), canary)
    attempt(f"{label} mkdir", os.mkdir, os.path.join(place, "directory-made-inside"))
    attempt(f"{label} unlink", os.unlink, canary)
    attempt(f"{label} rmdir", os.rmdir, os.path.join(place, "empty"))
    attempt(f"{label} rename directory", os.rename, os.path.join(place, "full"), os.path.join(place, "moved"))
    attempt(f"{label} mkfifo", os.mkfifo, os.path.join(place, "fifo-made-inside"))
    attempt(f"{label} chown", os.chown, place, os.getuid(), os.getgid())


# Through the magic links of every process there is, ours and process 1's included, and before the
# plain writes, so that the originals are still there to be hit.
def try_proc():
    for pid in [p for p in os.listdir("/proc") if p.isdigit()] + ["self", "thread-self"]:
        for way in ("root", "cwd"):
            for label, place in PLACES.items():
                target = f"/proc/{pid}/{way}" + (place if way == "root" else "/../../../../../.." + place)
                attempt(f"proc {pid if pid in ('1', 'self') else 'n'} {way} {label}", write, target + "/canary", b"through proc\n", os.O_WRONLY)
        try:
            fds = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for fd in fds:
            link = None
            try:
                link = os.readlink(f"/proc/{pid}/fd/{fd}")
            except OSError:
                continue
            if link.startswith(FACTS["world"]) or "/stacks/" in link:
                attempt(f"descriptor {link}", write, f"/proc/{pid}/fd/{fd}", b"x", os.O_WRONLY)
                print("attempt\tinherited descriptor\tok", flush=True)


# A loop of symlink swaps against renames and opens.
def try_race():
    inside = os.path.join(PROJECT, "race")
    os.makedirs(inside, exist_ok=True)
    swap = os.path.join(inside, "swap")
    pid = os.fork()
    if pid == 0:
        while True:
            for to in (inside, OUTSIDE, FACTS["hosttmp"]):
                try:
                    os.symlink(to, swap + ".new")
                    os.rename(swap + ".new", swap)
                except OSError:
                    pass
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        try:
            write(os.path.join(swap, "canary"))
        except OSError:
            pass
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


MS_BIND, MS_REMOUNT, MS_REC, MS_PRIVATE = 4096, 32, 16384, 1 << 18


def try_mounts():
    target = os.path.join(PROJECT, "mnt")
    os.makedirs(target, exist_ok=True)
    attempt("mount bind", call, "mount", "/", target, None, MS_BIND, None)
    attempt("mount remount rw", call, "mount", None, "/", None, MS_REMOUNT | MS_BIND, None)
    attempt("mount remount usr", call, "mount", None, "/usr", None, MS_REMOUNT | MS_BIND, None)
    attempt("mount tmpfs", call, "mount", "tmpfs", target, "tmpfs", 0, None)
    attempt("mount proc", call, "mount", "proc", target, "proc", 0, None)
    attempt("mount sysfs", call, "mount", "sysfs", target, "sysfs", 0, None)
    attempt("mount cgroup2", call, "mount", "cgroup2", target, "cgroup2", 0, None)
    attempt("mount devtmpfs", call, "mount", "devtmpfs", target, "devtmpfs", 0, None)
    attempt("mount make private", call, "mount", None, "/", None, MS_REC | MS_PRIVATE, None)
    for where in ("/proc", "/tmp", "/dev", HOME, PROJECT, "/"):
        attempt(f"mount undo {where}", call, "umount2", where, 2)
    attempt("mount fsopen", call, "fsopen", "tmpfs", 0)
    attempt("mount open_tree", call, "open_tree", -100, "/", 1)
    attempt("mount setattr", call, "mount_setattr", -100, "/", 0, ctypes.create_string_buffer(32), 32)
    attempt("mount pivot_root", in_child(lambda: call("pivot_root", target, target)))
    attempt("mount unshare user", in_child(lambda: call("unshare", 0x10000000)))
    attempt("mount unshare user mount", in_child(lambda: call("unshare", 0x10000000 | 0x00020000)))
    attempt("mount unshare mount", in_child(lambda: call("unshare", 0x00020000)))
    attempt("mount clone3", in_child(call), "clone3", ctypes.create_string_buffer(struct.pack("<Q", 0x10000000) + b"\0" * 80), 88)
    attempt("mount setns 1", lambda: call("setns", os.open("/proc/1/ns/mnt", os.O_RDONLY), 0))
    attempt("mount setns user 1", lambda: call("setns", os.open("/proc/1/ns/user", os.O_RDONLY), 0))


def try_devices():
    node = os.path.join(PROJECT, "node")
    for label, mode, device in [("block", stat.S_IFBLK, FACTS["device"]), ("mem", stat.S_IFCHR, os.makedev(1, 1)), ("kmsg", stat.S_IFCHR, os.makedev(1, 11))]:
        path = node + label
        attempt(f"node make {label}", os.mknod, path, mode | 0o666, device)
        attempt(f"device open {label}", lambda: os.close(os.open(path, os.O_RDWR)))
    for path in FACTS["devices"] + ["/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/loop-control", "/dev/fuse", "/dev/net/tun", "/dev/kvm", "/dev/mapper/control"]:
        attempt(f"device open {path}", lambda: os.close(os.open(path, os.O_RDWR)))


def try_kernel():
    for path in [
        "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger",
        "/proc/sys/kernel/hostname", "/proc/sys/kernel/panic", "/proc/sys/vm/drop_caches",
        "/proc/sys/vm/overcommit_memory", "/proc/sys/fs/file-max", "/proc/sys/kernel/pid_max",
        "/proc/sys/kernel/ns_last_pid", "/proc/sys/fs/binfmt_misc/register",
        "/proc/sys/user/max_user_namespaces", "/proc/sys/kernel/yama/ptrace_scope",
        "/proc/sys/kernel/randomize_va_space", "/proc/irq/default_smp_affinity", "/proc/mtrr",
        "/proc/self/setgroups", "/proc/1/mem", "/proc/1/uid_map", "/proc/1/timens_offsets",
        "/proc/1/comm",
    ]:
        attempt(f"kernel {path}", write, path, b"1", os.O_WRONLY)
    for path in ["/sys/kernel/uevent_helper", "/sys/power/state", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/cgroup.procs", "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/cpu/release_agent", "/sys/kernel/mm/transparent_hugepage/enabled"]:
        attempt(f"kernel {path}", write, path, b"0", os.O_WRONLY)
    # The sandbox's own first process: being killed sooner harms nobody else.
    attempt("own /proc/1/oom_score_adj", write, "/proc/1/oom_score_adj", b"1000", os.O_WRONLY)
    attempt("own /proc/1/clear_refs", write, "/proc/1/clear_refs", b"1", os.O_WRONLY)
    attempt("kernel cgroup mkdir", os.mkdir, "/sys/fs/cgroup/agar-attack")
    nothing = ctypes.create_string_buffer(256)
    attempt("kernel ptrace 1", call, "ptrace", 16, 1, 0, 0)
    attempt("kernel ptrace seize 1", call, "ptrace", 0x4206, 1, 0, 0)
    vector = struct.pack("<QQ", ctypes.addressof(nothing), 8)
    remote = struct.pack("<QQ", 0x400000, 8)
    attempt("kernel process_vm_writev 1", call, "process_vm_writev", 1, vector, 1, remote, 1, 0)
    attempt("kernel process_vm_readv 1", call, "process_vm_readv", 1, vector, 1, remote, 1, 0)
    attempt("kernel pidfd_getfd 1", lambda: call("pidfd_getfd", call("pidfd_open", 1, 0), 0, 0))
    attempt("kernel init_module", call, "init_module", nothing, 16, "")
    attempt("kernel kexec", call, "kexec_load", 0, 0, None, 0)
    attempt("kernel swapon", call, "swapon", PROJECT, 0)
    attempt("kernel acct", call, "acct", os.path.join(PROJECT, "acct"))
    attempt("kernel settimeofday", call, "settimeofday", struct.pack("<qq", 1, 0), None)
    attempt("kernel clock_settime", call, "clock_settime", 0, struct.pack("<qq", 1, 0))
    attempt("kernel bpf", call, "bpf", 0, nothing, 72)
    attempt("kernel perf", call, "perf_event_open", nothing, -1, 0, -1, 0)
    attempt("kernel userfaultfd", call, "userfaultfd", 1)
    attempt("kernel io_uring", call, "io_uring_setup", 4, nothing)
    attempt("kernel syslog", call, "syslog", 3, nothing, 255)
    attempt("kernel iopl", call, "iopl", 3)
    attempt("kernel add_key", call, "add_key", "user", "agar-attack", b"x", 1, -3)
    attempt("kernel open_by_handle_at", try_handles)
    attempt("kernel fanotify", call, "fanotify_init", 0, 0)
    attempt("kernel reboot", call, "reboot", 0xFEE1DEAD, 672274793, 0, None)
    if os.getuid() != 0:
        attempt("kernel setuid 0", in_child(lambda: call("setuid", 0)))
    attempt("kernel foreign architecture", try_int80)


def try_handles():
    # The root directory of an ext4 or XFS file system, by its well-known inode.
    mount = os.open(PROJECT, os.O_RDONLY | os.O_DIRECTORY)
    handle = struct.pack("<Ii", 8, 1) + struct.pack("<II", 2, 0)
    fd = call("open_by_handle_at", mount, ctypes.create_string_buffer(handle), os.O_RDONLY)
    os.close(fd)


def try_int80():
    # The old 32-bit door into a 64-bit kernel, which a careless filter leaves open: getpid there is
    # number 20. Being killed for it is as good as being refused.
    if platform.machine() != "x86_64":
        raise OSError(errno.ENOSYS, "no such door")
    import mmap
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    call_it = ctypes.CFUNCTYPE(ctypes.c_int)(address)

    def knock():
        if call_it() < 0:
            raise OSError(errno.ENOSYS, "refused")

    in_child(knock)()


def try_inherited():
    extra = [fd for fd in os.listdir("/proc/self/fd") if int(fd) > 2]
    for fd in extra:
        try:
            link = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            continue
        if link != f"/proc/{os.getpid()}/fd":
            print(f"attempt\tinherited descriptor {fd} {link}\tok", flush=True)


try_inherited()
try_proc()
try_race()
try_mounts()
try_devices()
try_kernel()
for label, place in PLACES.items():
    try_place(label, place)


# The other half: inside, the project and the home can be written and read back.
def plain():
    for place in (PROJECT, HOME):
        path = os.path.join(place, "plain")
        write(path, b"1\n")
        os.rename(path, path + "2")
        expect(read(path + "2") == b"1\n")
        os.mkdir(path + "-directory")
        os.unlink(path + "2")


attempt("plain writes", plain)
attempt("plain tmp", write, "/tmp/plain")
attempt("plain shm", write, "/dev/shm/plain")
attempt("plain null", write, "/dev/null", b"x", os.O_WRONLY)
