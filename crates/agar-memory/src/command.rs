//! The shape of a command: what it does, without what it does it to.
//!
//! `npm install --save left-pad@1.3.0` and `npm install right-pad --save` have one shape. Paths,
//! names and numbers go; the program, its verb and its flags stay.

/// Programs whose first plain word is a verb.
const WITH_VERB: [&str; 30] = [
    "apt",
    "apt-get",
    "bun",
    "bundle",
    "cargo",
    "composer",
    "deno",
    "docker",
    "dotnet",
    "gh",
    "git",
    "go",
    "gradle",
    "gradlew",
    "just",
    "kubectl",
    "make",
    "mix",
    "mvn",
    "mvnw",
    "npm",
    "npx",
    "pip",
    "pip3",
    "pnpm",
    "poetry",
    "terraform",
    "uv",
    "yarn",
    "zig",
];

/// Programs that only carry another command.
const CARRIERS: [&str; 8] = [
    "sudo", "env", "time", "nice", "nohup", "command", "exec", "timeout",
];

/// The shape of a command, without the shells and carriers around it. Several commands of one shell
/// line are joined. `None` where nothing is left.
pub(crate) fn shape(command: &[String]) -> Option<String> {
    let shapes = shapes(command);
    (!shapes.is_empty()).then(|| shapes.join(" && "))
}

/// The shape of each command in it, in order, without repetition.
pub(crate) fn shapes(command: &[String]) -> Vec<String> {
    let mut shapes = Vec::new();
    for simple in simple_commands(command) {
        if let Some(shape) = simple_shape(&simple)
            && !shapes.contains(&shape)
        {
            shapes.push(shape);
        }
    }
    shapes.truncate(6);
    shapes
}

/// Programs that only move bytes: whether they work says nothing about what is done with them.
const TOOLS: [&str; 33] = [
    "awk", "base64", "cat", "chmod", "chown", "cp", "cut", "dd", "find", "grep", "head", "install",
    "ln", "ls", "mkdir", "mktemp", "mv", "patch", "rm", "rmdir", "sed", "seq", "sh", "bash",
    "sort", "tail", "tee", "touch", "tr", "truncate", "uniq", "wc", "xargs",
];

/// Whether a shape says what was done, so that its working or failing can be seen again.
pub(crate) fn is_telling(shape: &str) -> bool {
    shape.split(" && ").any(|simple| {
        let mut words = simple.split(' ');
        let program = words.next().unwrap_or("");
        // `python -c` and `node -e` carry a program of their own, which the shape leaves out.
        let carries = words.any(|word| matches!(word, "-c" | "-e"))
            && ["python", "node", "perl", "ruby", "deno", "php"]
                .iter()
                .any(|known| program.starts_with(known));
        !TOOLS.contains(&program) && !carries
    })
}

/// The commands that a command runs: itself, or those of the shell line it carries.
pub(crate) fn simple_commands(command: &[String]) -> Vec<Vec<String>> {
    let mut words: &[String] = command;
    while let Some(first) = words.first() {
        let carried = CARRIERS.contains(&base(first)) || is_assignment(first);
        if !carried {
            break;
        }
        words = &words[1..];
        while words
            .first()
            .is_some_and(|word| word.starts_with('-') || word.bytes().all(|b| b.is_ascii_digit()))
        {
            words = &words[1..];
        }
    }
    let Some(first) = words.first() else {
        return Vec::new();
    };
    let is_shell = ["sh", "bash", "dash", "zsh", "ash"].contains(&base(first));
    let script = words
        .iter()
        .position(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))
        .and_then(|at| words.get(at + 1));
    match script {
        Some(script) if is_shell => split_script(script),
        _ => vec![words.to_vec()],
    }
}

/// Words of the shell's own that may stand before a command.
const CONTROL: [&str; 10] = [
    "!", "{", "if", "then", "elif", "else", "while", "until", "do", "time",
];

/// Words of the shell's own that are no command worth remembering.
const NO_COMMAND: [&str; 21] = [
    "cd", "export", "set", "echo", "printf", "true", "false", "source", ".", ":", "exit", "return",
    "read", "wait", "sleep", "test", "[", "fi", "done", "esac", "}",
];

/// The simple commands of a shell line. A rough reading: quotes are kept together, redirections and
/// control words are left out, substitutions are not understood.
fn split_script(script: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word = String::new();
    let mut quote: Option<char> = None;
    let script = crate::text::clip(script, 16 * 1024);
    for c in script.chars().chain(std::iter::once('\n')) {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            // `2>&1` is one word.
            (None, '&') if word.ends_with(['>', '<']) => word.push(c),
            (None, ';' | '&' | '|' | '\n' | '(' | ')') => {
                finish(&mut commands, &mut word);
                if commands.last().is_some_and(|command| !command.is_empty()) {
                    commands.push(Vec::new());
                }
            }
            (None, c) if c.is_whitespace() => finish(&mut commands, &mut word),
            (_, c) => word.push(c),
        }
    }
    for command in &mut commands {
        plain(command);
    }
    commands.retain(|command| !command.is_empty());
    commands.truncate(16);
    commands
        .into_iter()
        .flat_map(|command| {
            let nested = command
                .first()
                .is_some_and(|word| CARRIERS.contains(&base(word)) || is_assignment(word));
            if nested {
                simple_commands(&command)
            } else {
                vec![command]
            }
        })
        .collect()
}

