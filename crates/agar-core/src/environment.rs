//! Which variables of the environment a sandbox gets to see.
//!
//! An allow-list: what is not known to be harmless stays outside. A person may add names; the ones
//! that would change what programs load, or that reach an agent's socket, never cross.

use crate::secret;

/// Never passed on, whoever asks: they change what programs load or run, or they are sockets.
const NEVER: [&str; 24] = [
    "LD_*",
    "BASH_ENV",
    "ENV",
    "BASH_FUNC_*",
    "PROMPT_COMMAND",
    "NODE_OPTIONS",
    "PYTHONSTARTUP",
    "PERL5OPT",
    "RUBYOPT",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "GIT_SSH*",
    "GIT_ASKPASS",
    "SSH_*",
    "GPG_*",
    "DBUS_*",
    "DISPLAY",
    "WAYLAND_*",
    "XAUTHORITY",
    "DOCKER_HOST",
    "XDG_RUNTIME_DIR",
    "KUBECONFIG",
    "GLIBC_TUNABLES",
    "GCONV_PATH",
];

/// Passed on unless the value or the name says that it is a secret.
const KEPT: [&str; 24] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "TZ",
    "EDITOR",
    "PAGER",
    "CI",
    "*_HOME",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "NVM_DIR",
    "GOPATH",
    "GOROOT",
    "CARGO_*",
    "RUSTUP_*",
    "AGAR_*",
];

/// Families of settings in which tokens are common; also passed on unless they look like one.
const KEPT_FAMILIES: [&str; 2] = ["npm_config_*", "PIP_*"];

/// Whether a sandbox gets this variable. `extra` are names that a person allowed, with `*` at
/// either end for a family.
///
/// A name that a person gave in full is passed on even if it is called a token: that is what they
/// asked for. Nothing is passed on that is on the never-list.
pub fn keep(name: &str, value: &str, extra: &[String]) -> bool {
    if name.is_empty() || name.contains(['=', '\0']) || is_one_of(name, NEVER) {
        return false;
    }
    if extra.iter().any(|allowed| allowed == name) {
        return true;
    }
    let families = extra.iter().map(String::as_str);
    let known =
        is_one_of(name, KEPT) || is_one_of(name, KEPT_FAMILIES) || is_one_of(name, families);
    known && !secret::names_secret(name) && !secret::looks_secret(value)
}

/// Whether a variable of this name can never be allowed, so that a setting which tries is refused.
pub fn is_never_kept(name: &str) -> bool {
    is_one_of(name, NEVER)
}

fn is_one_of<'a>(name: &str, patterns: impl IntoIterator<Item = &'a str>) -> bool {
    patterns.into_iter().any(|pattern| fits(name, pattern))
}

fn fits(name: &str, pattern: &str) -> bool {
    if let Some(start) = pattern.strip_suffix('*') {
        name.starts_with(start)
    } else if let Some(end) = pattern.strip_prefix('*') {
        name.ends_with(end)
    } else {
        name == pattern
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_the_design_lists_is_kept() {
        for name in [
            "PATH",
            "HOME",
            "USER",
            "LOGNAME",
            "SHELL",
            "LANG",
            "LC_ALL",
            "TERM",
            "COLORTERM",
            "TZ",
            "EDITOR",
            "PAGER",
            "CI",
            "JAVA_HOME",
            "VIRTUAL_ENV",
            "CONDA_PREFIX",
            "NVM_DIR",
            "GOPATH",
            "GOROOT",
            "CARGO_TARGET_DIR",
            "RUSTUP_TOOLCHAIN",
            "npm_config_registry",
            "PIP_INDEX_URL",
            "AGAR_TIER",
        ] {
            assert!(keep(name, "value", &[]), "{name}");
        }
    }

    #[test]
    fn what_is_not_known_stays_outside() {
        for name in ["MY_THING", "AWS_PROFILE", "GITHUB_TOKEN", "HOMEBREW", ""] {
            assert!(!keep(name, "value", &[]), "{name}");
        }
    }

    #[test]
    fn a_kept_family_does_not_carry_secrets() {
        for (name, value) in [
            ("CARGO_REGISTRY_TOKEN", "x"),
            ("npm_config__authToken", "x"),
            ("PIP_INDEX_URL", "https://me:pw@pypi.example.org/simple"),
            ("CARGO_BUILD_FLAGS", "q8Zr2LkP0vXw7Yt3Bn5Mc1Hd9Gf4Js6A"),
            ("VAULT_TOKEN_HOME", "/x"),
        ] {
            assert!(!keep(name, value, &[]), "{name}");
        }
    }

    #[test]
    fn a_person_can_allow_a_secret_by_its_whole_name_only() {
        let whole = ["MY_TOKEN".to_owned()];
        let family = ["MY_*".to_owned()];
        assert!(keep("MY_TOKEN", "x", &whole));
        assert!(!keep("MY_TOKEN", "x", &family));
        assert!(keep("MY_COLOUR", "x", &family));
    }

    proptest! {
        #[test]
        fn nothing_lets_the_never_list_in(name in "(LD_[A-Z]{0,8}|BASH_ENV|NODE_OPTIONS|SSH_AUTH_SOCK)", value: String) {
            prop_assert!(!keep(&name, &value, &[name.clone(), "*".to_owned()]));
            prop_assert!(is_never_kept(&name));
        }
    }
}
