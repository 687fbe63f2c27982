//! The rows themselves, by what they are about.

use super::{Answer, Row, Shapes};
use crate::app::App;
use crate::v1::{
    changes, events, exec, files, memory, populations, sandboxes, suggestions, terminal, travel,
    usage,
};
use crate::{guests, page, seed};
use axum::routing::{MethodRouter, delete, get, post, put};
use utoipa::ToSchema;

/// A type's schema, and those that it refers to.
fn shape<T: ToSchema>() -> Shapes {
    let mut shapes = vec![(T::name().into_owned(), T::schema())];
    T::schemas(&mut shapes);
    shapes
}

const fn row(
    (method, path): (&'static str, &'static str),
    summary: &'static str,
    answer: Answer,
    handler: fn() -> MethodRouter<App>,
) -> Row {
    Row {
        method,
        path,
        summary,
        query: &[],
        body: None,
        status: 200,
        answer,
        handler,
    }
}

impl Row {
    const fn told(self, body: fn() -> Shapes) -> Self {
        Self {
            body: Some(body),
            ..self
        }
    }

    const fn asked(self, query: &'static [&'static str]) -> Self {
        Self { query, ..self }
    }

    const fn created(self) -> Self {
        Self {
            status: 201,
            ..self
        }
    }

    const fn upgraded(self) -> Self {
        Self {
            status: 101,
            ..self
        }
    }

    const fn elsewhere(self) -> Self {
        Self {
            status: 303,
            ..self
        }
    }

    const fn empty(self) -> Self {
        Self {
            status: 204,
            ..self
        }
    }
}

/// Rows, each as `method path summary => answer, handler, told Body, asked [words] => status`.
macro_rules! rows {
    ($(
        $method:ident $path:literal $summary:literal => $answer:expr, $handler:path
        $(, told $body:ty)? $(, asked [$($word:literal)*])? $(=> $status:ident)?;
    )*) => {
        vec![$(
            row((stringify!($method), $path), $summary, $answer, || $method($handler))
                $(.told(shape::<$body>))? $(.asked(&[$($word),*]))? $(.$status())?
        ),*]
    };
}

/// Every route.
pub(crate) fn table() -> Vec<Row> {
    let mut rows = of_the_seed();
    rows.extend(of_sandboxes());
    rows.extend(of_changes());
    rows.extend(of_learning());
    rows.extend(of_suggestions());
    rows.extend(of_the_server());
    rows
}

fn of_the_seed() -> Vec<Row> {
    use Answer::{Own, Stream};
    rows! {
        post "/api/sandbox/create" "Try a suggestion in a sandbox"
            => Own(shape::<seed::Created>), seed::create, told seed::CreateBody => created;
        get "/api/sandbox/{id}/status" "How a sandbox is doing"
            => Own(shape::<seed::Standing>), seed::status;
        get "/api/sandbox/{id}/stream" "What happens in a sandbox and what its commands print"
            => Stream, seed::stream, asked ["after"];
        post "/api/sandbox/{id}/execute" "Run a command in a sandbox"
            => Own(shape::<seed::Executed>), seed::execute, told seed::ExecuteBody;
        post "/api/sandbox/{id}/finalize" "Accept or reject what a sandbox changed"
            => Own(shape::<seed::Finalized>), seed::finalize, told seed::FinalizeBody;
        get "/api/memory/sandbox/{id}" "What a sandbox remembers"
            => Own(shape::<seed::OfSandbox>), seed::of_sandbox;
        post "/api/memory/graduate" "Let what has earned it enter the project's memory"
            => Own(shape::<seed::Graduated>), seed::graduate, told seed::GraduateBody;
        get "/api/memory/lessons" "Lessons and patterns"
            => Own(shape::<seed::Findings>), seed::lessons, asked ["project"];
        post "/api/confidence/calculate" "How likely a suggestion is to work"
            => Own(shape::<seed::Calculated>), seed::calculate, told seed::CalculateBody;
    }
}

