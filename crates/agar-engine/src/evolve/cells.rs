//! Cells that last: individuals by name whose code is swapped while their state goes on.
//!
//! There is no daemon. Between two commands a cell sleeps in the project's database; a command wakes
//! it, does one thing, and writes down what it has become, in one transaction. A command that is
//! killed has done nothing. Commands for the same cell wait for each other.

mod act;
mod keep;
mod load;
mod post;
mod shadow;
mod view;

pub use act::{
    CellCreateRequest, CellReloadRequest, CellRestartRequest, CellRollbackRequest, CellRunRequest,
    CellSaid, CellsRemoveAnswer, CellsRemoveRequest, create_cell, reload_cell, remove_cells,
    restart_cell, rollback_cell, run_cell,
};
pub use post::{
    CellAnswered, CellSendRequest, CellSent, CellWorkRequest, CellWorked, send_to_cell,
    work_of_cell,
};
pub use shadow::{CellShadowRequest, shadow_cell};
pub use view::{
    CellInfoRequest, CellVersionView, CellVersionsAnswer, CellView, CellsAnswer, ShadowView,
    cell_info, cell_versions, list_cells,
};
