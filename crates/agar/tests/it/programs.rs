//! Programs that people really run, inside: what trips over overlays, namespaces and filters.

use crate::world::{plain, repository};
use agar_testkit::{World, skip};

/// Runs a script inside and expects it to end well.
fn works(world: &World, script: &str) -> String {
    let script = format!("set -e\n{script}");
    world
        .agar(["run", "--", "sh", "-c", &script])
        .success()
        .stdout
}

#[test]
fn git_commits_rebases_moves_and_collects() {
    let world = repository();
    let script = "git config user.email a@example.org; git config user.name a\n\
        mkdir d; echo x > d/x; git add .; git commit -qm one\n\
        git checkout -qb side HEAD~1; echo z > z; git add z; git commit -qm two\n\
        git rebase -q -; git mv d e; git commit -qm moved; git gc -q\n\
        git status --short; git log --format=%s";
    assert!(works(&world, script).starts_with("moved\ntwo\none\n"));
    let outside = world.project().join("d");
    assert!(!outside.exists());
}

#[test]
fn a_database_in_write_ahead_mode_keeps_its_rows() {
    let script = "python3 -c 'import sqlite3; c = sqlite3.connect(\"a.db\"); \
        c.execute(\"pragma journal_mode=wal\"); c.execute(\"create table t(x)\"); \
        c.executemany(\"insert into t values(?)\", [(i,) for i in range(1000)]); c.commit(); \
        print(c.execute(\"select count(*) from t\").fetchone()[0])'";
    assert_eq!(works(&plain(), script), "1000\n");
}

#[test]
fn pip_installs_into_a_virtual_environment() {
    let script = "/usr/bin/python3 -m venv v; mkdir -p w/thing; echo 'answer = 42' > w/thing/__init__.py\n\
        cd w; mkdir thing-1.dist-info\n\
        printf 'Metadata-Version: 2.1\\nName: thing\\nVersion: 1\\n' > thing-1.dist-info/METADATA\n\
        printf 'Wheel-Version: 1.0\\nGenerator: hand\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n' > thing-1.dist-info/WHEEL\n\
        printf 'thing/__init__.py,,\\nthing-1.dist-info/METADATA,,\\nthing-1.dist-info/WHEEL,,\\nthing-1.dist-info/RECORD,,\\n' > thing-1.dist-info/RECORD\n\
        python3 -c 'import zipfile, os; z = zipfile.ZipFile(\"../thing-1-py3-none-any.whl\", \"w\"); \
        [z.write(os.path.join(d, f)) for d, _, fs in os.walk(\".\") for f in fs]; z.close()'\n\
        cd ..; v/bin/python -m pip install -q --no-index ./thing-1-py3-none-any.whl\n\
        v/bin/python -c 'import thing; print(thing.answer)'";
    assert_eq!(works(&plain(), script), "42\n");
}

#[test]
fn npm_installs_from_a_folder_and_node_renames_a_directory_of_the_base() {
    let world = plain();
    let dep = world.project().join("dep");
    fs_err::create_dir(&dep).unwrap();
    fs_err::write(
        dep.join("package.json"),
        r#"{"name":"dep","version":"1.0.0"}"#,
    )
    .unwrap();
    fs_err::write(dep.join("index.js"), "module.exports = 42").unwrap();
    let package = r#"{"name":"app","version":"1.0.0","dependencies":{"dep":"file:./dep"}}"#;
    fs_err::write(world.project().join("package.json"), package).unwrap();
    let script = "npm install --offline --no-audit --no-fund --silent\n\
        node -e 'console.log(require(\"dep\"))'\n\
        node -e 'require(\"fs\").renameSync(\"dep\", \"dep2\")'; ls dep2";
    assert_eq!(works(&world, script), "42\nindex.js\npackage.json\n");
    assert!(dep.join("index.js").exists());
}

#[test]
fn a_node_server_answers_and_its_watcher_sees_a_change() {
    let script = "node -e 'const fs = require(\"fs\"), http = require(\"http\"); \
        const s = http.createServer((q, r) => r.end(\"hi\")).listen(0, () => \
        http.get({ port: s.address().port }, r => r.on(\"data\", d => { console.log(`${d}`); \
        fs.watch(\".\", () => { console.log(\"seen\"); process.exit(0) }); \
        setInterval(() => fs.writeFileSync(\"t\", `${Date.now()}`), 20) })))'";
    assert_eq!(works(&plain(), script), "hi\nseen\n");
}

#[test]
fn a_package_can_be_installed_by_root_and_stays_inside() {
    if !rustix::process::getuid().is_root() {
        skip!("packages", "only root installs packages");
    }
    let world = plain();
    let script = "mkdir -p p/DEBIAN p/usr/share/agar-tried; echo hi > p/usr/share/agar-tried/f\n\
        printf 'Package: agar-tried\\nVersion: 1\\nArchitecture: all\\nMaintainer: a <a@example.org>\\nDescription: t\\n' > p/DEBIAN/control\n\
        dpkg-deb -b p a.deb >/dev/null; apt-get install -qq -y ./a.deb >/dev/null 2>&1\n\
        cat /usr/share/agar-tried/f; dpkg -s agar-tried | grep Status";
    assert_eq!(works(&world, script), "hi\nStatus: install ok installed\n");
    assert!(!std::path::Path::new("/usr/share/agar-tried").exists());
}
