//! Snapshots, returns and forks, beside the ways to copy a work tree.

use super::{agar, clear, outside, pool, world_of};
use crate::inside;
use crate::measure::{Contestant, Samples, in_turns, timed};
use crate::table::{Row, compared};
use agar_engine::create::{CreateRequest, create};
use agar_engine::exec::{ExecRequest, exec};
use agar_engine::fork::{ForkRequest, fork};
use agar_engine::remove::{RemoveRequest, remove};
use agar_engine::restore::{RestoreRequest, restore};
use agar_engine::snapshot::{SnapshotAnswer, SnapshotRequest, snapshot};
use agar_engine::stop::{StopRequest, stop};
use agar_engine::upkeep::{UpkeepRequest, upkeep};
use agar_engine::{Command, Engine, NoControls};
use agar_testkit::World;
use anyhow::{Context as _, Result};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Files of the project.
const FILES: usize = 2_000;
/// How often each is measured.
const ROUNDS: usize = 40;
/// How often what takes long is measured.
const FEW_ROUNDS: usize = 5;
/// After how many snapshots a look at a name is measured; none is the peer.
const SNAPSHOTS: [u32; 5] = [0, 1, 16, 100, 500];

/// Everything about time travel.
pub(crate) fn run() -> Result<Vec<Row>> {
    let bench = Bench::new()?;
    let mut rows = bench.beside_copies()?;
    rows.extend(bench.forks()?);
    rows.extend(pool::rows(&bench.engine)?);
    rows.extend(bench.running("10 files of 1 MB", 10, 1 << 20)?);
    rows.extend(bench.running("1,000 files of 10 KB", 1_000, 10 << 10)?);
    rows.extend(bench.looks()?);
    clear(&bench.world);
    Ok(rows)
}

struct Bench {
    world: World,
    engine: Engine,
}

impl Bench {
    fn new() -> Result<Self> {
        let world = world_of(FILES)?;
        for words in [
            &["init", "--quiet"][..],
            &["add", "--all"],
            &["commit", "--quiet", "--message=begin"],
        ] {
            timed(&mut outside(&world, "git", words))?;
        }
        let engine = inside::engine(&world)?;
        let bench = Self { world, engine };
        bench.create("bench")?;
        bench.exec("bench", "echo prepared >prepared")?;
        bench.snapshot("bench", Some("ready"))?;
        Ok(bench)
    }

    fn create(&self, alias: &str) -> Result<()> {
        let request = CreateRequest {
            alias: Some(alias.to_owned()),
            ..CreateRequest::default()
        };
        create(&self.engine, &request)?;
        Ok(())
    }

    fn exec(&self, sandbox: &str, script: &str) -> Result<String> {
        let request = ExecRequest {
            sandbox: Some(sandbox.to_owned()),
            command: Command::new(["/bin/sh", "-c", script]),
            ..ExecRequest::default()
        };
        let (mut printed, mut silent) = (Vec::new(), NoControls);
        exec(
            &self.engine,
            &request,
            inside::streams(&mut printed, &mut silent),
        )?;
        Ok(String::from_utf8_lossy(&printed).into_owned())
    }

    fn snapshot(&self, sandbox: &str, name: Option<&str>) -> Result<SnapshotAnswer> {
        let request = SnapshotRequest {
            sandbox: Some(sandbox.to_owned()),
            name: name.map(str::to_owned),
            note: None,
        };
        Ok(snapshot(&self.engine, &request)?)
    }

    fn fork(&self, source: &str, count: u32) -> Result<Vec<String>> {
        let request = ForkRequest {
            source: Some(source.to_owned()),
            count,
            ..ForkRequest::default()
        };
        let forks = fork(&self.engine, &request)?.forks;
        Ok(forks.into_iter().map(|fork| fork.alias).collect())
    }

    fn remove(&self, sandboxes: Vec<String>) -> Result<()> {
        let request = RemoveRequest {
            sandboxes,
            force: true,
            ..RemoveRequest::default()
        };
        remove(&self.engine, &request)?;
        Ok(())
    }