fn of_sandboxes() -> Vec<Row> {
    use Answer::{Command, Nothing, Object, Other, Own};
    rows! {
        get "/v1/projects" "The projects that agar knows"
            => Object, sandboxes::known_projects;
        get "/v1/usage" "What runs now uses, and used while somebody looked"
            => Own(shape::<usage::Usage>), usage::usage, asked ["project" "after"];
        post "/v1/sandboxes" "Make a sandbox"
            => Command("create", &[]), sandboxes::make, told sandboxes::SandboxBody,
            asked ["project"] => created;
        get "/v1/sandboxes" "Sandboxes, page by page"
            => Command("ls", &["next", "counts"]), sandboxes::all,
            asked ["project" "limit" "after" "all" "gone" "trash" "state" "words" "look" "order"];
        get "/v1/sandboxes/{id}" "Everything about a sandbox"
            => Command("inspect", &[]), sandboxes::one;
        delete "/v1/sandboxes/{id}" "Remove a sandbox"
            => Command("rm", &[]), sandboxes::gone, asked ["force" "feedback"];
        post "/v1/sandboxes/{id}/exec"
            "Run a command; streamed where the client accepts text/event-stream"
            => Command("exec", &["stdout", "stderr"]), exec::run, told exec::ExecBody;
        get "/v1/sandboxes/{id}/runs/{run}/output" "What a run printed"
            => Command("logs", &[]), sandboxes::output, asked ["from" "tail"];
        get "/v1/sandboxes/{id}/terminal" "The terminal of a sandbox, as a WebSocket"
            => Nothing, terminal::open, asked ["rows" "columns" "plain"] => upgraded;
        get "/v1/sandboxes/{id}/processes" "What runs in a sandbox"
            => Command("ps", &[]), sandboxes::running;
        get "/v1/sandboxes/{id}/files" "A file, the names in a directory, or where a link points"
            => Other(&["application/octet-stream", "application/json"]), files::get, asked ["path!" "describe" "side"];
        put "/v1/sandboxes/{id}/files" "Write a file"
            => Nothing, files::put, asked ["path!"] => empty;
        delete "/v1/sandboxes/{id}/files" "Remove a file"
            => Nothing, files::delete, asked ["path!"] => empty;
        post "/v1/sandboxes/{id}/pause" "Stop everything in a sandbox for a while"
            => Command("pause", &[]), sandboxes::paused;
        post "/v1/sandboxes/{id}/resume" "Let everything in a sandbox go on"
            => Command("resume", &[]), sandboxes::resumed;
        post "/v1/sandboxes/{id}/stop" "End what runs in a sandbox and keep what it changed"
            => Command("stop", &[]), sandboxes::stopped;
        get "/v1/sandboxes/{id}/events"
            "What happened to a sandbox; streamed where the client accepts text/event-stream"
            => Object, events::of_sandbox, asked ["after" "limit"];
    }
}

fn of_changes() -> Vec<Row> {
    use Answer::Command;
    rows! {
        post "/v1/sandboxes/{id}/snapshots" "Take a snapshot"
            => Command("snapshot", &[]), travel::take, told travel::SnapshotBody => created;
        get "/v1/sandboxes/{id}/snapshots" "The snapshots of a sandbox"
            => Command("snapshots", &[]), travel::all;
        delete "/v1/sandboxes/{id}/snapshots/{name}" "Forget a snapshot"
            => Command("rm", &[]), travel::forget;
        post "/v1/sandboxes/{id}/restore" "Return a sandbox to a snapshot"
            => Command("restore", &[]), travel::back, told travel::RestoreBody;
        post "/v1/sandboxes/{id}/fork" "Make sandboxes that begin as this one"
            => Command("fork", &[]), travel::forked, told travel::ForkBody => created;
        get "/v1/sandboxes/{id}/tree" "What descends from a sandbox, or its whole family"
            => Command("tree", &[]), travel::lineage, asked ["family"];
        get "/v1/sandboxes/{id}/diff" "What a sandbox changed"
            => Command("diff", &[]), changes::show, asked ["patch" "context" "path" "outside"];
        post "/v1/sandboxes/{id}/check" "Run the declared checks on what a sandbox changed"
            => Command("check", &[]), changes::checked, told changes::CheckBody;
        post "/v1/sandboxes/{id}/promote"
            "Check what a sandbox changed and merge it into the project"
            => Command("apply", &[]), changes::promote, told changes::PromoteBody;
        post "/v1/promotions/undo" "Take a promotion back"
            => Command("undo", &[]), changes::take_back, told changes::UndoBody,
            asked ["project"];
    }
}

