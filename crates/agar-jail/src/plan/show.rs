//! A plan in the words of `agar jail plan`.

use super::{IdMap, LayerApi, Plan, Root, Step};
use crate::wire::Raw;
use std::fmt;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "tier      {}", self.policy.tier)?;
        writeln!(f, "network   {}", self.policy.network.word())?;
        let (uid, gid) = (self.ids.uid, self.ids.gid);
        match self.ids.map {
            IdMap::Same => writeln!(f, "ids       {uid}:{gid} as they are")?,
            IdMap::Root => writeln!(f, "ids       {uid}:{gid} called root")?,
            IdMap::Everyone => writeln!(f, "ids       all as they are, running as {uid}:{gid}")?,
        }
        let layers = match self.layers {
            LayerApi::Fsconfig => "one by one",
            LayerApi::Options => "as mount options",
        };
        writeln!(f, "layers    {layers}")?;
        for step in &self.before {
            writeln!(f, "{step}")?;
        }
        match self.root {
            Root::ReadOnly => writeln!(f, "ro        /")?,
            Root::Staged => writeln!(f, "root      as staged")?,
            Root::Helper => writeln!(f, "root      by bubblewrap")?,
            Root::Host => writeln!(f, "root      the host's own")?,
        }
        for copied in &self.policy.copies {
            writeln!(f, "copy      {} in {}", copied.target, copied.copy)?;
        }
        for step in &self.steps {
            writeln!(f, "{step}")?;
        }
        write!(f, "hold      {} capabilities", self.capabilities.len())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overlay {
                target,
                upper,
                masks,
                lowers,
            } => {
                let word = if upper.is_some() { "cow" } else { "cover" };
                write!(f, "{word:9} {target}")?;
                if upper.is_some() {
                    write!(f, " ({} layers)", lowers.len() + 1)?;
                }
                masks.iter().try_for_each(|mask| {
                    let path = target.as_path().join(mask.as_path());
                    write!(f, "\nmask      {}", Raw::from(path))
                })
            }
            Self::Directory { target } => write!(f, "mkdir     {target}"),
            Self::Fresh { target, mode } => write!(f, "fresh     {target} {mode:o}"),
            Self::Proc => write!(f, "fresh     /proc"),
            Self::Devices => write!(f, "fresh     /dev"),
            Self::EmptySys => write!(f, "empty     /sys"),
            Self::ForbidNamespaces => write!(f, "forbid    user namespaces"),
            Self::Tree { target } | Self::ReadOnly { target } => write!(f, "ro        {target}"),
            Self::Hide { target } => write!(f, "hide      {target}"),
            Self::CopyFile { target } => write!(f, "copy      {target}"),
        }
    }
}
