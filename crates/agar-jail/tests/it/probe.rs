//! What this machine can do, as the doctor asks.

#[test]
fn every_mechanism_is_tried_for_real() {
    let directory = tempfile::tempdir().unwrap();
    let scratch = directory.path().join("scratch");
    fs_err::create_dir(&scratch).unwrap();
    let probe = agar_jail::probe::probe(&directory.path().join("program"), &scratch).unwrap();
    assert_eq!(probe.namespaces.len(), 7);
    assert!(probe.is_full(), "{probe:?}");
    assert!(
        probe.layers.works() && probe.layers_by_options.works(),
        "{probe:?}"
    );
    // The trial left its marks where it was told to, so it did happen.
    let mark = fs_err::symlink_metadata(scratch.join("one by one/upper/below")).unwrap();
    assert!(std::os::unix::fs::FileTypeExt::is_char_device(
        &mark.file_type()
    ));
    agar_testkit::leaks::remove_tree(directory.path());
}
