//! The words of a sandbox can be taken out of the records; what happened stays.

use crate::world::{World, at};
use agar_store::{Health, NewRun, check};

#[test]
fn forgotten_words_are_in_no_file_and_the_journal_keeps_its_numbers() {
    let mut world = World::new();
    let project = world.project("/src/shop").id;
    let sandbox = world.sandbox(project, "calm-fern").id;
    let other = world.sandbox(project, "calm-fox").id;
    for (id, word) in [(sandbox, "zanzibar"), (other, "kept-word")] {
        let argv = vec!["echo".to_owned(), word.to_owned()];
        world
            .store
            .write(|writer| {
                writer.set_note(id, Some(word), at(2))?;
                let run = NewRun {
                    sandbox: id,
                    argv: &argv,
                    cwd: "/src/shop".as_ref(),
                };
                writer.start_run(&run, at(2))
            })
            .unwrap();
    }
    let before = world
        .store
        .read()
        .journal_since(project, 0, 100)
        .unwrap()
        .len();
    assert!(world.store.scrub(project, &[sandbox], None).unwrap());
    let mut text = Vec::new();
    for entry in fs_err::read_dir(world.directory.path()).unwrap() {
        text.extend(fs_err::read(entry.unwrap().path()).unwrap());
    }
    let holds = |word: &str| text.windows(word.len()).any(|at| at == word.as_bytes());
    assert!(!holds("zanzibar"));
    assert!(holds("kept-word"));
    let read = world.store.read();
    assert_eq!(read.journal_since(project, 0, 100).unwrap().len(), before);
    assert_eq!(read.runs(sandbox).unwrap()[0].argv, ["[forgotten]"]);
    assert_eq!(check(&world.path()).unwrap(), Health::Sound);
    // The journal is as guarded as before.
    let raw = rusqlite::Connection::open(world.path()).unwrap();
    assert!(raw.execute("UPDATE journal SET kind = 'x'", []).is_err());
}
