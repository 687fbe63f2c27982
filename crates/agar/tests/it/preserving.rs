//! What is not a plain file survives snapshots, returns, forks and the joining of layers.

use crate::world::plain;
use agar_testkit::{Caller, World};

/// Makes one of everything: over a base, so that there is something to hide.
const MAKE: &str = r"
import os, socket
def put(path, text='x'):
    with open(path, 'w') as f: f.write(text)
os.remove('gone')
os.remove('src/gone')
for name in os.listdir('old'): os.remove('old/' + name)
os.rmdir('old'); os.mkdir('old'); put('old/new')
os.remove('was-file'); os.mkdir('was-file'); put('was-file/in')
os.remove('was-directory/in'); os.rmdir('was-directory'); put('was-directory')
os.mkdir('deep'); os.mkdir('deep/er'); put('deep/er/file')
put('one'); os.link('one', 'two'); os.link('one', 'deep/three')
with open('holes', 'wb') as f:
    f.seek(8 << 20); f.write(b'end')
with open('small-holes', 'wb') as f:
    f.write(b'begin'); f.seek(90000); f.write(b'end')
put('marked'); os.setxattr('marked', 'user.mark', b'file')
os.setxattr('deep', 'user.mark', b'directory')
os.setxattr('.', 'user.mark', b'root')
os.setxattr('marked', 'user.long', b'v' * 2000)
os.mkfifo('pipe')
s = socket.socket(socket.AF_UNIX); s.bind('socket')
os.symlink('nowhere', 'link'); os.symlink('deep', 'to-directory')
put('strict'); os.chmod('strict', 0o400)
os.mkdir('shared'); os.chmod('shared', 0o2775)
put('line\nbreak'); put(b'not-\xff-utf8'); put('empty', '')
for path in ['one', 'deep/er', 'deep']: os.utime(path, (1000000000, 1000000000))
os.utime('link', (1000000000, 1000000000), follow_symlinks=False)
";

/// Prints everything that must stay.
const SHOW: &str = r"
import os, stat, sys
names = {}
def line(path):
    s = os.lstat(path)
    kind = stat.filemode(s.st_mode)
    parts = [repr(path), kind, str(s.st_mtime_ns)]
    if stat.S_ISREG(s.st_mode):
        parts.append(str(s.st_size))
        parts.append('holes' if s.st_blocks * 512 < s.st_size else 'full')
        parts.append(str(hash_of(path)))
        names.setdefault((s.st_dev, s.st_ino), []).append(path)
    if stat.S_ISLNK(s.st_mode): parts.append(os.readlink(path))
    else: parts.append(repr({n: os.getxattr(path, n) for n in sorted(os.listxattr(path)) if n.startswith('user.')}))
    print(*parts)
def hash_of(path):
    import zlib
    with open(path, 'rb') as f: return zlib.crc32(f.read())
line('.')
for top, dirs, files in os.walk('.'):
    dirs.sort()
    for name in sorted(dirs + files): line(os.path.join(top, name))
print(sorted(sorted(group) for group in names.values() if len(group) > 1))
";

/// Ends the state, so that going back to it means something.
const WRECK: &str = "rm -rf deep old marked one pipe socket was-file; echo over > was-file; \
                     python3 -c 'import os; os.setxattr(\".\", \"user.mark\", b\"lost\")'";

struct Case {
    world: World,
    /// What must be seen.
    picture: String,
}

impl Case {
    fn new() -> Self {
        let world = plain();
        for path in [
            "gone",
            "src/gone",
            "src/stays",
            "old/a",
            "old/b",
            "was-file",
        ] {
            world.write(path, "base\n");
        }
        world.write("was-directory/in", "base\n");
        world.agar(["create", "--name", "it"]).success();
        let mut case = Self {
            world,
            picture: String::new(),
        };
        case.python("it", MAKE);
        case.picture = case.python("it", SHOW);
        assert!(case.picture.contains("['./deep/three', './one', './two']"));
        case
    }

    fn python(&self, sandbox: &str, program: &str) -> String {
        let words = ["exec", sandbox, "--", "python3", "-c", program];
        self.world.agar(words).success().stdout
    }

    fn sh(&self, script: &str) {
        let words = ["exec", "it", "--", "/bin/sh", "-c", script];
        self.world.agar(words).success();
    }

