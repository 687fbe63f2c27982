//! `agar completion`: the Tab key.

use crate::DONE;
use crate::args::Cli;
use crate::context::Context;
use crate::report::Failure;
use clap::CommandFactory as _;
use clap_complete::Shell;

/// Print the completion script for a shell
///
/// Commands, flags and the names of sandboxes.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar completion bash > ~/.local/share/bash-completion/completions/agar
  agar completion zsh > ~/.zfunc/_agar
  agar completion fish > ~/.config/fish/completions/agar.fish")]
pub struct CompletionArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: ShellChoice,
}

/// Shells that agar completes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ShellChoice {
    /// GNU Bash
    Bash,
    /// Z shell
    Zsh,
    /// fish
    Fish,
}

/// Commands whose first argument is a sandbox.
const WITH_SANDBOX: &[&str] = &[
    "exec",
    "attach",
    "shell",
    "ps",
    "logs",
    "inspect",
    "diff",
    "check",
    "apply",
    "merge",
    "snapshot",
    "snapshots",
    "restore",
    "fork",
    "tree",
    "pause",
    "resume",
    "stop",
    "rm",
    "cp",
];

/// Prints it.
pub fn run(args: &CompletionArgs, context: &Context) -> Result<u8, Failure> {
    context.ui.show(&script(args.shell))?;
    Ok(DONE)
}

/// The whole script.
pub fn script(shell: ShellChoice) -> String {
    let mut command = Cli::command();
    let mut script = Vec::new();
    let generator = match shell {
        ShellChoice::Bash => Shell::Bash,
        ShellChoice::Zsh => Shell::Zsh,
        ShellChoice::Fish => Shell::Fish,
    };
    clap_complete::generate(generator, &mut command, "agar", &mut script);
    with_names(shell, &String::from_utf8_lossy(&script))
}

/// Adds the names of sandboxes to what clap generates: they are known only when Tab is pressed.
fn with_names(shell: ShellChoice, script: &str) -> String {
    match shell {
        ShellChoice::Bash => format!(
            r#"{script}
_agar_with_names() {{
    _agar "$@"
    case " {verbs} " in
        *" ${{COMP_WORDS[1]}} "*)
            if [[ "${{COMP_WORDS[COMP_CWORD]}}" != -* && " ${{COMP_WORDS[*]:0:COMP_CWORD}} " != *" -- "* ]]; then
                COMPREPLY+=($(compgen -W "$(agar ls --quiet 2>/dev/null)" -- "${{COMP_WORDS[COMP_CWORD]}}"))
            fi
            ;;
    esac
}}
complete -F _agar_with_names -o nosort -o bashdefault -o default agar
"#,
            verbs = WITH_SANDBOX.join(" ")
        ),
        ShellChoice::Zsh => {
            let named = script
                .lines()
                .map(|line| {
                    let sandbox = line.contains(":sandbox --") || line.contains(":sandboxes --");
                    if sandbox || line.contains(":words --") {
                        line.replace(":_default'", ":_agar_sandboxes'")
                    } else {
                        line.to_owned()
                    }
                })
                .collect::<Vec<_>>()
                .join("\n");
            let function = "_agar_sandboxes() {\n    compadd -- ${(f)\"$(agar ls --quiet 2>/dev/null)\"}\n}\n\n";
            // The script ends by calling or registering the completion: the function comes first.
            match named.split_once("\n_agar_commands()") {
                Some((head, _)) if !head.is_empty() => {
                    named.replacen("\n_agar() {", &format!("\n{function}_agar() {{"), 1)
                }
                Some(_) | None => format!("{named}\n{function}"),
            }
        }
        ShellChoice::Fish => format!(
            "{script}complete -c agar -n '__fish_seen_subcommand_from {}' -f -a '(agar ls --quiet 2>/dev/null)' -d sandbox\n",
            WITH_SANDBOX.join(" ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_asks_for_the_names_of_sandboxes() {
        for shell in [ShellChoice::Bash, ShellChoice::Zsh, ShellChoice::Fish] {
            let script = script(shell);
            assert!(script.contains("agar ls --quiet"), "{shell:?}");
        }
        assert!(script(ShellChoice::Zsh).contains(":_agar_sandboxes'"));
    }

    #[test]
    fn the_commands_that_take_a_sandbox_exist() {
        let command = Cli::command();
        for verb in WITH_SANDBOX {
            assert!(command.find_subcommand(verb).is_some(), "{verb}");
        }
    }
}
