//! A machine to raise a jail over: a home, a project, a sandbox's directory.

use agar_core::limits::Limits;
use agar_core::walls::{Identity, Monitor, Network, Tier};
use agar_jail::client::{self, Keeper, KeeperConfig, Lifetime, RunRequest, Running};
use agar_jail::machine::Machine;
use agar_jail::plan::plan;
use agar_jail::policy::{Nested, Overlay, Policy};
use agar_jail::report::RunReport;
use agar_jail::wire::Raw;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A home, a project and a state directory of their own.
pub(crate) struct World {
    pub(super) directory: tempfile::TempDir,
    pub(crate) policy: Policy,
    pub(crate) config_limits: Limits,
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| -> PathBuf {
            let path = directory.path().join(name);
            fs_err::create_dir_all(&path).unwrap();
            path
        };
        let (home, project) = (at("home"), at("home/project"));
        fs_err::write(project.join("file"), "base\n").unwrap();
        fs_err::create_dir_all(home.join(".ssh")).unwrap();
        fs_err::write(home.join(".ssh/id_rsa"), "secret\n").unwrap();
        let overlay = |target: &Path, name: &str| Overlay {
            target: target.into(),
            upper: at(&format!("sandbox/{name}/upper")).into(),
            work: at(&format!("sandbox/{name}/work")).into(),
            lowers: vec![target.into()],
        };
        let mut overlays = vec![overlay(&home, "home"), overlay(&project, "project")];
        if rustix::process::getuid().is_root() {
            overlays.push(overlay(Path::new("/"), "whole"));
        }
        at("sandbox/mask");
        at("sandbox/fresh");
        let policy = Policy {
            tier: Tier::Full,
            network: Network::None,
            identity: Identity::Caller,
            nested: Nested::Refused,
            monitor: Monitor::Executions,
            overlays,
            copies: Vec::new(),
            masks: vec![home.join(".ssh").into()],
            home: home.into(),
            staging: at("sandbox/root").into(),
            layer_homes: Vec::new(),
            limits: Limits::person(),
            old_ways: Vec::new(),
        };
        Self {
            directory,
            policy,
            config_limits: Limits::person(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path("home/project")
    }

    pub(crate) fn start(&self, lifetime: Lifetime) -> Keeper {
        self.try_start(lifetime).unwrap()
    }

    pub(crate) fn try_start(&self, lifetime: Lifetime) -> Result<Keeper, client::StartError> {
        client::start(&self.path("program"), &self.config(lifetime))
    }

    pub(crate) fn config(&self, lifetime: Lifetime) -> KeeperConfig {
        KeeperConfig {
            plan: plan(&self.policy, &Machine::read().unwrap()).unwrap(),
            limits: self.config_limits,
            directory: self.path("sandbox").into(),
            socket: self.path("socket").into(),
            layers: vec![self.path("sandbox/project/upper").into()],
            name: self
                .directory
                .path()
                .file_name()
                .unwrap()
                .to_string_lossy()
                .into_owned(),
            lifetime,
            mark: None,
        }
    }

    pub(crate) fn request(&self, number: u32, script: &str) -> RunRequest {
        RunRequest {
            number,
            argv: ["sh", "-c", script].map(Raw::from).to_vec(),
            env: vec![
                ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
                ("HOME".into(), self.path("home").into()),
            ],
            cwd: self.project().into(),
            terminal: None,
            timeout_ms: None,
        }
    }

    /// Runs a script in a jail of its own: what it printed, and the report.
    pub(crate) fn run(&self, script: &str) -> (String, RunReport) {
        let keeper = self.start(Lifetime::OneRun);
        let running = keeper.run(&self.request(1, script)).unwrap();
        let answer = finish(running);
        keeper.bury();
        answer
    }
}

impl Drop for World {
    fn drop(&mut self) {
        assert!(agar_jail::keeper::sweep(&self.path("sandbox")).is_empty());
        agar_testkit::leaks::remove_tree(self.directory.path());
    }
}

/// Reads everything a run prints, then waits for it.
pub(crate) fn finish(mut running: Running) -> (String, RunReport) {
    drop(running.stdin.take());
    let mut text = String::new();
    let streams = [
        running.stdout.take(),
        running.stderr.take(),
        running.terminal.take(),
    ];
    for stream in streams.into_iter().flatten() {
        let mut bytes = Vec::new();
        // A terminal whose far end is gone gives an error instead of an end.
        drop(File::from(stream).read_to_end(&mut bytes));
        text.push_str(&String::from_utf8_lossy(&bytes));
    }
    (text, running.wait().unwrap())
}