/// Leaves out redirections and the control words in front.
fn plain(command: &mut Vec<String>) {
    let mut wants_target = false;
    command.retain(|word| {
        let target = std::mem::take(&mut wants_target);
        let redirection = word
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .starts_with(['<', '>']);
        wants_target = redirection && word.ends_with(['<', '>']);
        !target && !redirection
    });
    let control = |word: &String| CONTROL.contains(&word.as_str());
    let first = command.iter().position(|word| !control(word));
    command.drain(..first.unwrap_or(command.len()));
}

fn finish(commands: &mut [Vec<String>], word: &mut String) {
    if !word.is_empty()
        && let Some(command) = commands.last_mut()
    {
        command.push(std::mem::take(word));
    }
}

fn simple_shape(words: &[String]) -> Option<String> {
    let program = base(words.first()?);
    if NO_COMMAND.contains(&program) {
        return None;
    }
    let mut shape = program.to_owned();
    let mut rest = &words[1..];
    if WITH_VERB.contains(&program) {
        let verbs = if matches!(program, "npm" | "yarn" | "pnpm" | "bun" | "poetry" | "uv")
            && rest.first().is_some_and(|word| word == "run")
        {
            2
        } else {
            1
        };
        for _ in 0..verbs {
            if let Some(verb) = rest.first().filter(|word| is_plain(word)) {
                shape.push(' ');
                shape.push_str(verb);
                rest = &rest[1..];
            }
        }
    } else if let Some(module) = module_of(program, rest) {
        shape = format!("{shape} -m {module}");
        rest = &[];
    }
    let mut flags: Vec<&str> = rest
        .iter()
        .map(String::as_str)
        .take_while(|word| *word != "--")
        .filter(|word| word.starts_with('-') && word.len() > 1)
        .map(|word| word.split_once('=').map_or(word, |(flag, _)| flag))
        .filter(|flag| flag.len() < 32 && !flag.bytes().any(|b| b.is_ascii_digit()))
        .collect();
    flags.sort_unstable();
    flags.dedup();
    for flag in flags.into_iter().take(8) {
        shape.push(' ');
        shape.push_str(flag);
    }
    Some(shape)
}

fn module_of<'a>(program: &str, rest: &'a [String]) -> Option<&'a str> {
    let is_python = program.starts_with("python");
    match rest {
        [flag, module, ..] if is_python && flag == "-m" => Some(module),
        _ => None,
    }
}

fn is_plain(word: &str) -> bool {
    !word.starts_with('-')
        && word.len() <= 24
        && word
            .bytes()
            .all(|b| b.is_ascii_lowercase() || matches!(b, b'-' | b':' | b'_'))
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(line: &str) -> Option<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        shape(&words)
    }

    #[test]
    fn names_paths_and_numbers_are_not_part_of_a_shape() {
        assert_eq!(
            of("npm install --save left-pad@1.3.0"),
            of("/usr/bin/npm install right-pad --save")
        );
        assert_eq!(
            of("cargo update -p serde"),
            Some("cargo update -p".to_owned())
        );
        assert_eq!(
            of("sudo apt-get install -y jq"),
            Some("apt-get install -y".to_owned())
        );
        assert_eq!(
            of("python3 -m pytest tests/test_a.py"),
            Some("python3 -m pytest".to_owned())
        );
    }

    #[test]
    fn a_shell_line_is_read_as_the_commands_it_runs() {
        let line = [
            "sh",
            "-c",
            "cd web && npm ci; FOO=1 npm run build | tee 'a;b'",
        ]
        .map(str::to_owned);
        assert_eq!(
            shape(&line).as_deref(),
            Some("npm ci && npm run build && tee")
        );
    }

    #[test]
    fn redirections_and_the_shells_own_words_are_no_commands() {
        let of = |script: &str| shape(&["sh", "-c", script].map(str::to_owned));
        assert_eq!(of("echo oh >&2; exit 3"), None);
        assert_eq!(of("make 2>&1 >log < in"), Some("make".to_owned()));
        assert_eq!(
            of("make > log 2>> other check"),
            Some("make check".to_owned())
        );
        assert_eq!(
            of("if ! cargo test; then git checkout .; fi"),
            Some("cargo test && git checkout".to_owned())
        );
    }

    #[test]
    fn editing_a_file_is_no_command_worth_remembering() {
        for shape in ["sed -i", "rm -f -r", "python3 -c", "cp && mv", "node -e"] {
            assert!(!is_telling(shape), "{shape}");
        }
        for shape in [
            "sed -i && cargo build",
            "python3 -m pytest",
            "./migrate.sh",
            "make -e",
        ] {
            assert!(is_telling(shape), "{shape}");
        }
    }

    proptest! {
        #[test]
        fn no_command_makes_it_panic(words in proptest::collection::vec(".{0,20}", 0..6)) {
            drop(shape(&words));
        }
    }
}
