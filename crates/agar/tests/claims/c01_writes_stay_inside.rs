//! C1: nothing inside a sandbox writes outside its layers.
//!
//! Each way we know of writing is tried from inside; the world outside is compared before and
//! after, byte for byte, time for time.

use crate::AGAR;
use crate::attack::{Attack, Report};
use agar_testkit::{Caller, Outcome, Tree, World, skip};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Places outside with something in them to lose.
struct Bait {
    world: World,
    temporary: TempDir,
    shared_memory: TempDir,
}

impl Bait {
    fn lay() -> Self {
        let bait = Self {
            world: World::with_repository(AGAR),
            temporary: tempfile::Builder::new()
                .prefix("bait-")
                .tempdir_in("/tmp")
                .unwrap(),
            shared_memory: tempfile::Builder::new()
                .prefix("bait-")
                .tempdir_in("/dev/shm")
                .unwrap(),
        };
        for place in bait.places() {
            fs_err::write(place.join("canary"), "alive\n").unwrap();
            fs_err::create_dir_all(place.join("full/deep")).unwrap();
            fs_err::write(place.join("full/deep/file"), "deep\n").unwrap();
            fs_err::create_dir_all(place.join("empty")).unwrap();
        }
        bait
    }

    fn places(&self) -> [PathBuf; 5] {
        [
            self.world.home(),
            self.world.project(),
            self.world.outside(),
            self.temporary.path().to_owned(),
            self.shared_memory.path().to_owned(),
        ]
    }

    /// Everything outside, but for agar's own state.
    fn picture(&self) -> Vec<Tree> {
        let own = Path::new("home/.local");
        let mut trees = vec![Tree::read_without(
            self.world.root(),
            &[own, Path::new("run")],
        )];
        trees.push(Tree::read(self.temporary.path()));
        trees.push(Tree::read(self.shared_memory.path()));
        trees
    }

    #[track_caller]
    fn attack(&self, flags: &[&str]) -> Report {
        let mut attack = self.prepared();
        for flag in flags {
            attack = attack.flag(flag);
        }
        attack.run().complete()
    }

    fn prepared(&self) -> Attack<'_> {
        let shown = |path: PathBuf| path.to_string_lossy().into_owned();
        Attack::new(&self.world, include_str!("attacks/writes.py"))
            .fact("world", shown(self.world.root().to_owned()))
            .fact("home", shown(self.world.home()))
            .fact("project", shown(self.world.project()))
            .fact("outside", shown(self.world.outside()))
            .fact("hosttmp", shown(self.temporary.path().to_owned()))
            .fact("hostshm", shown(self.shared_memory.path().to_owned()))
            .fact("device", root_device())
            .fact("devices", block_devices())
    }

    /// The whole claim, with these flags.
    #[track_caller]
    fn try_to_break(&self, flags: &[&str]) -> Report {
        self.unchanged_by(|| self.attack(flags))
    }

    #[track_caller]
    fn unchanged_by(&self, attack: impl FnOnce() -> Report) -> Report {
        let before = self.picture();
        let kernel = kernel_settings();
        let report = attack();
        for (before, after) in before.iter().zip(self.picture()) {
            let difference = before.difference(&after);
            assert!(
                difference.is_empty(),
                "outside changed:\n{difference}{}",
                report.outcome
            );
        }
        assert_eq!(kernel_settings(), kernel, "{}", report.outcome);
        report
    }
}

/// The device below the root file system, as a number for `mknod`.
fn root_device() -> u64 {
    fs_err::metadata("/").unwrap().dev()
}

fn block_devices() -> Vec<String> {
    let list = fs_err::read_dir("/sys/block")
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    list.map(|entry| format!("/dev/{}", entry.file_name().to_string_lossy()))
        .take(4)
        .collect()
}

/// Settings of the kernel that an attacker would like to have.
fn kernel_settings() -> Vec<(PathBuf, String)> {
    [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/panic",
        "/proc/sys/fs/file-max",
        "/proc/sys/user/max_user_namespaces",
    ]
    .iter()
    .map(|path| {
        (
            PathBuf::from(path),
            fs_err::read_to_string(path).unwrap_or_default(),
        )
    })
    .collect()
}