fn of_learning() -> Vec<Row> {
    use Answer::{Command, Object};
    rows! {
        get "/v1/experiments" "Experiments, page by page"
            => Command("experiments-ls", &["next"]), memory::experiments,
            asked ["project" "limit" "before" "words" "status"];
        get "/v1/experiments/{name}" "One experiment"
            => Command("experiments-show", &[]), memory::experiment, asked ["project"];
        get "/v1/memory/patterns" "Patterns"
            => Command("memory-patterns", &[]), memory::patterns, asked ["project" "all"];
        get "/v1/memory/lessons" "Lessons"
            => Command("memory-lessons", &[]), memory::lessons, asked ["project" "all"];
        get "/v1/memory/findings/{name}" "One pattern, lesson or note, and where it comes from"
            => Command("memory-show", &[]), memory::finding, asked ["project"];
        get "/v1/memory/stats" "How much is remembered"
            => Command("memory-stats", &[]), memory::stats, asked ["project"];
        get "/v1/memory/history" "What was tried on each of the last days"
            => Object, memory::history, asked ["project" "days" "east"];
        get "/v1/memory/calibration" "How good predictions were"
            => Command("memory-calibration", &[]), memory::calibration, asked ["project"];
        get "/v1/memory/search" "What fits some words"
            => Command("memory-search", &[]), memory::search, asked ["project" "words!" "limit"];
        post "/v1/memory/notes" "Write a note down"
            => Command("memory-note", &[]), memory::note, told memory::NoteBody,
            asked ["project"] => created;
        post "/v1/memory/forget" "Forget something, for good"
            => Command("memory-forget", &[]), memory::forget, told memory::ForgetBody,
            asked ["project"];
        post "/v1/confidence" "How likely something is to work"
            => Command("confidence", &[]), memory::confidence, told memory::ConfidenceBody,
            asked ["project"];
        get "/v1/populations" "Populations"
            => Command("evolve-status", &[]), populations::all, asked ["project"];
        get "/v1/populations/{name}" "One population"
            => Command("evolve-status", &[]), populations::one, asked ["project"];
        get "/v1/populations/{name}/best" "The best ever"
            => Command("evolve-best", &[]), populations::champions, asked ["project" "count"];
        get "/v1/populations/{name}/lineage" "Who came from whom"
            => Command("evolve-lineage", &[]), populations::ancestors,
            asked ["project" "individual" "depth"];
        get "/v1/populations/{name}/fitness" "Fitness over generations"
            => Command("evolve-plot", &[]), populations::fitness, asked ["project"];
    }
}

fn of_suggestions() -> Vec<Row> {
    use Answer::{Command, Object, Own};
    rows! {
        post "/v1/suggestions" "Offer a change for a person to try"
            => Object, suggestions::offer, told suggestions::SuggestBody,
            asked ["project"] => created;
        get "/v1/suggestions" "The inbox, page by page"
            => Object, suggestions::all, asked ["project" "state" "before" "limit"];
        get "/v1/suggestions/{id}" "One suggestion"
            => Object, suggestions::one, asked ["project"];
        post "/v1/suggestions/{id}/try" "Try a suggestion in a sandbox"
            => Own(shape::<seed::Created>), suggestions::tried, told suggestions::TryBody,
            asked ["project"] => created;
        post "/v1/suggestions/{id}/apply" "Apply what a suggestion changed in its sandbox"
            => Command("apply", &[]), suggestions::applied, asked ["project"];
        post "/v1/suggestions/{id}/reject" "Reject a suggestion"
            => Object, suggestions::rejected, told suggestions::RejectBody, asked ["project"];
    }
}

fn of_the_server() -> Vec<Row> {
    use Answer::{Nothing, Object, Other, Own};
    rows! {
        get "/v1/origins" "Origins whose pages may offer suggestions; for the person's browser"
            => Own(shape::<guests::Origins>), guests::all;
        post "/v1/origins" "Let the pages of an origin offer suggestions; for the person's browser"
            => Own(shape::<guests::AllowedOrigin>), guests::allow, told guests::OriginBody
            => created;
        delete "/v1/origins" "Let them no longer; for the person's browser"
            => Nothing, guests::forget, asked ["origin!"] => empty;
        get "/v1/events"
            "What happened in the project; streamed where the client accepts text/event-stream"
            => Object, events::of_project, asked ["project" "after" "limit"];
        get "/healthz" "Whether the server answers"
            => Object, page::health;
        get "/metrics" "Counters for Prometheus"
            => Other(&["text/plain"]), page::metrics;
        get "/openapi.json" "This description"
            => Object, page::description;
        get "/" "The page"
            => Other(&["text/html"]), page::index;
        get "/open" "Exchange a link that works once for a cookie"
            => Nothing, page::open, asked ["key!"] => elsewhere;
        get "/assets/{name}" "A part of the page"
            => Other(&["text/javascript", "text/css", "text/plain"]), page::asset;
    }
}
