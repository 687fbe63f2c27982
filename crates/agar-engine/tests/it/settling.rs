//! Settings: shown, begun, approved.

use crate::desk::Desk;
use agar_core::fault::{Fault as _, Kind};
use agar_engine::approve::{ApproveRequest, approve};
use agar_engine::config::{ConfigRequest, config};
use agar_engine::init::{InitRequest, init};
use agar_engine::jail_plan::{JailPlanRequest, jail_plan};

#[test]
fn each_value_says_where_it_came_from() {
    let desk = Desk::new();
    desk.write("agar.toml", "[limits]\nmemory = \"1G\"\n");
    let request = ConfigRequest {
        key: Some("limits".to_owned()),
    };
    let answer = config(&desk.engine(), &request).unwrap();
    let memory = answer
        .settings
        .iter()
        .find(|it| it.key == "limits.memory")
        .unwrap();
    assert!(memory.origin.ends_with("agar.toml"), "{memory:?}");
    let request = ConfigRequest {
        key: Some("limits.memroy".to_owned()),
    };
    let error = config(&desk.engine(), &request).unwrap_err();
    assert_eq!(error.kind(), Kind::NotFound);
    assert!(error.remedy().is_some());
}

#[test]
fn a_settings_file_is_written_once() {
    let desk = Desk::new();
    desk.write("Cargo.toml", "[package]\nname = \"x\"\n");
    let answer = init(&desk.engine(), &InitRequest::default()).unwrap();
    assert_eq!(answer.kinds, ["cargo"]);
    assert_eq!(desk.read("agar.toml"), answer.text);
    let error = init(&desk.engine(), &InitRequest::default()).unwrap_err();
    assert_eq!(error.kind(), Kind::Conflict);
    config(&desk.engine(), &ConfigRequest::default()).unwrap();
}

#[test]
fn loosening_settings_wait_for_consent_to_exactly_that_content() {
    let desk = Desk::new();
    desk.write("agar.toml", "network = \"host\"\n");
    let held = config(&desk.engine(), &ConfigRequest::default()).unwrap();
    assert_eq!(held.unapproved.len(), 1, "{held:?}");
    let asked = approve(&desk.engine(), &ApproveRequest::default()).unwrap();
    assert!(!asked.approved);
    let consent = ApproveRequest {
        hash: Some(asked.hash),
    };
    assert!(approve(&desk.engine(), &consent).unwrap().approved);
    let loose = config(&desk.engine(), &ConfigRequest::default()).unwrap();
    assert_eq!(loose.unapproved, [] as [&str; 0]);
    desk.write("agar.toml", "network = \"host\"\nnested = true\n");
    let again = config(&desk.engine(), &ConfigRequest::default()).unwrap();
    assert!(!again.unapproved.is_empty());
    assert!(approve(&desk.engine(), &consent).is_err());
}

#[test]
fn a_jail_is_planned_without_being_built() {
    let desk = Desk::new();
    let answer = jail_plan(&desk.engine(), &JailPlanRequest::default()).unwrap();
    assert!(answer.text.contains("tier") || !answer.text.is_empty());
    assert!(answer.plan.is_object());
    assert_eq!(desk.left_in_state("sandboxes"), 0);
}

#[test]
fn this_machine_is_examined_by_trying() {
    use agar_engine::doctor::{DoctorRequest, doctor};
    let desk = Desk::new();
    let answer = doctor(&desk.engine(), &DoctorRequest { tries: Some(1) }).unwrap();
    assert_eq!(
        answer.tier,
        Some(agar_core::walls::Tier::Full),
        "{answer:#?}"
    );
    assert!(
        answer
            .findings
            .iter()
            .any(|finding| finding.name == "cgroups")
    );
}
