//! A sandbox that lives through very many snapshots.

use crate::travelling::Yard;
use agar_engine::snapshots::{SnapshotsRequest, snapshots};
use agar_engine::upkeep::{UpkeepRequest, upkeep};

/// More than the kernel takes layers.
const MANY: u32 = 520;

#[test]
fn five_hundred_snapshots_can_all_be_returned_to() {
    let yard = Yard::new();
    yard.create("calm-fern");
    for number in 1..=MANY {
        // Nothing but what changes between two of them tells them apart.
        yard.say(
            "calm-fern",
            &format!("echo {number} >count; rm -f made-*; : >made-{number}"),
        );
        yard.snapshot("calm-fern", &format!("n{number}"));
        if number == 300 {
            // From here on nobody joins layers in the background.
            upkeep(&yard.engine, &UpkeepRequest::default()).unwrap();
        }
    }
    let request = SnapshotsRequest {
        sandbox: Some("calm-fern".to_owned()),
    };
    let all = snapshots(&yard.engine, &request).unwrap().snapshots;
    assert_eq!(all.len(), MANY as usize);
    for number in [1, 17, 256, 300, 301, MANY] {
        yard.restore(&format!("calm-fern@n{number}"));
        let shown = yard.say("calm-fern", "cat count; ls");
        assert_eq!(
            shown,
            format!("{number}\ncount\nfile\nmade-{number}\nsrc\n")
        );
    }
    yard.fork("calm-fern@n128", "fork");
    assert_eq!(yard.say("fork", "cat count file"), "128\nbase\n");
}