#[test]
fn nothing_tried_from_inside_changes_anything_outside() {
    let bait = Bait::lay();
    let report = bait.try_to_break(&[]);
    report.all_refused("mount ");
    report.all_refused("device open ");
    report.all_refused("kernel ");
    assert_eq!(
        report.of("inherited descriptor"),
        None,
        "{}",
        report.outcome
    );
    report.all_worked("plain ");
}

#[test]
fn no_descriptor_of_the_host_is_inherited() {
    let bait = Bait::lay();
    let report = bait.attack(&[]);
    let leaked: Vec<&str> = report
        .outcome
        .stdout
        .lines()
        .filter(|line| line.contains("inherited descriptor"))
        .collect();
    assert!(leaked.is_empty(), "{leaked:?}");
}

#[test]
fn a_live_base_is_as_safe_as_a_frozen_one() {
    let bait = Bait::lay();
    for base in ["--base=live", "--base=frozen"] {
        bait.try_to_break(&[base]).all_worked("plain ");
    }
}

#[test]
fn the_ways_of_older_kernels_are_as_safe() {
    let bait = Bait::lay();
    for ways in ["mount_options", "no_landlock", "no_cgroups"] {
        let attack = || bait.prepared().old_ways(ways).run().complete();
        let report = bait.unchanged_by(attack);
        report.all_refused("mount ");
        report.all_refused("device open ");
        report.all_worked("plain ");
    }
}

#[test]
fn looking_like_root_gives_no_power_outside() {
    let bait = Bait::lay();
    let report = bait.try_to_break(&["--fake-root"]);
    report.all_refused("device open ");
    report.all_refused("mount ");
    report.all_worked("plain ");
}

#[test]
fn nested_namespaces_give_no_power_outside() {
    let bait = Bait::lay();
    let report = bait.try_to_break(&["--nested"]);
    report.all_refused("device open ");
    report.all_worked("plain ");
}

#[test]
fn the_hosts_network_gives_no_way_to_write() {
    let bait = Bait::lay();
    bait.try_to_break(&["--net=host"]).all_worked("plain ");
}

#[test]
fn a_home_that_is_removed_inside_is_still_there_outside() {
    let bait = Bait::lay();
    let before = bait.picture();
    let script = "rm -rf ~ 2>/dev/null; rm -rf /tmp/* /var/tmp/* 2>/dev/null; test ! -e ~/canary";
    bait.world
        .agar(["run", "--", "/bin/sh", "-c", script])
        .success();
    for (before, after) in before.iter().zip(bait.picture()) {
        assert_eq!(before.difference(&after), "");
    }
}

#[test]
fn root_inside_changes_only_a_copy_of_the_system() {
    if Caller::current().is_ordinary() {
        skip!("C1", "only root has a whole system to change");
    }
    let world = World::new(AGAR);
    let before = fs_err::read("/etc/hosts").unwrap_or_default();
    let script =
        "echo attacked >>/etc/hosts && grep -q attacked /etc/hosts && echo x >/usr/bin/made-inside";
    world.agar(["run", "--", "/bin/sh", "-c", script]).success();
    assert_eq!(fs_err::read("/etc/hosts").unwrap_or_default(), before);
    assert!(!Path::new("/usr/bin/made-inside").exists());
}

#[test]
fn an_ordinary_user_cannot_write_the_system_inside_either() {
    if !Caller::current().is_ordinary() {
        skip!("C1", "root may write the system inside");
    }
    let world = World::new(AGAR);
    let script = "! (echo x >/etc/made-inside) 2>/dev/null && ! (echo x >/usr/bin/x) 2>/dev/null";
    world.agar(["run", "--", "/bin/sh", "-c", script]).success();
}

