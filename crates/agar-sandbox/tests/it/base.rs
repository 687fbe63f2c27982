//! A frozen base is the project at one moment, whatever happens to the project afterwards.

use crate::desk::{Desk, tree};
use agar_core::walls::BaseKind;
use agar_sandbox::base::{BulkReason, Choice, Silent};
use agar_testkit::Tree;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

#[test]
fn the_first_generation_is_the_whole_project() {
    let desk = Desk::new();
    desk.write("src/main.rs", "fn main() {}\n");
    desk.write("a b/\u{e9}\n", "odd");
    symlink("../nowhere", desk.shop().join("src/link")).unwrap();
    fs_err::create_dir_all(desk.shop().join("empty")).unwrap();
    let mode = std::fs::Permissions::from_mode(0o550);
    std::fs::set_permissions(desk.shop().join("src/main.rs"), mode).unwrap();
    let prepared = desk.freeze();
    assert_eq!((prepared.generation, prepared.lowers.len()), (Some(0), 1));
    assert_eq!(desk.merged(&prepared).difference(&tree(&desk.shop())), "");
}

#[test]
fn nothing_changed_means_the_same_generation() {
    let desk = Desk::new();
    desk.write("a", "1");
    let first = desk.freeze();
    let second = desk.freeze();
    assert_eq!(
        (first.generation, first.lowers),
        (second.generation, second.lowers)
    );
}

#[test]
fn a_later_generation_holds_only_what_changed() {
    let desk = Desk::new();
    for name in [
        "kept",
        "dir/kept",
        "dir/edited",
        "dir/gone",
        "saved",
        "gone/deep/file",
    ] {
        desk.write(name, name);
    }
    let first = desk.freeze();
    let picture = desk.merged(&first);
    desk.write("dir/edited", "edited in place");
    desk.write("saved.tmp", "saved atomically");
    fs_err::rename(desk.shop().join("saved.tmp"), desk.shop().join("saved")).unwrap();
    fs_err::remove_file(desk.shop().join("dir/gone")).unwrap();
    fs_err::remove_dir_all(desk.shop().join("gone")).unwrap();
    desk.write("new/file", "new");
    let second = desk.freeze();
    assert_eq!(second.generation, Some(1));
    assert_eq!(desk.merged(&second).difference(&tree(&desk.shop())), "");
    assert_eq!(
        desk.merged(&first).difference(&picture),
        "",
        "the earlier one is unchanged"
    );
    let layer: Vec<_> = Tree::read(&second.lowers[0])
        .paths()
        .map(Path::to_owned)
        .collect();
    let expected = [
        "dir",
        "dir/edited",
        "dir/gone",
        "gone",
        "new",
        "new/file",
        "saved",
    ]
    .map(PathBuf::from);
    assert_eq!(layer, expected);
}

#[test]
fn what_becomes_something_else_is_shown_as_what_it_is() {
    let desk = Desk::new();
    for name in ["x/file", "y", "z/deep/er", "l/inner"] {
        desk.write(name, name);
    }
    desk.freeze();
    fs_err::remove_dir_all(desk.shop().join("x")).unwrap();
    desk.write("x", "a file now");
    fs_err::remove_file(desk.shop().join("y")).unwrap();
    desk.write("y/inside", "a directory now");
    fs_err::remove_dir_all(desk.shop().join("z")).unwrap();
    symlink("y", desk.shop().join("z")).unwrap();
    let second = desk.freeze();
    assert_eq!(desk.merged(&second).difference(&tree(&desk.shop())), "");
    // And back again, over the layer that hid them.
    fs_err::remove_file(desk.shop().join("x")).unwrap();
    desk.write("x/other", "other");
    fs_err::remove_file(desk.shop().join("z")).unwrap();
    fs_err::create_dir_all(desk.shop().join("z/deep")).unwrap();
    fs_err::remove_dir_all(desk.shop().join("l")).unwrap();
    let third = desk.freeze();
    desk.write("l/fresh", "");
    let fourth = desk.freeze();
    assert_eq!(fourth.lowers.len(), 4);
    assert_eq!(third.lowers.len(), 3);
    assert_eq!(desk.merged(&fourth).difference(&tree(&desk.shop())), "");
}

#[test]
fn random_trees_stay_themselves_through_random_edits() {
    for seed in 0..12 {
        let desk = Desk::new();
        let mut random = agar_testkit::random::Random::new(seed);
        agar_testkit::random::tree(&mut random, &desk.shop(), 40);
        let mut pictures = vec![(desk.freeze(), tree(&desk.shop()))];
        for _ in 0..5 {
            let paths = tree(&desk.shop()).paths();
            for operation in agar_testkit::random::operations(&mut random, &paths, 12) {
                operation.apply(&desk.shop());
            }
            pictures.push((desk.freeze(), tree(&desk.shop())));
        }
        for (prepared, picture) in &pictures {
            let difference = desk.merged(prepared).difference(picture);
            assert_eq!(
                difference, "",
                "seed {seed}, generation {:?}",
                prepared.generation
            );
        }
    }
}