    /// One sandbox against one more copy of the work tree.
    fn beside_copies(&self) -> Result<Vec<Row>> {
        let copy = self.world.outside().join("copy");
        let path = copy.to_str().context("the copy has a path")?;
        let afresh = || drop(fs_err::remove_dir_all(&copy));
        let mut contestants = vec![
            Contestant::new("git worktree add", || {
                afresh();
                drop(timed(&mut outside(
                    &self.world,
                    "git",
                    &["worktree", "prune"],
                )));
                let words = ["worktree", "add", "--quiet", "--detach", path];
                timed(&mut outside(&self.world, "git", &words))
            }),
            Contestant::new("cp -a", || {
                afresh();
                timed(&mut outside(&self.world, "cp", &["-a", ".", path]))
            }),
        ];
        let reflink = ["-a", "--reflink=always", ".", path];
        if timed(&mut outside(&self.world, "cp", &reflink)).is_ok() {
            contestants.push(Contestant::new("cp -a --reflink", || {
                afresh();
                timed(&mut outside(&self.world, "cp", &reflink))
            }));
        }
        let promised = contestants.len();
        contestants.extend([
            Contestant::new("snapshot, idle", || {
                self.exec("bench", "echo x >>changed")?;
                Ok(measured(|| self.snapshot("bench", None))?.0)
            }),
            Contestant::new("restore", || {
                self.exec("bench", "echo x >>changed")?;
                let request = RestoreRequest {
                    snapshot: Some("bench@ready".to_owned()),
                };
                Ok(measured(|| Ok(restore(&self.engine, &request)?))?.0)
            }),
            Contestant::new("fork", || {
                let (took, made) = measured(|| self.fork("bench@ready", 1))?;
                self.remove(made)?;
                Ok(took)
            }),
            Contestant::new("destroy a fork", || {
                let made = self.fork("bench@ready", 1)?;
                Ok(measured(|| self.remove(made))?.0)
            }),
            Contestant::new("agar snapshot, whole command line", || {
                self.exec("bench", "echo x >>changed")?;
                timed(&mut agar(&self.world, &["snapshot", "bench"]))
            }),
        ]);
        let mut rows = compared("travel", &in_turns(ROUNDS, contestants)?);
        for (row, most) in rows.iter_mut().skip(promised).zip([2.0, 2.0, 5.0]) {
            *row = row.clone().at_most(most);
        }
        afresh();
        Ok(rows)
    }

