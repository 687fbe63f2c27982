//! Which files do not exist inside a sandbox: keys, tokens, histories, browser profiles.
//!
//! The rules are data and the matcher is pure: it is handed paths relative to the home directory or
//! to the project, and directory listings by whoever may read them. What a sandbox hides is
//! decided here and nowhere else.

mod default;
mod pattern;
mod walk;

pub use pattern::{NotAPattern, Pattern};
pub use walk::{Entry, KEY_DEPTH, List};

use crate::walls::Network;
use pattern::Reach;
use std::path::{Path, PathBuf};

/// What is hidden, and what is shown all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskRules {
    hidden: Vec<Pattern>,
    shown: Vec<Pattern>,
}

/// The rules for a sandbox about which nobody said anything.
impl Default for MaskRules {
    fn default() -> Self {
        Self {
            hidden: default::hidden(),
            shown: default::shown(),
        }
    }
}

/// What the rules say about one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// It is there.
    Shown,
    /// It is not there, nor is anything below it.
    Hidden,
    /// It would be hidden, but something below it is shown: look at what it holds.
    Partly,
}

impl MaskRules {
    /// The default rules, with more hidden (`mask`) and more shown (`unmask`).
    ///
    /// `~/x` lies in the home directory, `/x` anywhere on the machine, `a/b` in the project; a name
    /// without a slash is meant wherever it occurs. `*` stands for any part of a name. Showing wins.
    pub fn with(mask: &[String], unmask: &[String]) -> Result<Self, NotAPattern> {
        let mut rules = Self::default();
        for text in mask {
            rules.hidden.push(Pattern::parse(text)?);
        }
        for text in unmask {
            rules.shown.push(Pattern::parse(text)?);
        }
        Ok(rules)
    }

    /// Whether a path relative to the home directory, outside the project, is hidden.
    pub fn applies(&self, in_home: &Path) -> bool {
        self.judge(in_home, &[Reach::Home, Reach::Name, Reach::KeyName]) == Judgement::Hidden
    }

    /// What is to be done about a path relative to the home directory, outside the project.
    pub fn judge_in_home(&self, in_home: &Path) -> Judgement {
        self.judge(in_home, &[Reach::Home, Reach::Name, Reach::KeyName])
    }

    /// Whether a path relative to the project is hidden. Its `.env` files are hidden only where the
    /// network is open: tests need them, and without a network they cannot leave.
    pub fn applies_in_project(&self, in_project: &Path, network: &Network) -> bool {
        let reaches: &[Reach] = if network.is_open() {
            &[Reach::Project, Reach::Name, Reach::EnvName]
        } else {
            &[Reach::Project, Reach::Name]
        };
        self.judge(in_project, reaches) == Judgement::Hidden
    }

    /// Whether any rule could hide something in the project. Where none can, nobody needs to look.
    pub fn concern_project(&self, network: &Network) -> bool {
        network.is_open()
            || self
                .hidden
                .iter()
                .any(|pattern| matches!(pattern.reach, Reach::Project | Reach::Name))
    }

    /// Hidden paths elsewhere on the machine, as they were given.
    pub fn elsewhere(&self) -> Vec<PathBuf> {
        let root = Path::new("/");
        self.hidden
            .iter()
            .filter(|pattern| pattern.reach == Reach::Machine)
            .map(|pattern| root.join(pattern.as_path()))
            .filter(|path| !self.shows(path.strip_prefix(root).unwrap_or(path), Reach::Machine))
            .collect()
    }

    fn judge(&self, path: &Path, reaches: &[Reach]) -> Judgement {
        let hidden = self.hidden.iter().any(|pattern| {
            reaches.contains(&pattern.reach)
                && pattern.covers(path)
                && !self.excuses(pattern, path, reaches)
        });
        if !hidden {
            return Judgement::Shown;
        }
        let partly = self
            .shown
            .iter()
            .any(|pattern| reaches.contains(&pattern.reach) && pattern.lies_below(path));
        if partly {
            Judgement::Partly
        } else {
            Judgement::Hidden
        }
    }

    /// Whether a path is shown although this pattern would hide it.
    ///
    /// What somebody named is shown whatever hides it; the built-in exceptions are exceptions from
    /// the rule about names only.
    fn excuses(&self, hiding: &Pattern, path: &Path, reaches: &[Reach]) -> bool {
        self.shown.iter().any(|pattern| {
            let concerns = match pattern.reach {
                Reach::KeyName | Reach::EnvName => pattern.reach == hiding.reach,
                Reach::Home | Reach::Project | Reach::Machine | Reach::Name => {
                    reaches.contains(&pattern.reach)
                }
            };
            concerns && pattern.covers(path)
        })
    }

