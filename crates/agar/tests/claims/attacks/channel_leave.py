# Leaves a mark wherever another sandbox might find it, and stays.
NAME = FACTS["name"]
kept = []
for place in ("/dev/shm", "/tmp", "/run", "/var/tmp", "/run/lock", FACTS["home"], FACTS["project"]):
    attempt(f"leave file {place}", write, f"{place}/{NAME}")


def abstract():
    s = socket.socket(socket.AF_UNIX)
    s.bind("\0" + NAME)
    s.listen(1)
    kept.append(s)


attempt("leave abstract", abstract)
attempt("leave tcp", lambda: kept.append(socket.create_server(("127.0.0.1", FACTS["port"]))))
attempt("leave shm", call, "shmget", FACTS["key"], 4096, 0o1666)
attempt("leave sem", call, "semget", FACTS["key"], 1, 0o1666)
attempt("leave msg", call, "msgget", FACTS["key"], 0o1666)
attempt("leave mqueue", lambda: call("mq_open", NAME, os.O_CREAT | os.O_RDWR, 0o666, None))
attempt("leave key", call, "add_key", "user", NAME, b"x", 1, -4)
attempt("leave key session", call, "add_key", "user", NAME, b"x", 1, -3)
for path in FACTS["shared"]:
    attempt(f"leave flock {path}", lambda: (kept.append(open(path, "rb")), fcntl.flock(kept[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)))
attempt("leave lease", lambda: (kept.append(open(FACTS["shared"][0], "rb")), fcntl.fcntl(kept[-1], 1024, 0)))
# Opened again and again, for whoever watches.
if os.fork() == 0:
    while True:
        for path in FACTS["shared"]:
            open(path, "rb").close()
print("attack over", flush=True)
print("marks left", flush=True)
time.sleep(60)
