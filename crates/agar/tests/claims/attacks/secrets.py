# Every way we know of reading a file that is masked. The marker is never printed: where it was
# found is.
HOME, MARKER = FACTS["home"], FACTS["marker"].encode()
SECRETS = FACTS["secrets"]


def must_not_hold(data):
    if MARKER in data:
        return "found"
    raise OSError(errno.ENODATA, "no marker")


def look(path):
    must_not_hold(read(path))


for secret in SECRETS:
    path = os.path.join(HOME, secret)
    attempt(f"read {secret}", look, path)
    attempt(f"read proc1 {secret}", look, "/proc/1/root" + path)
    attempt(f"read self {secret}", look, "/proc/self/root" + path)
    attempt(f"read dotdot {secret}", look, os.path.join(HOME, "..", os.path.basename(HOME), ".", secret))
    attempt(f"read link {secret}", lambda: (os.link(path, os.path.join(HOME, "hard")), look(os.path.join(HOME, "hard"))))
    attempt(f"read symlink {secret}", lambda: (os.symlink(path, os.path.join(HOME, "soft-" + secret.replace("/", "-"))), look(os.path.join(HOME, "soft-" + secret.replace("/", "-")))))
    attempt(f"read rename {secret}", lambda: (os.rename(path, os.path.join(HOME, "renamed")), look(os.path.join(HOME, "renamed"))))
    attempt(f"read truncate-less open {secret}", lambda: must_not_hold(os.read(os.open(path, os.O_RDWR), 4096)))
    attempt(f"read append open {secret}", lambda: must_not_hold(os.pread(os.open(path, os.O_RDWR | os.O_APPEND), 4096, 0)))


# Parents renamed or copied: what was masked below them must not come back.
def renamed_parent(parent, child):
    moved = os.path.join(HOME, parent + "-moved")
    os.rename(os.path.join(HOME, parent), moved)
    look(os.path.join(moved, child))


attempt("read renamed .config", renamed_parent, ".config", "gh/hosts.yml")
attempt("read renamed .ssh", renamed_parent, ".ssh", "id_ed25519")
attempt("read renamed .aws", renamed_parent, ".aws", "credentials")


# A directory made again in the masked place is new: nothing of the old one shows through it.
def made_again(parent, child):
    where = os.path.join(HOME, parent)
    os.makedirs(where)
    expect(os.listdir(where) == [], "something shows through")
    look(os.path.join(where, child))


attempt("read made again .ssh", made_again, ".ssh", "id_ed25519")
attempt("read made again .gnupg", made_again, ".gnupg", "private-keys-v1.d/key")


# Anything at all that holds the marker: the whole home, other processes, and agar's own state.
def search(root):
    for directory, names, files in os.walk(root):
        names[:] = [n for n in names if n not in ("sys",)]
        for name in files:
            path = os.path.join(directory, name)
            try:
                if stat.S_ISREG(os.lstat(path).st_mode) and MARKER in read(path):
                    print(f"attempt\tsearch {path}\tok", flush=True)
            except OSError:
                pass


search(HOME)
search(FACTS["state"])
search("/tmp")
search("/run")
attempt("state listed", lambda: expect(os.listdir(os.path.join(FACTS["state"], "agar")) != [], "empty"))
for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
    for part in ("environ", "cmdline", "mem"):
        try:
            data = read(f"/proc/{pid}/{part}")
        except OSError:
            continue
        if MARKER in data and int(pid) != os.getpid():
            print(f"attempt\tsearch /proc/{pid}/{part}\tok", flush=True)
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            link = os.readlink(f"/proc/{pid}/fd/{fd}")
            if any(link.endswith(secret) for secret in SECRETS):
                print(f"attempt\tsearch /proc/{pid}/fd/{fd}\tok", flush=True)
    except OSError:
        pass

# The other half: what is not secret can be read, and a masked name can be used privately.
attempt("plain read", lambda: expect(read(os.path.join(HOME, "plain.txt")) == b"plain\n"))
attempt("plain key", lambda: (os.makedirs(os.path.join(HOME, ".kube"), exist_ok=True), write(os.path.join(HOME, ".kube/config"), b"mine")))
