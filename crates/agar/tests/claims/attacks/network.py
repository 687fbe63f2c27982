# Every family of sockets, to the listeners that wait outside and to the rest of the world.
PORT = FACTS["port"]


def connect(family, kind, address, protocol=0):
    s = socket.socket(family, kind, protocol)
    try:
        s.settimeout(2)
        s.connect(address)
        s.send(b"attacked\n")
    finally:
        s.close()


attempt("reach tcp4", connect, socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", PORT))
attempt("reach tcp6", connect, socket.AF_INET6, socket.SOCK_STREAM, ("::1", FACTS["port6"]))
attempt("reach mapped", connect, socket.AF_INET6, socket.SOCK_STREAM, ("::ffff:127.0.0.1", PORT))
attempt("reach mptcp", connect, socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", PORT), 262)
for address in FACTS["addresses"]:
    attempt(f"reach host {address}", connect, socket.AF_INET, socket.SOCK_STREAM, (address, PORT))
attempt("reach metadata", connect, socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80))
attempt("reach internet", connect, socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 53))
attempt("reach udp", connect, socket.AF_INET, socket.SOCK_DGRAM, ("1.1.1.1", 53))
attempt("reach ping", connect, socket.AF_INET, socket.SOCK_DGRAM, ("1.1.1.1", 0), 1)
attempt("reach name", lambda: socket.create_connection(("example.com", 80), 2))
attempt("reach abstract", connect, socket.AF_UNIX, socket.SOCK_STREAM, "\0" + FACTS["abstract"])
for label, path in FACTS["sockets"].items():
    attempt(f"reach unix {label}", connect, socket.AF_UNIX, socket.SOCK_STREAM, path)
    attempt(f"reach unix proc1 {label}", connect, socket.AF_UNIX, socket.SOCK_STREAM, "/proc/1/root" + path)
    attempt(f"reach unix linked {label}", lambda: (os.link(path, os.path.join(FACTS["project"], "linked-" + label)), connect(socket.AF_UNIX, socket.SOCK_STREAM, os.path.join(FACTS["project"], "linked-" + label))))
for label, path in FACTS["fifos"].items():
    attempt(f"reach fifo {label}", lambda: os.write(os.open(path, os.O_WRONLY | os.O_NONBLOCK), b"attacked\n"))
for path in ["/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket", "/run/systemd/private", "/run/user/%d/bus" % os.getuid(), "/tmp/.X11-unix/X0", "/run/containerd/containerd.sock"]:
    attempt(f"reach service {path}", connect, socket.AF_UNIX, socket.SOCK_STREAM, path)

RAW = 3
FAMILIES = {"vsock": 40, "packet": 17, "alg": 38, "xdp": 44, "bluetooth": 31, "can": 29, "tipc": 30, "rds": 21, "key": 15, "nfc": 39, "qipcrtr": 42, "kcm": 41, "rxrpc": 33, "llc": 26, "ax25": 3, "x25": 9, "atm": 8, "smc": 43, "phonet": 35, "caif": 37, "ieee802154": 36}
for name, family in FAMILIES.items():
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, RAW, socket.SOCK_SEQPACKET):
        attempt(f"family {name} {kind}", lambda: socket.socket(family, kind, 0).close())
attempt("family raw inet", lambda: socket.socket(socket.AF_INET, RAW, 1).close())
attempt("family raw inet6", lambda: socket.socket(socket.AF_INET6, RAW, 58).close())
for protocol in (1, 2, 4, 5, 7, 8, 9, 10, 11, 12, 14, 15, 16, 18, 19, 20, 21):
    attempt(f"family netlink {protocol}", lambda: socket.socket(16, RAW, protocol).close())


# What belongs to somebody else must not even be listed.
def interfaces():
    names = [name for _, name in socket.if_nameindex()]
    if names != ["lo"]:
        return names
    raise OSError(errno.ENODEV, "only the loopback")


attempt("other interfaces", interfaces)
attempt("other sockets", lambda: expect(FACTS["abstract"].encode() in read("/proc/net/unix")))

# The other half: the loopback and sockets of one's own work.


def loopback(family, address):
    server = socket.socket(family, socket.SOCK_STREAM)
    server.bind(address)
    server.listen(1)
    client = socket.socket(family, socket.SOCK_STREAM)
    client.connect(server.getsockname())
    peer, _ = server.accept()
    client.send(b"hello")
    expect(peer.recv(5) == b"hello")


attempt("plain tcp4", loopback, socket.AF_INET, ("127.0.0.1", 0))
attempt("plain unix", loopback, socket.AF_UNIX, "/tmp/own-socket")
attempt("plain abstract", loopback, socket.AF_UNIX, "\0own-abstract")
attempt("plain pair", lambda: socket.socketpair())
attempt("plain netlink route", lambda: socket.socket(16, RAW, 0).close())
