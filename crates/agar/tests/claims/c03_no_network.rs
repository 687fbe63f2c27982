//! C3: with the network off, nothing beyond the sandbox is reached by any family of sockets.
//!
//! Listeners wait outside, on every sort of address; none may ever be called.

use crate::AGAR;
use crate::attack::{Attack, Report};
use agar_testkit::World;
use std::io::Read as _;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;

/// What waits outside to be called.
struct Ears {
    tcp: Vec<TcpListener>,
    unix: Vec<UnixListener>,
    fifos: Vec<fs_err::File>,
    abstract_name: String,
    sockets: serde_json::Map<String, serde_json::Value>,
    fifo_paths: serde_json::Map<String, serde_json::Value>,
    ports: (u16, u16),
}

impl Ears {
    fn open(world: &World) -> Self {
        let tcp4 = TcpListener::bind("0.0.0.0:0").unwrap();
        let tcp6 = TcpListener::bind("[::1]:0").ok();
        let abstract_name = format!("agar-test-{}-{}", std::process::id(), world_name(world));
        let address = SocketAddr::from_abstract_name(abstract_name.as_bytes()).unwrap();
        let mut ears = Self {
            ports: (
                tcp4.local_addr().unwrap().port(),
                tcp6.as_ref()
                    .map_or(9, |listener| listener.local_addr().unwrap().port()),
            ),
            tcp: std::iter::once(tcp4).chain(tcp6).collect(),
            unix: vec![UnixListener::bind_addr(&address).unwrap()],
            fifos: Vec::new(),
            abstract_name,
            sockets: serde_json::Map::new(),
            fifo_paths: serde_json::Map::new(),
        };
        let places = [
            ("home", world.home()),
            ("project", world.project()),
            ("outside", world.outside()),
            ("runtime", world.runtime()),
            ("usr", PathBuf::from("/usr/local/share")),
            ("srv", PathBuf::from("/srv")),
            ("opt", PathBuf::from("/opt")),
            ("etc", PathBuf::from("/etc")),
        ];
        for (label, place) in places {
            ears.listen(label, &place.join(format!("ear-{}", std::process::id())));
        }
        for listener in &ears.tcp {
            listener.set_nonblocking(true).unwrap();
        }
        for listener in &ears.unix {
            listener.set_nonblocking(true).unwrap();
        }
        ears
    }

    /// A socket and a FIFO at the place, if this user may make them there.
    fn listen(&mut self, label: &str, path: &std::path::Path) {
        let Ok(listener) = UnixListener::bind(path) else {
            return;
        };
        self.unix.push(listener);
        self.sockets
            .insert(label.into(), path.to_string_lossy().into());
        let fifo = path.with_extension("fifo");
        let made = agar_testkit::Invocation::new("mkfifo")
            .args(["-m", "666"])
            .arg(&fifo)
            .run();
        made.success();
        // Open for both, so that the open does not wait for a writer.
        let end = fs_err::OpenOptions::new()
            .read(true)
            .write(true)
            .open(&fifo)
            .unwrap();
        rustix::io::ioctl_fionbio(&end, true).unwrap();
        self.fifos.push(end);
        self.fifo_paths
            .insert(label.into(), fifo.to_string_lossy().into());
    }

    /// Panics if anything was heard.
    #[track_caller]
    fn assert_silence(&mut self, report: &Report) {
        for listener in &self.tcp {
            assert!(
                listener.accept().is_err(),
                "TCP was reached\n{}",
                report.outcome
            );
        }
        for listener in &self.unix {
            let heard = listener.accept();
            assert!(
                heard.is_err(),
                "{:?} was reached\n{}",
                listener.local_addr(),
                report.outcome
            );
        }
        for fifo in &mut self.fifos {
            let mut byte = [0];
            assert!(
                fifo.read(&mut byte).is_err(),
                "{fifo:?} was reached\n{}",
                report.outcome
            );
        }
    }
}

