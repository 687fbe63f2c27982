//! What nobody should have to ask for.

use super::pattern::{Pattern, Reach};

/// Hidden in the home directory.
const HOME: [&str; 104] = [
    // Keys and credentials of tools.
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/op",
    ".config/sops",
    ".config/doctl",
    ".config/containers/auth.json",
    ".config/composer/auth.json",
    ".config/git/credentials",
    ".config/rclone",
    ".config/pypoetry/auth.toml",
    ".config/configstore",
    ".kube",
    ".docker",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials*",
    ".gem/credentials",
    ".composer/auth.json",
    ".m2/settings-security.xml",
    ".vault-token",
    ".password-store",
    ".local/share/gopass",
    ".age",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".boto",
    ".s3cfg",
    ".oci",
    ".fly",
    ".netlify",
    ".terraform.d/credentials*",
    ".kaggle",
    ".huggingface/token",
    ".cache/huggingface/token",
    ".config/kaggle",
    ".databrickscfg",
    ".minikube",
    ".android/adbkey*",
    ".putty",
    ".acme.sh",
    ".local/share/mkcert",
    ".local/share/caddy",
    ".step",
    ".snowsql",
    // Key rings.
    ".local/share/keyrings",
    ".gnome2/keyrings",
    ".local/share/kwalletd",
    ".kde*/share/apps/kwallet",
    ".pki",
    ".config/keepassxc",
    ".config/Bitwarden*",
    ".config/1Password",
    // Browser and mail profiles.
    ".mozilla",
    ".librewolf",
    ".waterfox",
    ".thunderbird",
    ".config/mozilla",
    ".config/google-chrome*",
    ".config/chromium*",
    ".config/BraveSoftware",
    ".config/microsoft-edge*",
    ".config/vivaldi*",
    ".config/opera*",
    "snap/firefox",
    "snap/chromium",
    ".var/app/org.mozilla.*",
    ".var/app/com.google.Chrome*",
    ".var/app/org.chromium.*",
    ".var/app/com.brave.*",
    ".local/share/epiphany",
    // Histories of shells and of things one types into.
    ".*_history",
    ".zhistory",
    ".histfile",
    ".lesshst",
    ".viminfo",
    ".local/share/fish/fish_history",
    ".local/share/atuin",
    ".local/share/nvim/shada",
    ".local/state/nvim/shada",
    ".local/state/python_history",
    ".config/nushell/history*",
    ".ghc/ghci_history",
    ".julia/logs/repl_history.jl",
    // Agents.
    ".claude/.credentials.json",
    ".claude.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".gemini/google_accounts.json",
    ".gemini/.env",
    ".config/github-copilot",
    ".config/cursor/auth.json",
    ".local/share/opencode/auth.json",
    ".local/state/agar",
    ".local/share/goose/config",
];

/// Key files, wherever they lie outside the project.
const KEY_NAMES: [&str; 3] = ["*.key", "*.pem", "id_*"];

/// Files of the project that hold secrets by convention.
const ENV_NAMES: [&str; 1] = [".env*"];

/// Templates that are committed for everybody to fill in.
const ENV_TEMPLATES: [&str; 4] = [".env.example", ".env.sample", ".env.template", ".env.dist"];

/// Trees of installed software, whose `.pem` and `.key` files are public certificates and test data.
const SOFTWARE: [&str; 22] = [
    ".cargo/registry",
    ".cargo/git",
    ".rustup",
    ".local/lib",
    ".local/pipx",
    ".local/share/pipx",
    ".local/share/uv",
    ".local/share/mise",
    ".local/share/pnpm",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".asdf",
    ".sdkman",
    ".volta",
    ".bun",
    ".deno",
    ".npm",
    ".cache",
    ".vscode*",
    "go/pkg",
    ".linuxbrew",
];

/// What is hidden unless somebody shows it.
pub(super) fn hidden() -> Vec<Pattern> {
    let home = HOME.iter().map(|text| Pattern::new(Reach::Home, text));
    let keys = KEY_NAMES
        .iter()
        .map(|text| Pattern::new(Reach::KeyName, text));
    let env = ENV_NAMES
        .iter()
        .map(|text| Pattern::new(Reach::EnvName, text));
    home.chain(keys).chain(env).collect()
}

/// What is shown although a rule above would hide it.
pub(super) fn shown() -> Vec<Pattern> {
    let templates = ENV_TEMPLATES
        .iter()
        .map(|text| Pattern::new(Reach::EnvName, text));
    let software = SOFTWARE
        .iter()
        .map(|text| Pattern::new(Reach::KeyName, text));
    templates.chain(software).collect()
}
