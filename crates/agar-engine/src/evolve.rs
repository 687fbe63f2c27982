//! Searches: populations that breed for a task, run, taken up again and looked at.
//!
//! What breeds and what cells are is `agar-evolve`'s business; this module gives a search its place
//! on disk. Each generation is one transaction, so a search that was killed goes on from the last
//! whole one, and comes to the same end as if nothing had happened.

mod eval;
mod failure;
mod keep;
mod lineage;
mod look;
mod run;
mod tables;
mod view;
mod wish;

pub use agar_evolve::search::{Bin, Census, Ended, Health};
pub use eval::{Candidate, EvalAnswer, EvalRequest, Scored, eval};
pub use failure::EvolveError;
pub use lineage::{LineageAnswer, LineageRequest, Relative, lineage};
pub use look::{
    BestAnswer, BestRequest, PlotAnswer, PlotRequest, StatusAnswer, StatusRequest, best, plot,
    status,
};
pub use run::{
    EvolveAnswer, EvolveRequest, ForgetSearchAnswer, ForgetSearchRequest, ResumeSearchRequest,
    forget_search, resume_search, run_search,
};
pub use view::{IndividualView, SearchState, SearchView};
pub use wish::{TaskWish, Wish};
