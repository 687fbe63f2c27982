//! Policy in, list of steps out.

use super::*;
use crate::machine::MountPoint;
use agar_core::limits::Limits;

fn machine(uid: u32) -> Machine {
    let mount = |target: &str, kind: &str| MountPoint {
        target: target.into(),
        kind: kind.into(),
    };
    Machine {
        uid,
        gid: uid,
        kernel: (6, 18),
        mounts: vec![
            mount("/", "ext4"),
            mount("/proc", "proc"),
            mount("/mnt/disk", "xfs"),
        ],
        covers: ["/home", "/mnt/disk", "/opt", "/srv", "/var"]
            .map(Raw::from)
            .to_vec(),
        loose: vec!["/mnt/agent.sock".into()],
        resolver: Some("/run/systemd/resolve/stub-resolv.conf".into()),
        memory_bytes: 1 << 30,
    }
}

fn overlay(target: &str) -> Overlay {
    let layer = |name: &str| Raw::from(format!("/state{target}/{name}"));
    Overlay {
        target: target.into(),
        upper: layer("upper"),
        work: layer("work"),
        lowers: vec![target.into()],
    }
}

fn policy(overlays: Vec<Overlay>) -> Policy {
    Policy {
        tier: Tier::Full,
        network: Network::None,
        identity: Identity::Caller,
        nested: Nested::Refused,
        monitor: Monitor::Executions,
        overlays,
        copies: Vec::new(),
        masks: vec![
            "/home/ada/.ssh".into(),
            "/home/ada/work/.env".into(),
            "/srv/secret".into(),
        ],
        home: "/home/ada".into(),
        staging: "/state/root".into(),
        layer_homes: Vec::new(),
        limits: Limits::default(),
        old_ways: Vec::new(),
    }
}

#[test]
fn an_ordinary_user_gets_home_and_project_copy_on_write() {
    let wanted = policy(vec![overlay("/home/ada/work"), overlay("/home/ada")]);
    insta::assert_snapshot!(plan(&wanted, &machine(1000)).unwrap(), @r"
    tier      full
    network   none
    ids       1000:1000 as they are
    layers    one by one
    ro        /
    cover     /home
    cover     /mnt/disk
    cover     /opt
    cover     /srv
    mask      /srv/secret
    cover     /var
    hide      /mnt/agent.sock
    fresh     /tmp 1777
    fresh     /run 755
    fresh     /var/tmp 1777
    fresh     /proc
    empty     /sys
    fresh     /dev
    forbid    user namespaces
    ro        /proc/sys
    cow       /home/ada (2 layers)
    mask      /home/ada/.ssh
    cow       /home/ada/work (2 layers)
    mask      /home/ada/work/.env
    hold      0 capabilities
    ");
}

#[test]
fn a_usual_plan_continues_what_was_begun_without_it_and_no_other_does() {
    let machine = machine(1000);
    let begun = ahead(&machine, Path::new("/state/root")).unwrap();
    let usual = Policy {
        masks: vec!["/home/ada/.ssh".into()],
        ..policy(vec![overlay("/home/ada/work"), overlay("/home/ada")])
    };
    assert!(plan(&usual, &machine).unwrap().continues(&begun));
    let unusual = [
        Policy {
            masks: vec!["/srv/secret".into()],
            ..usual.clone()
        },
        Policy {
            nested: Nested::Allowed,
            ..usual.clone()
        },
        Policy {
            identity: Identity::FakeRoot,
            ..usual.clone()
        },
        Policy {
            staging: "/elsewhere/root".into(),
            ..usual.clone()
        },
        Policy {
            overlays: vec![overlay("/srv")],
            ..usual.clone()
        },
        Policy {
            tier: Tier::Landlock,
            ..usual
        },
    ];
    for other in unusual {
        assert!(
            !plan(&other, &machine).unwrap().continues(&begun),
            "{other:?}"
        );
    }
}

#[test]
fn root_gets_the_machine_copy_on_write() {
    let wanted = policy(vec![overlay("/"), overlay("/home/ada/work")]);
    insta::assert_snapshot!(plan(&wanted, &machine(0)).unwrap(), @r"
    tier      full
    network   none
    ids       all as they are, running as 0:0
    layers    one by one
    cow       / (2 layers)
    mask      /home/ada/.ssh
    mask      /srv/secret
    ro        /mnt/disk
    fresh     /tmp 1777
    fresh     /run 755
    fresh     /var/tmp 1777
    root      as staged
    cow       /home/ada/work (2 layers)
    mask      /home/ada/work/.env
    fresh     /proc
    empty     /sys
    fresh     /dev
    forbid    user namespaces
    ro        /proc/sys
    ro        /proc/sysrq-trigger
    ro        /proc/irq
    ro        /proc/bus
    ro        /proc/fs
    hide      /proc/kcore
    hide      /proc/keys
    hide      /proc/timer_list
    hide      /proc/acpi
    hide      /proc/scsi
    hold      11 capabilities
    ");
}

#[test]
fn a_project_below_tmp_gets_a_place_in_the_private_tmp() {
    let plan = plan(&policy(vec![overlay("/tmp/p")]), &machine(1000)).unwrap();
    let made = plan.steps.iter().position(|step| {
        *step
            == Step::Directory {
                target: "/tmp/p".into(),
            }
    });
    let fresh = plan
        .steps
        .iter()
        .position(|step| matches!(step, Step::Fresh { target, .. } if *target == "/tmp".into()));
    assert!(fresh < made && made.is_some());
}

#[test]
fn a_mount_below_an_overlay_is_refused_by_name() {
    let refused = plan(&policy(vec![overlay("/mnt")]), &machine(1000));
    let expected = PlanError::MountBelow {
        target: "/mnt".into(),
        mount: "/mnt/disk".into(),
    };
    assert_eq!(refused, Err(expected));
}

#[test]
fn an_allow_list_is_refused_rather_than_weakened() {
    let mut wanted = policy(Vec::new());
    wanted.network = Network::Allow {
        names: vec!["crates.io".into()],
    };
    assert_eq!(plan(&wanted, &machine(1000)), Err(PlanError::NoAllowList));
}

#[test]
fn the_resolver_is_there_only_with_a_network() {
    let mut wanted = policy(Vec::new());
    let copies = |plan: &Plan| {
        plan.steps
            .iter()
            .any(|step| matches!(step, Step::CopyFile { .. }))
    };
    assert!(!copies(&plan(&wanted, &machine(1000)).unwrap()));
    wanted.network = Network::Host;
    assert!(copies(&plan(&wanted, &machine(1000)).unwrap()));
}

#[test]
fn an_old_kernel_gets_its_layers_as_options() {
    let mut old = machine(1000);
    old.kernel = (6, 1);
    assert_eq!(
        plan(&policy(Vec::new()), &old).unwrap().layers,
        LayerApi::Options
    );
    old.kernel = (5, 10);
    assert_eq!(
        plan(&policy(Vec::new()), &old),
        Err(PlanError::OldKernel(5, 10))
    );
}