    /// Whether a path relative to the home directory lies in a tree of installed software, whose key
    /// files are public certificates and test data.
    pub fn is_software(&self, in_home: &Path) -> bool {
        self.shows(in_home, Reach::KeyName)
    }

    fn shows(&self, path: &Path, reach: Reach) -> bool {
        self.shown
            .iter()
            .any(|pattern| pattern.reach == reach && pattern.covers(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn open() -> Network {
        Network::Host
    }

    #[test]
    fn what_the_design_lists_is_hidden() {
        let rules = MaskRules::default();
        for path in [
            ".ssh",
            ".ssh/id_ed25519",
            ".ssh/config",
            ".gnupg/private-keys-v1.d/a.key",
            ".aws/credentials",
            ".azure",
            ".config/gcloud/credentials.db",
            ".config/gh/hosts.yml",
            ".kube/config",
            ".docker/config.json",
            ".netrc",
            ".git-credentials",
            ".npmrc",
            ".pypirc",
            ".cargo/credentials",
            ".cargo/credentials.toml",
            ".vault-token",
            ".password-store/mail.gpg",
            ".local/share/keyrings/login.keyring",
            ".mozilla/firefox/x/logins.json",
            ".config/google-chrome-beta/Default",
            ".bash_history",
            ".python_history",
            ".cache/huggingface/token",
            ".claude/.credentials.json",
            ".codex/auth.json",
            ".gemini/oauth_creds.json",
            "work/server.key",
            "id_rsa",
            "backup/id_ed25519.pub",
        ] {
            assert!(rules.applies(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn what_tools_need_is_there() {
        let rules = MaskRules::default();
        for path in [
            "",
            ".config",
            ".config/git/config",
            ".cargo/config.toml",
            ".cargo/registry/src/x/tests/server.key",
            ".gitconfig",
            ".claude/settings.json",
            ".local/lib/python3.12/site-packages/certifi/cacert.pem",
            ".nvm/versions/node/v20/lib/x.pem",
            "src/project/main.rs",
            ".sshrc",
        ] {
            assert!(!rules.applies(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn the_projects_own_secrets_are_hidden_only_where_they_could_leave() {
        let rules = MaskRules::default();
        for path in [".env", ".env.local", "services/a/.env", ".envrc"] {
            let path = Path::new(path);
            assert!(rules.applies_in_project(path, &open()), "{path:?}");
            assert!(!rules.applies_in_project(path, &Network::None), "{path:?}");
        }
        for path in [
            ".env.example",
            "tests/server.key",
            "id_map.rs",
            "environment",
        ] {
            assert!(
                !rules.applies_in_project(Path::new(path), &open()),
                "{path}"
            );
        }
    }

    #[test]
    fn a_person_can_show_and_hide_by_name() {
        let rules = MaskRules::with(
            &[
                "~/notes".to_owned(),
                "secrets/*.json".to_owned(),
                "*.pfx".to_owned(),
            ],
            &[
                "~/.docker/config.json".to_owned(),
                ".env.local".to_owned(),
                "~/.npmrc".to_owned(),
            ],
        )
        .unwrap();
        assert!(rules.applies(Path::new("notes/a")));
        assert!(!rules.applies(Path::new(".npmrc")));
        assert!(!rules.applies(Path::new(".docker/config.json")));
        assert_eq!(rules.judge_in_home(Path::new(".docker")), Judgement::Partly);
        assert!(rules.applies(Path::new(".docker/contexts")));
        let project = |path| rules.applies_in_project(Path::new(path), &open());
        assert!(project("secrets/a.json") && project("a/b.pfx") && project(".env"));
        assert!(!project("secrets/a.txt") && !project(".env.local"));
    }

    #[test]
    fn a_path_elsewhere_is_hidden_as_given() {
        let rules = MaskRules::with(&["/etc/secret".to_owned()], &[]).unwrap();
        assert_eq!(rules.elsewhere(), [Path::new("/etc/secret")]);
        let shown = MaskRules::with(&["/etc/secret".to_owned()], &["/etc/secret".to_owned()]);
        assert_eq!(shown.unwrap().elsewhere(), [] as [&Path; 0]);
    }

    proptest! {
        #[test]
        fn what_lies_below_a_hidden_path_is_hidden(below in "[a-z]{1,5}(/[a-z]{1,5}){0,3}") {
            let rules = MaskRules::default();
            prop_assert!(rules.applies(&Path::new(".ssh").join(&below)));
            prop_assert!(rules.applies(&Path::new(".config/gh").join(below)));
        }
    }
}
