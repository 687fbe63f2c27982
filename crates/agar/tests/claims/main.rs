//! The claims of the threat model, each attacked on the real kernel by the real command.
//!
//! One file a claim, named by its number. Every file shows both halves: what must not work from
//! inside does not, and what must work does; a wall that stops everything proves nothing.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test whose world cannot be set up must stop there and say why"
)]

mod attack;
mod c01_writes_stay_inside;
mod c02_masked_secrets_stay_hidden;
mod c03_no_network;
mod c04_processes_outside_are_out_of_reach;
mod c05_nothing_outlives_its_sandbox;
mod c06_limits_hold;
mod c07_sandboxes_share_no_channel;
mod c08_no_edit_is_lost;
mod c09_applied_once;
mod c10_never_half_applied;
mod c11_a_crash_leaves_nothing;
mod c12_bad_input_is_refused_clearly;
mod c13_walls_are_never_weakened_silently;
mod c14_the_environment_is_an_allow_list;
mod c15_a_project_cannot_loosen_its_own_walls;
mod c16_output_cannot_drive_the_terminal;
mod c17_only_the_owner_reaches_a_sandbox;
mod c18_a_snapshot_is_whole_or_absent;
mod c19_only_the_person_reaches_the_server;
mod c20_no_request_reaches_outside_a_sandbox;
mod c21_no_client_stands_in_the_way;
mod kill;

/// The command under test.
const AGAR: &str = env!("CARGO_BIN_EXE_agar");
