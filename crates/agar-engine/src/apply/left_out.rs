//! What an application leaves where it is, and what is on record of that.

use super::{ApplyRequest, Destination, Merge, Wanted, relative};
use crate::unpromoted::LEFT_OUT;
use crate::{EngineError, promotion, view};
use agar_sandbox::change::ChangeSet;
use agar_sandbox::change::git::Repository;
use agar_sandbox::merge::Choice;
use agar_sandbox::promote::{Outcome, Planned, Proposal};
use std::collections::BTreeSet;
use std::path::Path;

impl Wanted<'_> {
    /// Says what became of the changes where the promotions on record do not, or not all of it.
    pub(super) fn conclude(&self) -> Result<(), EngineError> {
        let to_branch = matches!(self.request.destination, Destination::Branch { .. });
        self.here.write(|store| {
            for (id, root) in &self.made {
                store.amend_promotion(*id, &self.summary(root))?;
            }
            if self.left_out == 0 && !to_branch {
                promotion::promote_sandbox(self.engine, store, self.record.id)?;
            }
            Ok(())
        })
    }

    /// What a promotion says of itself.
    pub(super) fn summary(&self, root: &Path) -> serde_json::Value {
        let count = |wanted: Merge| {
            let files = self.answer.files.iter();
            files.filter(|file| file.merge == wanted).count()
        };
        serde_json::json!({
            "root": view::shown(root),
            "clean": count(Merge::Clean),
            "merged": count(Merge::Merged),
            "chosen": count(Merge::Chosen),
            LEFT_OUT: self.left_out + self.outstanding,
        })
    }
}

/// The repositories of the project in which something was committed inside.
pub(super) fn repositories(set: &ChangeSet) -> impl Iterator<Item = &Repository> {
    let repositories = set.repositories.iter();
    repositories.filter(|it| !it.outside && it.holds_work())
}

/// How many changes a proposal carries.
pub(super) fn carried(proposal: Option<&Proposal>) -> u64 {
    let planned = proposal.into_iter().flat_map(Proposal::files);
    planned.filter(|planned| is_carried(planned)).count() as u64
}

/// How many changes are not in the project afterwards: what nobody asked for, what may not be
/// carried, what lost to the project's side, and what could not be read.
///
/// A path of which hunks were picked counts, whether or not these were all.
pub(super) fn count(
    request: &ApplyRequest,
    set: &ChangeSet,
    (project, outside): (&Proposal, Option<&Proposal>),
) -> u64 {
    let carried: BTreeSet<&Path> = outside
        .iter()
        .flat_map(|proposal| proposal.files())
        .filter(|planned| is_carried(planned))
        .map(Planned::path)
        .collect();
    let left_outside = set
        .outside
        .iter()
        .filter(|change| !change.masked && !carried.contains(relative(&change.path).as_path()));
    let left = project.files().iter().filter(|it| !is_carried(it));
    let repositories = set.repositories.iter();
    let counts = [
        left.count(),
        left_outside.count(),
        repositories
            .filter(|it| it.outside && it.holds_work())
            .count(),
        request.hunks.len(),
        set.unread.len(),
    ];
    counts.iter().sum::<usize>() as u64
}

const fn is_carried(planned: &Planned) -> bool {
    match planned.outcome {
        Outcome::Clean
        | Outcome::Merged
        | Outcome::AlreadyThere
        | Outcome::Chosen(Choice::Theirs | Choice::Markers) => true,
        Outcome::Chosen(Choice::Mine) | Outcome::Conflict(_) | Outcome::LeftOut(_) => false,
    }
}