    #[track_caller]
    fn expect(&self, sandbox: &str, when: &str) {
        let now = self.python(sandbox, SHOW);
        let lost: Vec<&str> = self
            .picture
            .lines()
            .filter(|it| !now.contains(it))
            .collect();
        let new: Vec<&str> = now
            .lines()
            .filter(|it| !self.picture.contains(it))
            .collect();
        assert_eq!((lost, new), (Vec::new(), Vec::new()), "{when}");
    }

    /// Goes away from the snapshot and back, and branches off.
    fn there_and_back(&self) {
        self.world
            .agar(["snapshot", "it", "--name", "all"])
            .success();
        self.expect("it", "after a snapshot");
        self.sh(WRECK);
        self.world.agar(["restore", "it@all"]).success();
        self.expect("it", "after a return");
        self.world
            .agar(["fork", "it@all", "--name", "copy"])
            .success();
        self.expect("copy", "in a fork");
        self.world.agar(["stop", "it"]).success();
        self.expect("it", "in a new jail");
    }
}

#[test]
fn links_holes_attributes_pipes_and_sockets_survive_an_idle_snapshot() {
    Case::new().there_and_back();
}

#[test]
fn links_holes_attributes_pipes_and_sockets_survive_a_running_snapshot() {
    let case = Case::new();
    case.sh("sleep 1000 >/dev/null 2>&1 &");
    case.there_and_back();
}

#[test]
fn links_holes_attributes_pipes_and_sockets_survive_the_joining_of_layers() {
    let mut case = Case::new();
    case.world
        .agar(["snapshot", "it", "--name", "first"])
        .success();
    for number in 0..18 {
        case.sh(&format!(
            "rm -rf churn*; mkdir churn; echo {number} > churn/{number}"
        ));
        case.world.agar(["snapshot", "it"]).success();
    }
    case.sh("rm -r churn");
    case.sh("python3 -c 'import os; os.utime(\".\", (1000000000, 1000000000))'");
    case.picture = case.python("it", SHOW);
    case.world.agar(["snapshot", "it"]).success();
    case.world.agar(["stop", "it"]).success();
    case.world.agar(["upkeep"]).success();
    let layers = case
        .world
        .agar(["inspect", "it", "--json"])
        .success()
        .stdout;
    assert!(layers.contains("joined-"), "nothing was joined: {layers}");
    case.expect("it", "over joined layers");
    case.there_and_back();
}

#[test]
fn what_its_owner_cannot_read_is_refused_with_the_reason_while_something_runs() {
    let case = Case::new();
    case.sh("chmod 0 one; sleep 1000 >/dev/null 2>&1 &");
    let outcome = case.world.agar(["snapshot", "it"]);
    match Caller::current() {
        Caller::Root => drop(outcome.success()),
        Caller::Ordinary => {
            let outcome = outcome.expect_code(1);
            assert!(
                outcome
                    .stderr
                    .contains("cannot be read, not even by its owner")
            );
        }
    }
    // At rest nothing has to be read.
    case.world.agar(["stop", "it"]).success();
    case.world
        .agar(["snapshot", "it", "--name", "rest"])
        .success();
    case.sh("rm -f one two");
    case.world.agar(["restore", "it@rest"]).success();
    case.sh("test -f one && test -f two");
}

#[test]
fn the_weaker_tiers_travel_as_well() {
    for tier in ["landlock", "none"] {
        let world = plain();
        world.write("file", "base\n");
        let words = ["create", "--tier", tier, "--name", "it"];
        world.agar(words).success();
        let say = |sandbox: &str, script: &str| {
            let words = ["exec", sandbox, "--", "/bin/sh", "-c", script];
            world.agar(words).success().stdout
        };
        say("it", "echo one >made; rm file");
        world.agar(["snapshot", "it", "--name", "first"]).success();
        say(
            "it",
            "echo two >made; echo more >other; sleep 1000 >/dev/null 2>&1 &",
        );
        // Taken while something runs, and ended by the return.
        world.agar(["snapshot", "it", "--name", "second"]).success();
        world.agar(["restore", "it@first"]).success();
        assert_eq!(say("it", "cat made; ls"), "one\nmade\n", "{tier}");
        world
            .agar(["fork", "it@second", "--name", "copy"])
            .success();
        assert_eq!(say("copy", "cat made; ls"), "two\nmade\nother\n", "{tier}");
        world.agar(["pause", "it"]).success();
        world.agar(["resume", "it"]).success();
        world.agar(["restore", "it@second"]).success();
        assert_eq!(say("it", "cat made; ls"), "two\nmade\nother\n", "{tier}");
        assert_eq!(world.read("file"), "base\n");
        world.agar(["rm", "--all", "--force"]).success();
    }
}
