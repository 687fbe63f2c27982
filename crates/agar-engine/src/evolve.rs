//! Searches: populations that breed for a task, run, taken up again and looked at.
//!
//! What breeds and what cells are is `agar-evolve`'s business; this module gives a search its place
//! on disk. Each generation is one transaction, so a search that was killed goes on from the last
//! whole one, and comes to the same end as if nothing had happened.

mod cells;
mod course;
mod eval;
mod failure;
mod keep;
mod lineage;
mod look;
mod outside;
mod penalise;
mod run;
mod tables;
mod view;
mod watch;
mod wish;

pub use agar_evolve::dish::ShadowVerdict;
pub use agar_evolve::outside::Said;
pub use agar_evolve::search::{Bin, Census, Ended, Health};
pub use agar_evolve::{Condition, Metrics};
pub use cells::{
    CellAnswered, CellCreateRequest, CellInfoRequest, CellReloadRequest, CellRestartRequest,
    CellRollbackRequest, CellRunRequest, CellSaid, CellSendRequest, CellSent, CellShadowRequest,
    CellVersionView, CellVersionsAnswer, CellView, CellWorkRequest, CellWorked, CellsAnswer,
    CellsRemoveAnswer, CellsRemoveRequest, ShadowView, cell_info, cell_versions, create_cell,
    list_cells, reload_cell, remove_cells, restart_cell, rollback_cell, run_cell, send_to_cell,
    shadow_cell, work_of_cell,
};
pub use eval::{Candidate, EvalAnswer, EvalRequest, Scored, eval};
pub use failure::EvolveError;
pub use lineage::{LineageAnswer, LineageRequest, Relative, lineage};
pub use look::{
    BestAnswer, BestRequest, PlotAnswer, PlotRequest, StatusAnswer, StatusRequest, best, plot,
    status,
};
pub use outside::OutsideWish;
pub use penalise::{PenaliseAnswer, PenaliseRequest, penalise};
pub use run::{
    EvolveAnswer, EvolveRequest, ForgetSearchAnswer, ForgetSearchRequest, ResumeSearchRequest,
    forget_search, resume_search, run_search,
};
pub use view::{IndividualView, SearchState, SearchView};
pub use wish::{TaskWish, Wish};