#[test]
fn no_privilege_can_be_gained_inside() {
    let world = World::new(AGAR);
    let status = world
        .agar(["run", "--", "/bin/cat", "/proc/self/status"])
        .success();
    let field = |name: &str| {
        let line = status.stdout.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_whitespace().nth(1))
            .map(str::to_owned)
    };
    assert_eq!(field("NoNewPrivs:").as_deref(), Some("1"));
    assert_eq!(field("Seccomp:").as_deref(), Some("2"));
    // Root keeps what a package manager needs over files of its own namespace, and nothing that
    // reaches the kernel: no mounting, tracing, devices, modules or networks.
    let allowed = match Caller::current() {
        Caller::Root => 0x8000_05ff_u64,
        Caller::Ordinary => 0,
    };
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
        let held = u64::from_str_radix(&field(set).unwrap(), 16).unwrap();
        assert_eq!(held & !allowed, 0, "{set} {held:x}");
    }
}

/// A sandbox of a project that was moved outside, and then had a link planted inside on the way to
/// where the project was: `~/a`.
struct Planted {
    world: World,
    project: PathBuf,
}

impl Planted {
    fn new(link: impl FnOnce(&World) -> PathBuf) -> Self {
        let world = World::new(AGAR);
        let (before, moved) = (world.home().join("a"), world.home().join("moved"));
        fs_err::create_dir_all(before.join("proj")).unwrap();
        fs_err::write(before.join("proj/file"), "base\n").unwrap();
        let link = link(&world);
        let mut planted = Self {
            world,
            project: before.join("proj"),
        };
        let words = ["create", "--base=live", "--name=it"];
        planted.agar(&words).success();
        planted.agar(&["stop", "it"]).success();
        fs_err::rename(&before, &moved).unwrap();
        planted.project = moved.join("proj");
        // Its jail is raised on a way that was made in its own layers.
        let script = format!(
            "cat file; echo new >new; mv ~/a ~/b && ln -s {} ~/a",
            link.display()
        );
        let words = ["exec", "it", "--", "/bin/sh", "-c", &script];
        assert_eq!(planted.agar(&words).success().stdout, "base\n");
        planted.agar(&["stop", "it"]).success();
        planted
    }

    fn agar(&self, words: &[&str]) -> Outcome {
        self.world.command(words).current_dir(&self.project).run()
    }

    /// Whether what lies behind a link is copy-on-write inside.
    fn may_write(&self, link: &Path) -> bool {
        Caller::current() == Caller::Root || link.starts_with(self.world.home())
    }

    /// Everything outside, but for agar's own state.
    fn picture(&self) -> Tree {
        let own = [Path::new("home/.local"), Path::new("run")];
        Tree::read_without(self.world.root(), &own)
    }
}

/// The way up from anywhere, and down to there.
fn climbing(path: &Path) -> PathBuf {
    Path::new(&"../".repeat(60)).join(path.strip_prefix("/").unwrap())
}

#[test]
fn a_link_planted_on_the_way_to_a_project_leads_nowhere_when_its_jail_is_raised_again() {
    let ways: [fn(&World) -> PathBuf; 3] = [
        World::outside,
        |world| climbing(&world.outside()),
        // What is there already would be mounted on.
        |world| world.home().join("moved"),
    ];
    for way in ways {
        for ways in ["", "mount_options"] {
            let planted = Planted::new(way);
            let before = planted.picture();
            let words = ["exec", "it", "--", "cat", "file", "new"];
            let command = planted.world.command(words).env("AGAR_OLD_WAYS", ways);
            let told = command.current_dir(&planted.project).run();
            let difference = before.difference(&planted.picture());
            assert_eq!(difference, "", "outside changed: {told}");
            if planted.may_write(&way(&planted.world)) {
                // It lies there inside, where that is everybody's own.
                assert_eq!(told.success().stdout, "base\nnew\n");
            } else {
                let told = told.expect_code(125);
                assert!(told.stderr.contains("read-only there"), "{told}");
            }
            // What it changed can still be had.
            let names = planted.agar(&["diff", "it", "--names"]).success();
            assert_eq!(names.stdout, "new\n");
        }
    }
}