#[test]
fn hard_links_holes_and_attributes_survive() {
    let desk = Desk::new();
    desk.write("one", "shared");
    std::fs::hard_link(desk.shop().join("one"), desk.shop().join("two")).unwrap();
    let hole = fs_err::File::create(desk.shop().join("hole")).unwrap();
    hole.set_len(64 << 20).unwrap();
    let name = c"user.agar.test";
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(desk.shop().join("one"), name, b"v", flags).unwrap();
    rustix::fs::setxattr(desk.shop().join("two"), c"user.overlay.opaque", b"y", flags).unwrap();
    let layer = desk.freeze().lowers.remove(0);
    let at = |name: &str| layer.join(name).metadata().unwrap();
    assert_eq!((at("one").ino(), at("one").nlink()), (at("two").ino(), 2));
    assert_eq!(at("hole").len(), 64 << 20);
    assert!(at("hole").blocks() < 1000, "holes stay holes");
    let mut value = [0; 8];
    let length = rustix::fs::getxattr(layer.join("two"), name, &mut value).unwrap();
    assert_eq!(&value[..length], b"v");
    let overlay = rustix::fs::getxattr(layer.join("one"), c"user.overlay.opaque", &mut value);
    assert!(
        overlay.is_err(),
        "a project's own overlay marks are not obeyed"
    );
}

#[test]
fn sockets_are_left_out_by_name_and_pipes_are_made_again() {
    let desk = Desk::new();
    let _listener = std::os::unix::net::UnixListener::bind(desk.shop().join("agent")).unwrap();
    let kind = rustix::fs::FileType::Fifo;
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, desk.shop().join("pipe"), kind, mode, 0).unwrap();
    let prepared = desk.freeze();
    assert_eq!(prepared.notes, ["agent: a socket, not in the picture"]);
    let names = tree(&prepared.lowers[0]).paths();
    assert_eq!(names, [PathBuf::from("pipe")]);
    assert_eq!(desk.freeze().generation, prepared.generation);
    // A file in whose place a socket appears is hidden.
    desk.write("file", "");
    desk.freeze();
    fs_err::remove_file(desk.shop().join("file")).unwrap();
    let _other = std::os::unix::net::UnixListener::bind(desk.shop().join("file")).unwrap();
    let names = desk.merged(&desk.freeze()).paths();
    assert_eq!(names, [PathBuf::from("pipe")]);
}

#[test]
fn heavy_caches_stay_live_and_are_named() {
    let desk = Desk::new();
    desk.write("src/lib.rs", "");
    for number in 0..1100 {
        desk.write(&format!("web/node_modules/p{number}/index.js"), "");
    }
    desk.write("other/node_modules/small/index.js", "");
    let prepared = desk.freeze();
    let bulk: Vec<_> = prepared
        .bulk
        .iter()
        .map(|bulk| (bulk.path.as_path(), bulk.reason))
        .collect();
    assert_eq!(bulk, [(Path::new("web/node_modules"), BulkReason::Cache)]);
    let layer = &prepared.lowers[0];
    assert_eq!(
        layer.join("web/node_modules").read_dir().unwrap().count(),
        0
    );
    assert!(layer.join("other/node_modules/small/index.js").is_file());
    desk.write("web/node_modules/p1/index.js", "changed");
    assert_eq!(desk.freeze().generation, prepared.generation);
}

#[test]
fn a_directory_that_grew_into_bulk_is_emptied_in_the_next_picture() {
    let desk = Desk::new();
    desk.write("node_modules/a/index.js", "");
    desk.freeze();
    for number in 0..1100 {
        desk.write(&format!("node_modules/p{number}"), "");
    }
    let second = desk.freeze();
    assert_eq!(second.bulk.len(), 1);
    let names = desk.merged(&second).paths();
    assert_eq!(names, [PathBuf::from("node_modules")]);
}

#[test]
fn a_quick_choice_freezes_a_small_project_and_lets_a_big_one_live() {
    let desk = Desk::new();
    desk.write("a", "1");
    let quick =
        |desk: &Desk| desk.with_bases(|bases| bases.prepare(Choice::Quick, &Silent).unwrap());
    assert_eq!(quick(&desk).kind, BaseKind::Frozen);
    let big = Desk::new();
    for number in 0..9000 {
        big.write(&format!("d{}/f{number}", number / 100), "");
    }
    let live = quick(&big);
    assert_eq!((live.kind, live.freeze_later), (BaseKind::Live, true));
    assert_eq!(live.lowers, [big.shop()]);
    let by_name = big.with_bases(|bases| bases.prepare(Choice::Live, &Silent).unwrap());
    assert_eq!(
        (by_name.kind, by_name.freeze_later),
        (BaseKind::Live, false)
    );
    big.with_bases(|bases| bases.freeze(&Silent).unwrap());
    assert_eq!(quick(&big).kind, BaseKind::Frozen);
}

#[test]
fn what_cannot_be_read_is_named_and_not_shown_as_it_was() {
    if !agar_testkit::Caller::current().is_ordinary() {
        // Root reads everything.
        return;
    }
    let desk = Desk::new();
    for name in ["secret", "closed/file", "names/file", "kept"] {
        desk.write(name, name);
    }
    desk.freeze();
    for (name, mode) in [("secret", 0o000), ("closed", 0o300), ("names", 0o600)] {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(desk.shop().join(name), mode).unwrap();
    }
    let prepared = desk.freeze();
    let note = "secret, closed, names: not readable, not in the picture";
    assert_eq!(prepared.notes, [note]);
    let names = desk.merged(&prepared).paths();
    assert_eq!(names, ["closed", "kept", "names"].map(PathBuf::from));
    for name in ["closed", "names"] {
        let mode = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(desk.shop().join(name), mode).unwrap();
    }
}
