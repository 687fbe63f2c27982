//! The program: everything it does is in the library, where tests can reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    agar::main()
}