/// Everything in a repository's settings that makes git start a program.
const TRAPS: &str = "
trap=\"touch $OUTSIDE/pwned\"
for key in core.fsmonitor core.pager core.editor core.sshCommand diff.external gpg.program \
    sequence.editor credential.helper uploadpack.packObjectsHook core.askPass \
    filter.trap.clean filter.trap.smudge filter.trap.process merge.trap.driver diff.trap.textconv; do
    git config $key \"$trap\"
done
git config core.hooksPath .git/hooks
git config commit.gpgSign true
mkdir -p .git/hooks
for hook in pre-commit post-commit post-checkout reference-transaction pre-auto-gc post-index-change \
    fsmonitor-watchman post-rewrite prepare-commit-msg commit-msg post-merge pre-applypatch; do
    printf '#!/bin/sh\\n%s\\n' \"$trap\" >.git/hooks/$hook
    chmod 755 .git/hooks/$hook
done
printf '#!/bin/sh\\n%s\\n' \"$trap\" >trap.sh
chmod 755 trap.sh
echo '* filter=trap diff=trap merge=trap' >.gitattributes
";

#[test]
fn git_settings_made_inside_start_nothing_outside() {
    let world = World::with_repository(AGAR);
    let outside = world.outside();
    // The commits first, while git still works; then the traps, and a change to show.
    let script = format!(
        "echo more >>notes.txt; git add -A; git commit -qm inside; OUTSIDE={}; {TRAPS} echo x >>notes.txt",
        outside.display()
    );
    world
        .command(["run", "--keep", "--", "/bin/sh", "-c", &script])
        .args(["sh"])
        .env("GIT_AUTHOR_NAME", "T")
        .run();
    for words in [
        vec!["diff"],
        vec!["diff", "--stat"],
        vec!["inspect"],
        vec!["apply", "--dry-run"],
        vec!["apply", "--branch=carried"],
        vec!["apply", "--commit", "--message=carried"],
        vec!["undo"],
        vec!["ls"],
    ] {
        let outcome = world.agar(&words);
        assert!(
            !outside.join("pwned").exists(),
            "{words:?} started a program of the sandbox outside: {outcome}"
        );
    }
    let config = fs_err::read_to_string(world.project().join(".git/config")).unwrap();
    assert!(!config.contains("pwned"), "settings crossed: {config}");
    assert!(
        !world
            .project()
            .join(".git/hooks/reference-transaction")
            .exists()
    );
}

#[test]
fn copying_into_a_sandbox_follows_no_link_outwards() {
    let world = World::with_repository(AGAR);
    let outside = world.outside();
    fs_err::write(outside.join("canary"), "alive\n").unwrap();
    fs_err::write(world.home().join("given"), "given\n").unwrap();
    let script = format!(
        "ln -s {0} out; ln -s {0}/canary file; mkdir sub; ln -s {0} sub/out",
        outside.display()
    );
    world
        .agar(["run", "--keep", "--", "/bin/sh", "-c", &script])
        .success();
    let list = world.agar(["ls", "--json"]).success();
    let alias = alias_in(&list.stdout);
    let before = Tree::read(&outside);
    let given = world.home().join("given");
    for target in ["out/evil", "file", "sub/out/canary", "../../outside/evil"] {
        let to = format!("{alias}:{target}");
        let outcome = world.command(["cp"]).arg(&given).arg(&to).run();
        before.assert_unchanged(&outside, &format!("cp to {target}: {outcome}"));
    }
}

/// The alias of the only sandbox in a list.
fn alias_in(list: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(list).unwrap();
    find_alias(&value).unwrap_or_else(|| panic!("no alias in {list}"))
}

fn find_alias(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::Object(map) => map
            .get("alias")
            .and_then(serde_json::Value::as_str)
            .map(str::to_owned)
            .or_else(|| map.values().find_map(find_alias)),
        serde_json::Value::Array(list) => list.iter().find_map(find_alias),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => None,
    }
}
