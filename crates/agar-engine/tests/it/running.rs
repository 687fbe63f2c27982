//! `run`: one command, its end, and nothing left.

use crate::desk::Desk;
use agar_core::run::End;

#[test]
fn a_command_runs_inside_and_its_output_comes_out() {
    let desk = Desk::new();
    fs_err::write(desk.project().join("a.txt"), "from the host\n").unwrap();
    let (answer, output) = desk.run("cat a.txt; echo changed > a.txt; pwd");
    assert_eq!(answer.run.end, Some(End::Exited { code: 0 }), "{answer:#?}");
    let project = desk.project().canonicalize().unwrap();
    assert_eq!(output, format!("from the host\n{}\n", project.display()));
    let outside = fs_err::read_to_string(desk.project().join("a.txt")).unwrap();
    assert_eq!(outside, "from the host\n");
    assert!(answer.kept);
}
