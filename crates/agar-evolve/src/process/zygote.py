import ctypes, os, selectors, signal, socket, struct, sys

# Forks an individual whenever one is asked for. Pieces come in and go out with a header: whose they
# are and how long. One for nobody known begins an individual; an empty one ends it, and comes back
# when nothing of it is left.
SPEAKER = compile(sys.argv[1], "speaker", "exec")
for name in sys.argv[2:]:
    __import__(name)

HEADER = struct.Struct("<II")
source, target = os.dup(0), os.dup(1)
null = os.open("/dev/null", os.O_RDWR)
os.dup2(null, 0)
os.dup2(2, 1)
libc = ctypes.CDLL(None)
# Orphans are handed to the nearest of these above them: a process that waits for each individual,
# or, should that be killed, this one.
SUBREAPER = 36
libc.prctl(SUBREAPER, 1, 0, 0, 0)

individuals = {}
selector = selectors.DefaultSelector()
selector.register(source, selectors.EVENT_READ, None)


class Individual:
    def __init__(self, number, keeper, stream):
        self.number, self.keeper, self.stream = number, keeper, stream
        self.waiting = bytearray()


def live(stream):
    """The individual itself, and above it the process that its orphans fall to."""
    libc.prctl(SUBREAPER, 1, 0, 0, 0)
    if os.fork() == 0:
        os.setsid()
        os.dup2(stream.fileno(), 0)
        os.dup2(stream.fileno(), 1)
        os.closerange(3, 1 << 16)
        exec(SPEAKER, {"__name__": "__main__"})
        os._exit(0)
    os.closerange(0, 1 << 16)
    while True:
        try:
            os.wait()
        except ChildProcessError:
            os._exit(0)


def begin(number):
    ours, theirs = socket.socketpair()
    try:
        keeper = os.fork()
    except OSError:
        ours.close()
        theirs.close()
        return None
    if keeper == 0:
        try:
            live(theirs)
        finally:
            os._exit(1)
    theirs.close()
    ours.setblocking(False)
    individuals[number] = one = Individual(number, keeper, ours)
    selector.register(ours, selectors.EVENT_READ, one)
    return one


def family(root):
    """Everything alive that descends from it."""
    children = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % entry, "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if state not in (b"Z", b"X"):
            children.setdefault(int(parent), []).append(int(entry))
    found, todo = set(), [root]
    while todo:
        for child in children.get(todo.pop(), []):
            if child not in found:
                found.add(child)
                todo.append(child)
    return found


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            pass


def clear(root):
    """Stopped, nobody forks any more; then all of them can be ended."""
    while True:
        known, new = set(), family(root)
        while new:
            send(new, signal.SIGSTOP)
            known |= new
            new = family(root) - known
        if not known:
            return
        send(known, signal.SIGKILL)


def end(number):
    one = individuals.pop(number, None)
    if one is not None:
        selector.unregister(one.stream)
        one.stream.close()
        clear(one.keeper)
        send([one.keeper], signal.SIGKILL)
        bury(one.keeper)
    # What fell to this process because an individual killed the one above it. Those that are killed
    # hand their own children on, so it is looked again until there are none.
    while todo := strays():
        for stray in todo:
            clear(stray)
            send([stray], signal.SIGKILL)
            bury(stray)
    reap()
    say(number, b"")


def strays():
    """Children of this process that are not the keepers of individuals."""
    me, keepers = os.getpid(), {other.keeper for other in individuals.values()}
    return [pid for pid in family(me) if parent_of(pid) == me and pid not in keepers]


def bury(pid):
    """Waits until a child that was killed is gone."""
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass


def parent_of(pid):
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError):
        return 0


def reap():
    """Buries strays; keepers are waited for by whoever ends them."""
    keepers = {other.keeper for other in individuals.values()}
    try:
        while True:
            told = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if told is None or told.si_pid in keepers:
                return
            os.waitpid(told.si_pid, 0)
    except ChildProcessError:
        pass


def say(number, data):
    whole = memoryview(HEADER.pack(number, len(data)) + data)
    while whole:
        whole = whole[os.write(target, whole) :]


def pour(one):
    try:
        while one.waiting:
            del one.waiting[: one.stream.send(one.waiting)]
    except BlockingIOError:
        pass
    except OSError:
        one.waiting.clear()
    wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if one.waiting else 0)
    selector.modify(one.stream, wanted, one)


def hear(number, data):
    if not data:
        end(number)
        return
    one = individuals.get(number) or begin(number)
    if one is None:
        say(number, b"")
        return
    one.waiting += data
    pour(one)


incoming = bytearray()
while True:
    for key, events in selector.select():
        one = key.data
        if one is None:
            data = os.read(source, 65536)
            if not data:
                for number in list(individuals):
                    clear(individuals[number].keeper)
                os._exit(0)
            incoming += data
            while len(incoming) >= HEADER.size:
                number, length = HEADER.unpack_from(incoming)
                if len(incoming) < HEADER.size + length:
                    break
                data = bytes(incoming[HEADER.size : HEADER.size + length])
                del incoming[: HEADER.size + length]
                hear(number, data)
        elif individuals.get(one.number) is one:
            if events & selectors.EVENT_WRITE:
                pour(one)
            if events & selectors.EVENT_READ:
                try:
                    data = one.stream.recv(65536)
                except BlockingIOError:
                    continue
                except OSError:
                    data = b""
                if data:
                    say(one.number, data)
                else:
                    end(one.number)
