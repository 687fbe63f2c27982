//! The program of a sandbox's keeper. It is started by agar and of no use to people.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(agar_jail::keeper::main())
}
