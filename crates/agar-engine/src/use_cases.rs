//! Every use case in one table, so that a test can prove that each has all its faces.

/// One use case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UseCase {
    /// Its function in this crate.
    pub name: &'static str,
    /// The command of the command line that is its face.
    pub command: &'static str,
    /// What it takes.
    pub request: &'static str,
    /// What it answers.
    pub answer: &'static str,
}

const fn case(
    name: &'static str,
    command: &'static str,
    request: &'static str,
    answer: &'static str,
) -> UseCase {
    UseCase {
        name,
        command,
        request,
        answer,
    }
}

/// All of them, in the order of the help.
pub const USE_CASES: &[UseCase] = &[
    case("try_change", "try", "TryRequest", "RunAnswer"),
    case("run", "run", "RunRequest", "RunAnswer"),
    case("create", "create", "CreateRequest", "CreateAnswer"),
    case("start", "create", "StartRequest", "StartAnswer"),
    case("exec", "exec", "ExecRequest", "ExecAnswer"),
    case("attach", "attach", "AttachRequest", "AttachAnswer"),
    case("batch", "batch", "BatchRequest", "BatchResult"),
    case("list", "ls", "ListRequest", "ListAnswer"),
    case("processes", "ps", "ProcessesRequest", "ProcessesAnswer"),
    case("logs", "logs", "LogsRequest", "LogsAnswer"),
    case("inspect", "inspect", "InspectRequest", "InspectAnswer"),
    case("copy_files", "cp", "CopyRequest", "CopyAnswer"),
    case("diff", "diff", "DiffRequest", "DiffAnswer"),
    case("check", "check", "CheckRequest", "CheckAnswer"),
    case(
        "confidence",
        "confidence",
        "ConfidenceRequest",
        "ConfidenceAnswer",
    ),
    case("show", "memory-show", "ShowRequest", "ShowAnswer"),
    case("search", "memory-search", "SearchRequest", "SearchAnswer"),
    case(
        "patterns",
        "memory-patterns",
        "FindingsRequest",
        "PatternsAnswer",
    ),
    case(
        "lessons",
        "memory-lessons",
        "FindingsRequest",
        "LessonsAnswer",
    ),
    case(
        "graduate",
        "memory-graduate",
        "GraduateRequest",
        "Graduation",
    ),
    case("forget", "memory-forget", "ForgetRequest", "ForgetAnswer"),
    case("note", "memory-note", "NoteRequest", "NoteText"),
    case("stats", "memory-stats", "", "Stats"),
    case("calibration", "memory-calibration", "", "CalibrationAnswer"),
    case("export", "memory-export", "ExportRequest", "ExportAnswer"),
    case("import", "memory-import", "ImportRequest", "Imported"),
    case(
        "experiments",
        "experiments-ls",
        "ExperimentsRequest",
        "ExperimentsAnswer",
    ),
    case(
        "show_experiment",
        "experiments-show",
        "ExperimentRequest",
        "ExperimentAnswer",
    ),
    case("run_search", "evolve-run", "EvolveRequest", "EvolveAnswer"),
    case(
        "resume_search",
        "evolve-resume",
        "ResumeSearchRequest",
        "EvolveAnswer",
    ),
    case("status", "evolve-status", "StatusRequest", "StatusAnswer"),
    case("best", "evolve-best", "BestRequest", "BestAnswer"),
    case(
        "lineage",
        "evolve-lineage",
        "LineageRequest",
        "LineageAnswer",
    ),
    case("plot", "evolve-plot", "PlotRequest", "PlotAnswer"),
    case("eval", "evolve-eval", "EvalRequest", "EvalAnswer"),
    case(
        "forget_search",
        "evolve-rm",
        "ForgetSearchRequest",
        "ForgetSearchAnswer",
    ),
    case(
        "penalise",
        "evolve-penalise",
        "PenaliseRequest",
        "PenaliseAnswer",
    ),
    case(
        "create_cell",
        "evolve-cells-create",
        "CellCreateRequest",
        "CellView",
    ),
    case("list_cells", "evolve-cells-ls", "", "CellsAnswer"),
    case(
        "cell_info",
        "evolve-cells-info",
        "CellInfoRequest",
        "CellView",
    ),
    case("run_cell", "evolve-cells-run", "CellRunRequest", "CellSaid"),
    case(
        "reload_cell",
        "evolve-cells-reload",
        "CellReloadRequest",
        "CellView",
    ),
    case(
        "cell_versions",
        "evolve-cells-versions",
        "CellInfoRequest",
        "CellVersionsAnswer",
    ),
    case(
        "rollback_cell",
        "evolve-cells-rollback",
        "CellRollbackRequest",
        "CellView",
    ),
    case(
        "restart_cell",
        "evolve-cells-restart",
        "CellRestartRequest",
        "CellView",
    ),
    case(
        "remove_cells",
        "evolve-cells-rm",
        "CellsRemoveRequest",
        "CellsRemoveAnswer",
    ),
    case("attempt", "serve", "AttemptRequest", "AttemptAnswer"),
    case("events", "serve", "EventsRequest", "EventsAnswer"),
    case("look", "serve", "LookRequest", "LookAnswer"),
    case("projects", "serve", "", "ProjectsAnswer"),
    case("suggest", "serve", "SuggestRequest", "SuggestionView"),
    case(
        "suggestions",
        "serve",
        "SuggestionsRequest",
        "SuggestionsAnswer",
    ),
    case(
        "move_suggestion",
        "serve",
        "MoveSuggestionRequest",
        "SuggestionView",
    ),
    case("apply", "apply", "ApplyRequest", "ApplyAnswer"),
    case("undo", "undo", "UndoRequest", "UndoAnswer"),
    case("snapshot", "snapshot", "SnapshotRequest", "SnapshotAnswer"),
    case(
        "snapshots",
        "snapshots",
        "SnapshotsRequest",
        "SnapshotsAnswer",
    ),
    case("restore", "restore", "RestoreRequest", "RestoreAnswer"),
    case("fork", "fork", "ForkRequest", "ForkAnswer"),
    case("tree", "tree", "TreeRequest", "TreeAnswer"),
    case("pause", "pause", "PauseRequest", "PauseAnswer"),
    case("resume", "resume", "ResumeRequest", "ResumeAnswer"),
    case("stop", "stop", "StopRequest", "StopAnswer"),
    case("remove", "rm", "RemoveRequest", "RemoveAnswer"),
    case("take_back", "restore", "TakeBackRequest", "TakeBackAnswer"),
    case("prune", "prune", "PruneRequest", "PruneAnswer"),
    case("doctor", "doctor", "DoctorRequest", "DoctorAnswer"),
    case("jail_plan", "jail", "JailPlanRequest", "JailPlanAnswer"),
    case("config", "config", "ConfigRequest", "ConfigAnswer"),
    case("init", "init", "InitRequest", "InitAnswer"),
    case("approve", "config", "ApproveRequest", "ApproveAnswer"),
];