    /// Ten and a hundred forks at once, and what each takes of the disk.
    fn forks(&self) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for count in [10, 100] {
            let mut samples = Samples::default();
            let mut disk = 0;
            for _ in 0..FEW_ROUNDS {
                let before = occupied(&self.sandboxes());
                let (took, made) = measured(|| self.fork("bench@ready", count))?;
                samples.push(took);
                disk = occupied(&self.sandboxes()).saturating_sub(before);
                self.remove(made)?;
            }
            let row = Row::times("travel", &format!("fork {count} at once"), &samples);
            rows.push(if count == 100 {
                row.at_most(1000.0)
            } else {
                row
            });
            let each = mebibytes(disk) / f64::from(count);
            let what = format!("disk of each of {count} forks");
            rows.push(Row::value("travel", &what, each, "MiB").at_most(0.2));
        }
        Ok(rows)
    }

    fn sandboxes(&self) -> std::path::PathBuf {
        self.world.state().join("agar/sandboxes")
    }

    /// A snapshot while something runs: how long everything stands still.
    fn running(&self, what: &str, files: u32, bytes: u32) -> Result<Vec<Row>> {
        self.create("busy")?;
        let script = format!(
            "mkdir changed; for n in $(seq {files}); do head -c {bytes} /dev/zero >changed/$n; done; \
             sleep 1000 >/dev/null 2>&1 &"
        );
        self.exec("busy", &script)?;
        let (mut still, mut whole) = (Samples::default(), Samples::default());
        for _ in 0..FEW_ROUNDS {
            let start = Instant::now();
            let answer = self.snapshot("busy", None)?;
            whole.push(start.elapsed());
            let frozen_us = answer.snapshot.frozen_us;
            let frozen_us = frozen_us.context("nothing ran while it was taken")?;
            still.push(Duration::from_micros(frozen_us));
        }
        for _ in 0..2 {
            self.remove(vec!["busy".to_owned()])?;
        }
        let row = |name: &str, samples: &Samples| {
            Row::times("travel", &format!("{name}, {what} changed"), samples)
        };
        Ok(vec![
            row("everything stands still", &still).at_most(10.0),
            row("snapshot, running", &whole),
        ])
    }

    /// What a look at a name costs after many snapshots, once layers were joined: all over the project,
    /// and in the one directory that every snapshot changed. The peer has the same change and none.
    fn looks(&self) -> Result<Vec<Row>> {
        self.create("many")?;
        self.exec("many", "echo 0 >d0/made-0")?;
        // Not measured: the disk's own names are looked at for the first time, whatever lies above them.
        self.look()?;
        let mut rows = Vec::new();
        let mut taken = 0;
        let mut peers = [f64::NAN; 2];
        for count in SNAPSHOTS {
            while taken < count {
                taken += 1;
                self.exec("many", &format!("echo {taken} >d0/made-{taken}"))?;
                self.snapshot("many", None)?;
            }
            let times = self.look()?;
            if count == 0 {
                peers = times;
            }
            let what = |place| format!("a look at a name, {place}, after {count} snapshots");
            let row = |place, at: usize| {
                Row::value("travel", &what(place), times[at], "µs").beside(peers[at])
            };
            let all_over = row("all over", 0);
            rows.push(match count {
                100 => all_over.ratio_at_most(1.5),
                _ => all_over,
            });
            rows.push(row("where each changed", 1));
        }
        Ok(rows)
    }

    /// What a look costs in a new jail, once layers were joined.
    fn look(&self) -> Result<[f64; 2]> {
        let request = StopRequest {
            sandboxes: vec!["many".to_owned()],
            all: false,
        };
        stop(&self.engine, &request)?;
        upkeep(&self.engine, &UpkeepRequest::default())?;
        times(&self.exec("many", LOOK)?)
    }
}

/// Prints the microseconds that a `stat` takes, of names that are there and of as many that are not,
/// each for the first time in this jail: all over the project, then in one directory. The best of
/// several parts, since the machine has other work.
const LOOK: &str = "exec python3 - <<'END'
import os, time
def look(names):
    best = None
    for part in range(10):
        begin = time.perf_counter()
        for name in names[part::10]:
            try: os.stat(name)
            except FileNotFoundError: pass
        took = (time.perf_counter() - begin) / (len(names) / 10) * 1e6
        best = took if best is None else min(best, took)
    return best
pair = lambda n: ['d%d/f%d' % (n // 100, n), 'd%d/no%d' % (n // 100, n)]
everywhere = [name for n in range(100, 2000) for name in pair(n)]
print(look(everywhere), look([name for n in range(100) for name in pair(n)]))
END";

/// The two times that were printed.
fn times(printed: &str) -> Result<[f64; 2]> {
    let times = printed.split_whitespace().map(str::parse);
    let times: Vec<f64> = times.collect::<Result<_, _>>()?;
    times.try_into().ok().context("no times were printed")
}

fn measured<T>(act: impl FnOnce() -> Result<T>) -> Result<(Duration, T)> {
    let start = Instant::now();
    let made = act()?;
    Ok((start.elapsed(), made))
}

/// Bytes that a directory occupies.
fn occupied(directory: &Path) -> u64 {
    let entries = fs_err::read_dir(directory).into_iter().flatten().flatten();
    let each = entries.map(|entry| {
        let own = entry
            .path()
            .symlink_metadata()
            .map_or(0, |found| found.blocks() * 512);
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        own + if is_directory {
            occupied(&entry.path())
        } else {
            0
        }
    });
    each.sum()
}

#[expect(clippy::cast_precision_loss, reason = "a few megabytes")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
