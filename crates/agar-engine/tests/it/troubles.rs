//! Why a sandbox could not do what it was made for: kept beside it, without secrets, until it is asked for more.

use crate::desk::Desk;
use agar_engine::create::{CreateRequest, create};
use agar_engine::trouble::{clear_trouble, note_trouble, trouble};

#[test]
fn a_reason_is_kept_short_and_without_secrets_until_it_is_cleared() {
    let desk = Desk::new();
    let engine = desk.engine();
    let id = create(&engine, &CreateRequest::default())
        .unwrap()
        .sandbox
        .id;
    assert_eq!(trouble(&engine, id).unwrap(), None);

    let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let told = format!("the setup command `login {secret}` failed");
    note_trouble(&engine, id, &told).unwrap();
    let kept = trouble(&engine, id).unwrap().unwrap();
    assert!(kept.starts_with("the setup command `login "), "{kept}");
    assert!(!kept.contains(&secret), "{kept}");

    // Cut where a letter ends.
    note_trouble(&engine, id, &"ä".repeat(5000)).unwrap();
    assert_eq!(trouble(&engine, id).unwrap(), Some("ä".repeat(2048)));

    clear_trouble(&engine, id).unwrap();
    clear_trouble(&engine, id).unwrap();
    assert_eq!(trouble(&engine, id).unwrap(), None);
}
