//! Allowing a tree except some of its paths, for a mechanism that can only allow.
//!
//! Landlock has no exceptions: a rule for a directory covers all below it. To leave a path out, its
//! siblings are allowed one by one, and so are those of each directory above it.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// How many rules a wall may have. A machine that needs more has a mask list that was not meant for
/// this tier, and a command that starts in seconds.
const RULES_MAX: usize = 20_000;

/// The fewest trees that cover everything below `root` except the masked paths, in order.
///
/// What appears later beside a masked path is not covered; nothing is covered twice. Directories
/// that cannot be listed are left out whole.
pub fn around(root: &Path, masked: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let masked = every_name(masked, root);
    if masked.contains(root) {
        return Ok(Vec::new());
    }
    if masked.is_empty() {
        return Ok(vec![root.to_owned()]);
    }
    let mut covered = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        let Ok(entries) = directory.read_dir() else {
            continue;
        };
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            // A rule for a symbolic link would be a rule for what it points to, mask or not.
            if masked.contains(path.as_path()) || entry.file_type()?.is_symlink() {
                continue;
            }
            if masked.iter().any(|mask| mask.starts_with(&path)) {
                pending.push(path);
            } else {
                covered.push(path);
            }
        }
        if covered.len() > RULES_MAX {
            return Err(io::Error::other("too many files lie beside masked ones"));
        }
    }
    covered.sort();
    Ok(covered)
}

/// The masked paths below `root`, as given and as they really lie: a mask on a symbolic link masks
/// what it points to.
fn every_name(masked: &[PathBuf], root: &Path) -> BTreeSet<PathBuf> {
    let real = masked.iter().filter_map(|path| path.canonicalize().ok());
    masked
        .iter()
        .cloned()
        .chain(real)
        .filter(|path| path.starts_with(root))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(trees: &[PathBuf], root: &Path) -> Vec<String> {
        trees
            .iter()
            .map(|tree| tree.strip_prefix(root).unwrap().display().to_string())
            .collect()
    }

    #[test]
    fn everything_but_the_masked_is_covered_by_the_fewest_trees() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for file in ["home/.ssh/id", "home/notes/a", "home/b", "etc/passwd"] {
            let path = root.join(file);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, "").unwrap();
        }
        let mask = [root.join("home/.ssh")];
        let covered = around(root, &mask).unwrap();
        assert_eq!(names(&covered, root), ["etc", "home/b", "home/notes"]);
    }

    #[test]
    fn a_link_to_a_masked_path_does_not_uncover_it() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        fs_err::create_dir_all(root.join("secret")).unwrap();
        fs_err::create_dir_all(root.join("open")).unwrap();
        std::os::unix::fs::symlink(root.join("secret"), root.join("door")).unwrap();
        let covered = around(root, &[root.join("secret")]).unwrap();
        assert_eq!(names(&covered, root), ["open"]);
    }

    #[test]
    fn a_mask_on_a_link_masks_what_it_points_to() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        fs_err::create_dir_all(root.join("dotfiles/keys")).unwrap();
        fs_err::create_dir_all(root.join("dotfiles/vim")).unwrap();
        std::os::unix::fs::symlink("dotfiles/keys", root.join(".ssh")).unwrap();
        let covered = around(root, &[root.join(".ssh")]).unwrap();
        assert_eq!(names(&covered, root), ["dotfiles/vim"]);
    }

    #[test]
    fn without_masks_the_root_is_enough() {
        let root = Path::new("/");
        assert_eq!(around(root, &[]).unwrap(), [root]);
    }

    #[test]
    fn a_masked_root_leaves_nothing() {
        let root = Path::new("/tmp");
        assert!(around(root, &[root.to_owned()]).unwrap().is_empty());
    }
}
