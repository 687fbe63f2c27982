//! The kernel's mechanisms one by one, so that a jail which does not stand says which part is missing.

use super::{Finding, Health, finding};
use crate::{Engine, EngineError, layers};
use agar_jail::probe::{Probe, Tried};
use std::io;

/// Tries each mechanism on the filesystem where layers would lie.
pub(super) fn findings(engine: &Engine) -> Result<Vec<Finding>, EngineError> {
    let here = engine.here()?;
    let scratch = here.state.path().join("doctor");
    let failed = || EngineError::io("try the kernel's mechanisms");
    layers::make_private(&scratch).map_err(failed())?;
    let probe = agar_jail::probe::probe(here.state.path(), &scratch).map_err(failed());
    here.throw_away(&scratch)?;
    let probe = probe?;
    Ok(vec![
        namespaces(&probe),
        overlays(&probe),
        reflink(&probe),
        filter(&probe),
    ])
}

fn namespaces(probe: &Probe) -> Finding {
    let refused: Vec<&Tried> = probe
        .namespaces
        .iter()
        .filter(|tried| !tried.works())
        .collect();
    if refused.is_empty() {
        let names: Vec<&str> = probe
            .namespaces
            .iter()
            .map(|tried| tried.what.as_str())
            .collect();
        return finding("namespaces", names.join(" "), Health::Ok);
    }
    let names: Vec<String> = refused.iter().map(|tried| trouble(tried)).collect();
    Finding {
        fix: namespaces_fix(),
        ..finding(
            "namespaces",
            format!("refused: {}", names.join(", ")),
            Health::Missing,
        )
    }
}

fn overlays(probe: &Probe) -> Finding {
    let says = |detail: &str, health| finding("overlayfs", detail, health);
    match (probe.layers.works(), probe.layers_by_options.works()) {
        (true, _) => says("unprivileged, layers one by one, 500 of them", Health::Ok),
        (false, true) => says(
            "unprivileged, layers as mount options, about 50",
            Health::Note,
        ),
        (false, false) => Finding {
            fix: namespaces_fix(),
            ..says(&trouble(&probe.layers), Health::Missing)
        },
    }
}

fn reflink(probe: &Probe) -> Finding {
    if probe.reflink.works() {
        finding("reflink", "the first freeze shares its blocks", Health::Ok)
    } else {
        finding(
            "reflink",
            "not on this filesystem; the first freeze copies",
            Health::Note,
        )
    }
}

fn filter(probe: &Probe) -> Finding {
    if probe.notify {
        finding("seccomp", "filter, notify", Health::Ok)
    } else {
        finding(
            "seccomp",
            "filter only: executions are not recorded",
            Health::Weaker,
        )
    }
}

/// What was tried, the step that failed and the kernel's reason.
fn trouble(tried: &Tried) -> String {
    match &tried.trouble {
        Some((step, errno)) => {
            let reason = io::Error::from_raw_os_error(*errno);
            format!("{} (cannot {step}: {reason})", tried.what)
        }
        None => tried.what.clone(),
    }
}

/// What to type where the machine forbids user namespaces, as far as it says why.
pub(super) fn namespaces_fix() -> Option<String> {
    let says = |path: &str, value: &str| {
        fs_err::read_to_string(path).is_ok_and(|text| text.trim() == value)
    };
    let sysctl = |name: &str, value: &str| Some(format!("sudo sysctl -w {name}={value}"));
    if says(
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
    ) {
        // The profile opens the door for agar alone; the setting would open it for everybody.
        Some("sudo cp contrib/apparmor/agar /etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/agar".to_owned())
    } else if says("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        sysctl("kernel.unprivileged_userns_clone", "1")
    } else if says("/proc/sys/user/max_user_namespaces", "0") {
        sysctl("user.max_user_namespaces", "15000")
    } else {
        None
    }
}