/// Sockets outside a world do not go with it.
impl Drop for Ears {
    fn drop(&mut self) {
        for path in self.sockets.values().chain(self.fifo_paths.values()) {
            drop(fs_err::remove_file(path.as_str().unwrap_or_default()));
        }
    }
}

fn world_name(world: &World) -> String {
    world
        .root()
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The addresses this machine would use for a call abroad.
fn own_addresses() -> Vec<String> {
    let probe = UdpSocket::bind("0.0.0.0:0").unwrap();
    if probe.connect("192.0.2.1:9").is_err() {
        return Vec::new();
    }
    probe
        .local_addr()
        .map(|address| address.ip().to_string())
        .into_iter()
        .collect()
}

#[track_caller]
fn attack(world: &World, ears: &Ears, flags: &[&str]) -> Report {
    let mut attack = Attack::new(world, include_str!("attacks/network.py"))
        .fact("port", ears.ports.0)
        .fact("port6", ears.ports.1)
        .fact("abstract", ears.abstract_name.clone())
        .fact("sockets", ears.sockets.clone())
        .fact("fifos", ears.fifo_paths.clone())
        .fact("project", world.project().to_string_lossy().into_owned())
        .fact("addresses", own_addresses());
    for flag in flags {
        attack = attack.flag(flag);
    }
    attack.run().complete()
}

#[test]
fn nobody_outside_is_reached_by_any_family() {
    let world = World::with_repository(AGAR);
    let mut ears = Ears::open(&world);
    let report = attack(&world, &ears, &[]);
    ears.assert_silence(&report);
    report.all_refused("reach ");
    report.all_refused("family ");
    report.all_refused("other ");
    report.all_worked("plain ");
}

#[test]
fn neither_a_live_base_nor_fake_root_nor_nesting_opens_a_way() {
    let world = World::with_repository(AGAR);
    let mut ears = Ears::open(&world);
    for flag in ["--base=live", "--fake-root", "--nested"] {
        let report = attack(&world, &ears, &[flag]);
        ears.assert_silence(&report);
        report.all_refused("reach ");
        report.all_worked("plain ");
    }
}

/// Sockets and FIFOs on the disk can be reached there, which the threat model says.
#[test]
fn the_helper_tier_reaches_no_network() {
    let world = World::with_repository(AGAR);
    let mut ears = Ears::open(&world);
    let report = attack(&world, &ears, &["--tier=helper"]);
    for what in [
        "tcp", "mapped", "mptcp", "metadata", "internet", "udp", "ping", "name",
    ] {
        report.all_refused(&format!("reach {what}"));
    }
    for what in ["reach abstract", "family ", "other "] {
        report.all_refused(what);
    }
    report.all_worked("plain ");
    // The abstract name is the first.
    ears.unix.truncate(1);
    ears.fifos.clear();
    ears.assert_silence(&report);
}

#[test]
fn the_hosts_network_is_reached_only_when_it_is_asked_for_and_said_aloud() {
    let world = World::with_repository(AGAR);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    let closed = world.agar(["run", "--", "/bin/bash", "-c", &script]);
    assert_ne!(closed.code(), 0, "{closed}");
    let open = world
        .agar(["run", "--net=host", "--", "/bin/bash", "-c", &script])
        .success();
    assert!(open.stderr.contains("host"), "not said: {open}");
}

#[test]
fn path_sockets_of_the_host_stay_closed_with_the_hosts_network() {
    let world = World::with_repository(AGAR);
    let mut ears = Ears::open(&world);
    let report = attack(&world, &ears, &["--net=host"]);
    report.all_refused("reach unix ");
    report.all_refused("reach fifo ");
    report.all_refused("family ");
    for listener in &ears.tcp {
        drop(listener.accept());
    }
    ears.tcp.clear();
    // The abstract socket is scoped off by Landlock where the kernel can.
    if report.of("reach abstract") == Some("ok") {
        drop(ears.unix.remove(0));
        assert!(
            report.outcome.stderr.contains("abstract"),
            "the hole is not named: {}",
            report.outcome
        );
    }
    ears.assert_silence(&report);
}
